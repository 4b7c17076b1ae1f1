#include <algorithm>
#include <charconv>
#include <utility>

#include "codec/format_metadata.h"
#include "conformance/sql/script.h"
#include "conformance/sql/script_ends.h"

namespace strand::conformance::sql {
namespace {

constexpr int64_t kFirstTimestamp = 1'704'067'200'000;  // 2024-01-01

constexpr std::string_view kOfFormat = "value.";  // before the keys of the format's metadata

/// The columns that come from the record, and which of them are metadata of its format.
struct RecordColumns {
  columnar::SchemaPtr schema;
  std::map<size_t, std::string> metadata;
};
RecordColumns record_columns(const connect::TableContext& context) {
  RecordColumns columns;
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < context.schema->size(); ++i) {
    const auto key = context.metadata.find(i);
    if (key != context.metadata.end() && !key->second.starts_with(kOfFormat)) continue;
    if (key != context.metadata.end()) columns.metadata[fields.size()] = key->second.substr(kOfFormat.size());
    fields.push_back((*context.schema)[i]);
  }
  columns.schema = std::make_shared<columnar::Schema>(std::move(fields));
  return columns;
}

class OneShard final : public flow::ShardFinder {
 public:
  Result<std::vector<std::string>> find() override { return std::vector<std::string>{"0"}; }
  std::optional<Duration> interval() const override { return std::nullopt; }
};

/// Hands out one line a poll, or `batch_rows` of them where the table has no metadata.
class FeedReader final : public flow::SourceReader {
 public:
  FeedReader(Stage::Feed& feed, size_t batch_rows, const connect::TableContext& context,
             std::unique_ptr<codec::RecordDecoder> decoder, bool skip_bad)
      : feed_(feed),
        batch_rows_(context.metadata.empty() ? batch_rows : 1),
        table_(context.table),
        schema_(context.schema),
        metadata_(context.metadata),
        decoder_(std::move(decoder)),
        output_(record_columns(context).schema),
        skip_bad_(skip_bad) {}

  Status assign(const ShardState& shard) override {
    shards_.push_back(shard);
    if (!shard.position.empty()) next_ = std::stoull(shard.position);
    return Status();
  }

  Result<flow::Polled> poll(WallTime now) override {
    flow::Polled out;
    out.until = now + Duration{1};
    out.kind = ended(0) ? flow::Polled::Kind::kEnded : flow::Polled::Kind::kNothing;
    if (shards_.empty() || next_ == feed_.lines.size()) return out;
    auto kinds = std::make_shared<std::vector<uint8_t>>();
    for (; next_ < feed_.lines.size() && static_cast<size_t>(out.records) < batch_rows_; ++out.records) {
      const Stage::Line& line = feed_.lines[next_++];
      STRAND_TRY(const size_t used, decoder_->decode(line.payload + "\n", 0, output_));
      STRAND_CHECK(used == line.payload.size() + 1);
      const std::vector<codec::BadRecord> bad = output_.take_bad();
      if (!bad.empty() && !skip_bad_)
        return Status(ErrorCode::kBadRow, bad[0].reason).at(table_ + " line " + std::to_string(next_));
      if (bad.empty()) kinds->push_back(static_cast<uint8_t>(line.kind));
    }
    out.kind = flow::Polled::Kind::kRows;
    out.batch = with_metadata(output_.take_rows());
    const bool all_new = std::ranges::all_of(*kinds, [](uint8_t kind) { return kind == 0; });
    if (!all_new && std::cmp_equal(out.batch.rows(), kinds->size())) out.batch = out.batch.with_kinds(kinds);
    shards_[0].position = std::to_string(next_);
    shards_[0].records += out.records;
    return out;
  }

  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override { return shards_[shard]; }
  bool ended(size_t) const override { return feed_.ended && next_ == feed_.lines.size(); }

 private:
  /// The rows of one line, with its metadata where the table wants it.
  columnar::Batch with_metadata(const columnar::Batch& rows) const {
    if (metadata_.empty()) return rows;
    std::vector<columnar::ColumnPtr> columns;
    size_t next = 0;
    for (size_t i = 0; i < schema_->size(); ++i) {
      const auto key = metadata_.find(i);
      columns.push_back(key == metadata_.end() || key->second.starts_with(kOfFormat)
                            ? rows.column_ptr(next++)
                            : constant(key->second, i, rows.rows()));
    }
    return columnar::Batch(schema_, std::move(columns), rows.rows()).with_kinds(rows.kinds());
  }

