// What travels between tasks. Whatever must keep its order is in this one FIFO; nothing else is.
#pragma once

#include <variant>

#include "base/ids.h"
#include "columnar/batch.h"

namespace strand::flow {

using columnar::Batch;

/// Rows. `held` rows are not news: after a restore an operator tells them again, so that a sink learns which
/// values restored state still holds (replay.md F2). They end with HeldEnd, before anything else flows.
struct Rows {
  Batch batch;
  bool held = false;
};
struct HeldEnd {};
/// Event time has reached `time`: no row at or below it is expected.
struct Watermark {
  EventTime time;
};
/// The sender has nothing to say for a while and must not be waited for, or speaks again.
struct StatusChange {
  bool idle = false;
};
enum class BarrierKind : uint8_t { kCheckpoint, kSavepoint, kStop, kDrain };
/// Everything before it belongs to `epoch`'s snapshot, nothing after it. From the instant `overtakes` on it
/// need not wait for its turn: what is in front of it then is saved as rows in flight.
struct Barrier {
  Epoch epoch;
  BarrierKind kind = BarrierKind::kCheckpoint;
  WallTime overtakes = WallTime::never();
};
/// The sender has ended. Its watermark has become EventTime::max() before.
struct EndOfInput {};

using Element = std::variant<Rows, HeldEnd, Watermark, StatusChange, Barrier, EndOfInput>;

}  // namespace strand::flow
