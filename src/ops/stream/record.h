// What the operators of the C++ API work on.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "state/keyed/codec.h"
#include "state/keyed/held_bytes.h"
#include "state/keyed/timers.h"

namespace strand::ops {

/// One element of a keyed stream: its key, a number by which it can be compared, and whatever else it
/// carries, encoded.
struct Record {
  std::string key;
  int64_t value = 0;
  std::string payload;
  std::optional<EventTime> time;
  /// The element itself, while the operator works on it: no part of the record.
  const void* element = nullptr;
  double measure() const { return static_cast<double>(value); }
};

inline int64_t held_bytes(const Record& record) {
  return state::held_bytes(record.key) + state::held_bytes(record.payload);
}

/// Takes what an operator of the C++ API emits, at once.
class StreamOutput {
 public:
  virtual ~StreamOutput() = default;
  virtual void record(Record record) = 0;
  virtual void late(const Record& record) = 0;
  /// An element that belongs to no window, or to none that is open, and is not late by Flink's rule.
  virtual void skipped(const Record&) {}
  /// What comes between these two calls comes from a timer. For traces.
  virtual void timer_begins(state::TimeDomain, int64_t) {}
  virtual void timer_ends() {}
};

}  // namespace strand::ops

template <>
struct strand::state::Codec<strand::ops::Record> {
  static std::string name() { return "record"; }
  static void encode(const ops::Record& record, ByteWriter& out) {
    out.put_string(record.key);
    out.put(record.value);
    out.put_string(record.payload);
    out.put(static_cast<uint8_t>(record.time.has_value()));
    out.put(record.time.value_or(EventTime{0}).millis);
  }
  static Result<ops::Record> decode(ByteReader& in) {
    ops::Record record;
    STRAND_TRY(const std::string_view key, in.get_string());
    record.key = key;
    STRAND_TRY(record.value, in.get<int64_t>());
    STRAND_TRY(const std::string_view payload, in.get_string());
    record.payload = payload;
    STRAND_TRY(const uint8_t timed, in.get<uint8_t>());
    STRAND_TRY(const int64_t millis, in.get<int64_t>());
    if (timed != 0) record.time = EventTime{millis};
    return record;
  }
};