  columnar::ColumnPtr constant(const std::string& key, size_t column, int64_t rows) const {
    const auto offset = static_cast<int64_t>(next_) - 1;
    columnar::ColumnBuilder builder((*schema_)[column].type);
    for (int64_t i = 0; i < rows; ++i) {
      if (key == "topic") builder.append_string(table_);
      if (key == "partition") builder.append<int32_t>(0);
      if (key == "offset") builder.append<int64_t>(offset);
      if (key == "timestamp") builder.append<int64_t>(kFirstTimestamp + offset * 1'000);
    }
    return builder.finish();
  }

  Stage::Feed& feed_;
  size_t batch_rows_;
  std::string table_;
  columnar::SchemaPtr schema_;
  std::map<size_t, std::string> metadata_;
  std::unique_ptr<codec::RecordDecoder> decoder_;
  codec::DecodeOutput output_;
  bool skip_bad_;
  size_t next_ = 0;
  std::vector<ShardState> shards_;
};

/// Reads the lines played so far anew for each question: tables of cases are small. With a primary key the
/// last row of a key counts, and -D removes it.
class FeedLookup final : public flow::Lookup {
 public:
  FeedLookup(Stage::Feed& feed, const connect::TableContext& context,
             std::unique_ptr<codec::RecordDecoder> decoder)
      : feed_(feed), context_(context), decoder_(std::move(decoder)), output_(context.table_schema) {}

  Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) override {
    for (; next_ < feed_.lines.size(); ++next_) STRAND_OK(play(feed_.lines[next_]));
    for (const columnar::Batch& each : rows_) {
      if (key_of(each, context_.lookup_keys) != text_of(keys, row)) continue;
      for (size_t i = 0; i < context_.schema->size(); ++i)
        found.column(i).append_from(each.column(*context_.table_schema->find((*context_.schema)[i].name)), 0);
      found.end_row();
    }
    return Status();
  }

 private:
  Status play(const Stage::Line& line) {
    STRAND_TRY(const size_t used, decoder_->decode(line.payload + "\n", 0, output_));
    STRAND_CHECK(used == line.payload.size() + 1);
    const columnar::Batch row = output_.take_rows();
    const std::string key = key_of(row, context_.primary_key);
    if (!context_.primary_key.empty())
      std::erase_if(rows_, [&](const auto& old) { return key_of(old, context_.primary_key) == key; });
    if (line.kind != columnar::RowKind::kDelete) rows_.push_back(row);
    return Status();
  }
  static std::string text_of(const columnar::Batch& keys, int64_t row) {
    std::string text;
    for (const auto& column : keys.columns()) text += columnar::value_to_string(*column, row) + "|";
    return text;
  }
  std::string key_of(const columnar::Batch& row, const std::vector<std::string>& names) const {
    std::string text;
    for (const std::string& name : names)
      text += columnar::value_to_string(row.column(*context_.table_schema->find(name)), 0) + "|";
    return text;
  }

  Stage::Feed& feed_;
  connect::TableContext context_;
  std::unique_ptr<codec::RecordDecoder> decoder_;
  codec::DecodeOutput output_;
  size_t next_ = 0;
  std::vector<columnar::Batch> rows_;  // of one row each
};

}  // namespace

connect::MakeLookup script_lookup(const std::shared_ptr<Stage>& stage) {
  return [stage](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Lookup>> {
    STRAND_TRY(auto decoder,
               codec::make_decoder("json", context.table_schema, context.table_schema, context.options));
    return std::unique_ptr<flow::Lookup>(std::make_unique<FeedLookup>(
        stage->feed(context.table.substr(context.table.rfind('.') + 1)), context, std::move(decoder)));
  };
}

std::vector<columnar::Field> script_metadata(const std::map<std::string, std::string>& options) {
  using columnar::TypeKind;
  std::vector<columnar::Field> fields = {
      {"topic", columnar::make_type(TypeKind::kString, false)},
      {"partition", columnar::make_type(TypeKind::kInt, false)},
      {"offset", columnar::make_type(TypeKind::kBigInt, false)},
      {"timestamp", columnar::timestamp_type(3, /*ltz=*/true, /*nullable=*/false)}};
  const auto format = options.find("format");
  if (format == options.end()) return fields;
  for (columnar::Field& field : codec::format_metadata(format->second))
    fields.push_back({std::string(kOfFormat) + field.name, field.type});
  return fields;
}

connect::MakeFinder script_finder() {
  return [](const connect::TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
    return std::unique_ptr<flow::ShardFinder>(std::make_unique<OneShard>());
  };
}

connect::MakeReader script_reader(const std::shared_ptr<Stage>& stage) {
  return [stage](const connect::TableContext& context) -> Result<std::unique_ptr<flow::SourceReader>> {
    const auto changelog = context.options.find("changelog");
    if (changelog != context.options.end() && changelog->second == "upsert" && context.primary_key.empty()) {
      return Status(ErrorCode::kBadOption, "a table of updates by key needs a primary key")
          .hint("declare PRIMARY KEY (…) NOT ENFORCED");
    }
    const auto given = context.options.find("format");
    const std::string format = given == context.options.end() ? "json" : given->second;
    const RecordColumns columns = record_columns(context);
    STRAND_TRY(auto decoder, codec::make_decoder(format, columns.schema, context.table_schema,
                                                 context.options, columns.metadata));
    const auto skip = context.options.find(format + ".ignore-parse-errors");
    const bool skip_bad = skip != context.options.end() && skip->second == "true";
    return std::unique_ptr<flow::SourceReader>(
        std::make_unique<FeedReader>(stage->feed(context.table.substr(context.table.rfind('.') + 1)),
                                     stage->batch_rows, context, std::move(decoder), skip_bad));
  };
}

}  // namespace strand::conformance::sql
