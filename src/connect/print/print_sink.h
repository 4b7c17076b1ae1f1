// The `print` connector: rows as lines of text.
#pragma once

#include <memory>
#include <string>

#include "connect/line_writer.h"
#include "connect/registry.h"
#include "flow/sink.h"

namespace strand::connect::print {

/// Prints each row as Flink does: `id:2> +I[ad_7, 6]`, the part before `>` only where an identifier is set,
/// the number of the subtask only where there are several. Rows show at once, so that a restart prints some
/// again: for people, not for programs that count. Lines are written on the executor; a barrier waits until
/// they are.
class PrintSink final : public flow::Sink {
 public:
  PrintSink(std::shared_ptr<LineWriter> lines, std::string identifier, env::Executor& executor);
  Status start(const flow::SinkStart& start) override;
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag tag) override;
  Result<bool> busy() override;
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override;
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override { return drained(); }
  flow::SinkCounts counts() const override;

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::string identifier_;
  env::Executor& executor_;
  uint64_t lane_ = 0;
  std::string prefix_;
  int64_t rows_in_ = 0;
};

/// Adds `print`. `out` and `error` are for 'standard-error' = 'false' and 'true'.
void add_print_connector(Registry& registry, std::shared_ptr<LineWriter> out,
                         std::shared_ptr<LineWriter> error);

}  // namespace strand::connect::print
