#include "sim/world/script_source.h"

#include <charconv>

namespace strand::sim {

namespace {

class ScriptFinder final : public flow::ShardFinder {
 public:
  explicit ScriptFinder(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  Result<std::vector<std::string>> find() override {
    std::vector<std::string> names;
    for (const auto& [shard, records] : script_->shards()) names.push_back(shard);
    return names;
  }
  std::optional<Duration> interval() const override { return std::nullopt; }

 private:
  std::shared_ptr<Script> script_;
};

class ScriptReader final : public flow::SourceReader {
 public:
  ScriptReader(std::shared_ptr<Script> script, const connect::TableContext& context,
               std::unique_ptr<codec::RecordDecoder> decoder)
      : script_(std::move(script)),
        want_bad_(context.want_bad),
        decoder_(std::move(decoder)),
        output_(context.schema) {}

  Status assign(const ShardState& shard) override {
    ShardState state = shard;
    if (state.position.empty()) state.position = "0";
    shards_.push_back(std::move(state));
    paused_.push_back(false);
    return Status();
  }
  void pause(size_t shard, bool paused) override { paused_[shard] = paused; }

  Result<flow::Polled> poll(WallTime now) override {
    flow::Polled out;
    // The record that became readable first, over all shards: the order of the wall clock.
    const size_t none = shards_.size();
    size_t first = none;
    bool any_paused = false;
    for (size_t i = 0; i < shards_.size(); ++i) {
      const auto* record = next(i);
      if (record == nullptr) continue;
      if (paused_[i]) {
        any_paused = true;
        continue;
      }
      const WallTime readable = script_->readable(*record);
      if (readable > now) {
        out.until = std::min(out.until, readable);
      } else if (first == none || readable < script_->readable(*next(first))) {
        first = i;
      }
    }
    if (first != none) return read(first, now);
    const bool all_ended = script_->finished() && out.until == WallTime::never() && !any_paused;
    out.kind = all_ended ? flow::Polled::Kind::kEnded : flow::Polled::Kind::kNothing;
    return out;
  }

  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override { return shards_[shard]; }
  bool ended(size_t shard) const override { return script_->finished() && next(shard) == nullptr; }

 private:
  const std::vector<Script::Record>& records(size_t shard) const {
    return script_->shards().at(shards_[shard].shard);
  }
  size_t position(size_t shard) const {
    size_t position = 0;
    const std::string& text = shards_[shard].position;
    std::from_chars(text.data(), text.data() + text.size(), position);
    return position;
  }
  const Script::Record* next(size_t shard) const {
    return position(shard) < records(shard).size() ? &records(shard)[position(shard)] : nullptr;
  }

  Result<flow::Polled> read(size_t shard, WallTime now) {
    size_t at = position(shard);
    std::string lines;
    size_t rows = 0;
    while (rows < script_->poll_rows() && at < records(shard).size() &&
           script_->readable(records(shard)[at]) <= now) {
      lines += records(shard)[at++].line + "\n";
      ++rows;
    }
    STRAND_TRY(const size_t used, decoder_->decode(lines, 0, output_));
    STRAND_CHECK(used == lines.size());
    flow::Polled out;
    out.kind = flow::Polled::Kind::kRows;
    out.shard = shard;
    out.records = static_cast<int64_t>(rows);
    if (want_bad_) out.bad = bad_rows(output_.take_bad(), shard, now);
    out.batch = output_.take_rows();
    shards_[shard].position = std::to_string(at);
    shards_[shard].records += static_cast<int64_t>(rows);
    return out;
  }

  std::optional<columnar::Batch> bad_rows(const std::vector<codec::BadRecord>& bad, size_t shard,
                                          WallTime now) {
    if (bad.empty()) return std::nullopt;
    columnar::BatchBuilder rows(flow::bad_schema());
    for (const codec::BadRecord& record : bad) {
      rows.column(0).append_string(shards_[shard].shard);
      rows.column(1).append<int64_t>(shards_[shard].records);
      rows.column(2).append_string(record.payload);
      rows.column(3).append_string(record.reason);
      rows.column(4).append<int64_t>(now.millis);
      rows.end_row();
    }
    return rows.finish();
  }

  std::shared_ptr<Script> script_;
  bool want_bad_;
  std::unique_ptr<codec::RecordDecoder> decoder_;
  codec::DecodeOutput output_;
  std::vector<ShardState> shards_;
  std::vector<bool> paused_;
};

}  // namespace

void Script::add(const std::string& shard, WallTime readable, std::string line) {
  std::vector<Record>& records = shards_[shard];
  STRAND_CHECK(records.empty() || records.back().readable <= readable);
  records.push_back({readable, std::move(line)});
}

connect::Connector script_connector(const std::shared_ptr<Script>& script) {
  connect::Connector connector;
  connector.finder = [script](const connect::TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
    return std::unique_ptr<flow::ShardFinder>(std::make_unique<ScriptFinder>(script));
  };
  connector.reader =
      [script](const connect::TableContext& context) -> Result<std::unique_ptr<flow::SourceReader>> {
    STRAND_TRY(auto decoder, codec::make_decoder("json", context.schema, context.table_schema, {}));
    return std::unique_ptr<flow::SourceReader>(
        std::make_unique<ScriptReader>(script, context, std::move(decoder)));
  };
  connector.source_options = {"scan.watermark.idle-timeout"};
  return connector;
}

}  // namespace strand::sim
