#include "connect/print/print_sink.h"

#include <mutex>

#include "base/hash.h"
#include "columnar/batch.h"

namespace strand::connect::print {

/// What the task and the lane both see.
struct PrintSink::Shared {
  explicit Shared(std::shared_ptr<LineWriter> writer) : lines(std::move(writer)) {}
  std::shared_ptr<LineWriter> lines;
  std::mutex mutex;
  int in_flight = 0;
  int64_t written = 0;
  Status error;
};

namespace {
constexpr int kInFlightMax = 4;
}

PrintSink::PrintSink(std::shared_ptr<LineWriter> lines, std::string identifier, env::Executor& executor)
    : shared_(std::make_shared<Shared>(std::move(lines))),
      identifier_(std::move(identifier)),
      executor_(executor) {}

Status PrintSink::start(const flow::SinkStart& start) {
  prefix_ = identifier_;
  if (start.parallelism > 1) {
    if (!prefix_.empty()) prefix_ += ':';
    prefix_ += std::to_string(start.subtask + 1);
  }
  if (!prefix_.empty()) prefix_ += "> ";
  lane_ = hash64("print " + identifier_, static_cast<uint64_t>(start.subtask));
  return Status();
}

Status PrintSink::write(const flow::Batch& rows, flow::WriteTag) {
  std::string text;
  rows.for_each_row([&](int64_t row) {
    text += prefix_;
    text += columnar::row_to_string(rows, row);
    text += '\n';
  });
  if (text.empty()) return Status();
  rows_in_ += rows.rows();
  {
    const std::lock_guard guard(shared_->mutex);
    ++shared_->in_flight;
  }
  executor_.submit(lane_, [shared = shared_, text = std::move(text), rows = rows.rows(), wake = waker_] {
    Status status = shared->lines->write(text);
    {
      const std::lock_guard guard(shared->mutex);
      --shared->in_flight;
      if (status.ok()) shared->written += rows;
      if (!status.ok() && shared->error.ok()) shared->error = std::move(status);
    }
    wake();
  });
  return Status();
}

Result<bool> PrintSink::busy() {
  const std::lock_guard guard(shared_->mutex);
  STRAND_OK(shared_->error);
  return shared_->in_flight >= kInFlightMax;
}

Result<bool> PrintSink::drained() {
  const std::lock_guard guard(shared_->mutex);
  STRAND_OK(shared_->error);
  return shared_->in_flight == 0;
}

flow::SinkCounts PrintSink::counts() const {
  const std::lock_guard guard(shared_->mutex);
  flow::SinkCounts counts;
  counts.rows_in = rows_in_;
  counts.written = shared_->written;
  counts.pending = rows_in_ - shared_->written;
  return counts;
}

void add_print_connector(Registry& registry, std::shared_ptr<LineWriter> out,
                         std::shared_ptr<LineWriter> error) {
  Connector connector;
  connector.sink = [out = std::move(out), error = std::move(error)](
                       const TableContext& table) -> Result<std::unique_ptr<flow::Sink>> {
    const auto option = [&](const char* key, const char* otherwise) {
      const auto found = table.options.find(key);
      return found == table.options.end() ? std::string(otherwise) : found->second;
    };
    const std::string to_error = option("standard-error", "false");
    if (to_error != "true" && to_error != "false") {
      return Status(ErrorCode::kBadOption, "'standard-error' must be true or false, not '" + to_error + "'")
          .hint("leave it out for stdout");
    }
    return std::unique_ptr<flow::Sink>(
        new PrintSink(to_error == "true" ? error : out, option("print-identifier", ""), *table.env.executor));
  };
  connector.sink_options = {"print-identifier", "standard-error"};
  registry.add("print", std::move(connector));
}

}  // namespace strand::connect::print
