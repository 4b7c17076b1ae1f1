#include "connect/values/values_source.h"

#include <charconv>

#include "columnar/batch.h"

namespace strand::connect::values {

namespace {

constexpr const char* kRows = "rows";

int64_t number_of(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class ValuesFinder final : public flow::ShardFinder {
 public:
  Result<std::vector<std::string>> find() override { return std::vector<std::string>{"values"}; }
  std::optional<Duration> interval() const override { return std::nullopt; }
};

/// The position is the number of rows that were read.
class ValuesReader final : public flow::SourceReader {
 public:
  ValuesReader(columnar::SchemaPtr schema, int64_t rows) : builder_(std::move(schema)), rows_(rows) {}

  Status assign(const ShardState& shard) override {
    shard_ = shard;
    assigned_ = true;
    next_ = number_of(shard.position);
    return Status();
  }

  Result<flow::Polled> poll(WallTime) override {
    flow::Polled polled;
    polled.kind = flow::Polled::Kind::kEnded;
    if (ended(0) || !assigned_) return polled;
    for (; next_ < rows_ && builder_.rows() < columnar::Batch::kMaxRows; ++next_) {
      if (builder_.schema()->size() > 0) builder_.column(0).append<int32_t>(static_cast<int32_t>(next_));
      builder_.end_row();
    }
    polled.kind = flow::Polled::Kind::kRows;
    polled.records = builder_.rows();
    polled.batch = builder_.finish();
    shard_.records += polled.records;
    shard_.position = std::to_string(next_);
    return polled;
  }

  size_t shards() const override { return assigned_ ? 1 : 0; }
  ShardState state(size_t) const override { return shard_; }
  bool ended(size_t) const override { return next_ >= rows_; }

 private:
  columnar::BatchBuilder builder_;
  int64_t rows_;
  int64_t next_ = 0;
  ShardState shard_;
  bool assigned_ = false;
};

}  // namespace

void add_values_connector(Registry& registry) {
  Connector connector;
  connector.finder = [](const TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
    return std::unique_ptr<flow::ShardFinder>(new ValuesFinder());
  };
  connector.reader = [](const TableContext& table) -> Result<std::unique_ptr<flow::SourceReader>> {
    const auto rows = table.options.find(kRows);
    return std::unique_ptr<flow::SourceReader>(
        new ValuesReader(table.schema, rows == table.options.end() ? 1 : number_of(rows->second)));
  };
  connector.source_options = {kRows};
  registry.add("strandline-values", std::move(connector));
}

}  // namespace strand::connect::values
