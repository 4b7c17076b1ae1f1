// The `blackhole` connector: rows are counted and forgotten.
#pragma once

#include "connect/registry.h"
#include "flow/sink.h"

namespace strand::connect::blackhole {

/// Takes rows and keeps their number. Nothing can be lost or doubled, because nothing is kept.
class BlackholeSink final : public flow::Sink {
 public:
  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag) override {
    counts_.rows_in += rows.rows();
    counts_.written += rows.rows();
    return Status();
  }
  Result<bool> busy() override { return false; }
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override { return true; }
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override { return true; }
  flow::SinkCounts counts() const override { return counts_; }

 private:
  flow::SinkCounts counts_;
};

/// Adds `blackhole`, which has no options.
void add_blackhole_connector(Registry& registry);

}  // namespace strand::connect::blackhole
