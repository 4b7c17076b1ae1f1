#include <charconv>

#include "codec/record_decoder.h"
#include "conformance/sql/script.h"
#include "conformance/sql/script_ends.h"

namespace strand::conformance::sql {
namespace {

class OneShard final : public flow::ShardFinder {
 public:
  Result<std::vector<std::string>> find() override { return std::vector<std::string>{"0"}; }
  std::optional<Duration> interval() const override { return std::nullopt; }
};

/// Hands out one line a poll.
class FeedReader final : public flow::SourceReader {
 public:
  FeedReader(Stage::Feed& feed, const connect::TableContext& context,
             std::unique_ptr<codec::RecordDecoder> decoder, bool skip_bad)
      : feed_(feed),
        table_(context.table),
        decoder_(std::move(decoder)),
        output_(context.schema),
        skip_bad_(skip_bad) {}

  Status assign(const ShardState& shard) override {
    shards_.push_back(shard);
    return Status();
  }

  Result<flow::Polled> poll(WallTime now) override {
    flow::Polled out;
    out.until = now + Duration{1};
    out.kind = ended(0) ? flow::Polled::Kind::kEnded : flow::Polled::Kind::kNothing;
    if (shards_.empty() || next_ == feed_.lines.size()) return out;
    const Stage::Line& line = feed_.lines[next_++];
    STRAND_TRY(const size_t used, decoder_->decode(line.payload + "\n", 0, output_));
    STRAND_CHECK(used == line.payload.size() + 1);
    const std::vector<codec::BadRecord> bad = output_.take_bad();
    if (!bad.empty() && !skip_bad_) {
      return Status(ErrorCode::kBadRow, bad[0].reason).at(table_ + " line " + std::to_string(next_));
    }
    out.kind = flow::Polled::Kind::kRows;
    out.records = 1;
    out.batch = output_.take_rows();
    if (line.kind != columnar::RowKind::kInsert && out.batch.rows() == 1) {
      out.batch = out.batch.with_kinds(
          std::make_shared<const std::vector<uint8_t>>(1, static_cast<uint8_t>(line.kind)));
    }
    shards_[0].position = std::to_string(next_);
    ++shards_[0].records;
    return out;
  }

  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override { return shards_[shard]; }
  bool ended(size_t) const override { return feed_.ended && next_ == feed_.lines.size(); }

 private:
  Stage::Feed& feed_;
  std::string table_;
  std::unique_ptr<codec::RecordDecoder> decoder_;
  codec::DecodeOutput output_;
  bool skip_bad_;
  size_t next_ = 0;
  std::vector<ShardState> shards_;
};

}  // namespace

connect::MakeFinder script_finder() {
  return [](const connect::TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
    return std::unique_ptr<flow::ShardFinder>(std::make_unique<OneShard>());
  };
}

connect::MakeReader script_reader(const std::shared_ptr<Stage>& stage) {
  return [stage](const connect::TableContext& context) -> Result<std::unique_ptr<flow::SourceReader>> {
    const auto given = context.options.find("format");
    const std::string format = given == context.options.end() ? "json" : given->second;
    STRAND_TRY(auto decoder,
               codec::make_decoder(format, context.schema, context.table_schema, context.options));
    const auto skip = context.options.find(format + ".ignore-parse-errors");
    const bool skip_bad = skip != context.options.end() && skip->second == "true";
    return std::unique_ptr<flow::SourceReader>(
        std::make_unique<FeedReader>(stage->feed(context.table), context, std::move(decoder), skip_bad));
  };
}

}  // namespace strand::conformance::sql
