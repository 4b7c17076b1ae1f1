#include "codec/record_decoder.h"
#include "conformance/sql/script.h"
#include "conformance/sql/script_ends.h"
#include "conformance/sql/values.h"

namespace strand::conformance::sql {
namespace {

class NotingSink final : public flow::Sink {
 public:
  NotingSink(std::shared_ptr<Stage> stage, Received& received, std::vector<std::optional<size_t>> columns,
             std::unique_ptr<codec::RecordEncoder> encoder)
      : stage_(std::move(stage)),
        received_(received),
        columns_(std::move(columns)),
        encoder_(std::move(encoder)) {}

  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag) override {
    const flow::Batch dense = rows.compact();
    for (int64_t row = 0; row < dense.rows(); ++row) {
      OutputRow out{stage_->played(), std::string(columnar::to_string(dense.kind(row))), Json::array()};
      if (encoder_ != nullptr) {
        std::string line;
        STRAND_OK(encoder_->encode(dense.slice(row, 1), line));
        if (line.ends_with('\n')) line.pop_back();
        out.values = line;
      } else {
        for (const auto& column : columns_) {
          out.values.push_back(column ? value_to_json(dense.column(*column), row) : Json());
        }
      }
      received_.rows.push_back(std::move(out));
    }
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
  std::shared_ptr<Stage> stage_;
  Received& received_;
  std::vector<std::optional<size_t>> columns_;  // of the table, in the rows; a column that is not set is NULL
  std::unique_ptr<codec::RecordEncoder> encoder_;
  flow::SinkCounts counts_;
};

}  // namespace

connect::MakeSink script_sink(const std::shared_ptr<Stage>& stage) {
  return [stage](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    Received& received = stage->received()[context.table];
    received.schema = context.table_schema;
    std::vector<std::optional<size_t>> columns;
    for (const columnar::Field& field : context.table_schema->fields()) {
      columns.push_back(context.schema->find(field.name));
    }
    received.primary_key = context.primary_key;
    std::unique_ptr<codec::RecordEncoder> encoder;
    const auto format = context.options.find("format");
    if (format != context.options.end()) {
      STRAND_TRY(encoder, codec::make_encoder(format->second, context.schema, context.options));
    }
    return std::unique_ptr<flow::Sink>(
        std::make_unique<NotingSink>(stage, received, std::move(columns), std::move(encoder)));
  };
}

void add_script_connectors(connect::Registry& registry, const std::shared_ptr<Stage>& stage) {
  connect::Connector script;
  script.finder = script_finder();
  script.reader = script_reader(stage);
  script.sink = script_sink(stage);
  script.lookup = script_lookup(stage);
  script.looks_up = [](const std::map<std::string, std::string>& options) {
    const auto found = options.find("lookup");
    return found != options.end() && found->second == "true";
  };
  script.metadata = script_metadata;
  script.source_options = {"changelog", "watermark", "lookup", "format", "scan.watermark.*"};
  for (const char* format : {"json", "csv", "raw", "debezium-json", "canal-json", "maxwell-json"}) {
    for (const std::string& option : codec::format_options(format)) script.source_options.push_back(option);
  }
  script.sink_options = script.source_options;
  registry.add("script", script);
  connect::Connector print;
  print.sink = script.sink;
  print.sink_options = {"print-identifier", "standard-error", "sink.parallelism"};
  registry.add("print", print);
}

}  // namespace strand::conformance::sql
