#include "connect/datagen/datagen_source.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace strand::connect::datagen {
namespace {

/// How often somebody may look for further shards; there will never be one.
constexpr Duration kFindInterval{3'600'000};
constexpr int64_t kRateMax = 1'000'000'000;

Result<std::optional<int64_t>> number_option(const TableContext& table, const std::string& key, int64_t low,
                                             int64_t high) {
  const auto found = table.options.find(key);
  if (found == table.options.end()) return std::optional<int64_t>();
  int64_t value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= high) {
    return std::optional<int64_t>(value);
  }
  return Status(ErrorCode::kBadOption, "'" + key + "' must be a number from " + std::to_string(low) + " to " +
                                           std::to_string(high) + ", not '" + text + "'")
      .hint("leave it out for the default");
}

}  // namespace

Result<DatagenOptions> read_datagen_options(const TableContext& table) {
  DatagenOptions options;
  STRAND_TRY(const auto rate, number_option(table, "rows-per-second", 1, kRateMax));
  options.rows_per_second = rate.value_or(options.rows_per_second);
  STRAND_TRY(options.rows, number_option(table, "number-of-rows", 0, INT64_MAX / 1'000));
  STRAND_TRY(const auto sequence, rows_of_sequences(table.options));
  if (sequence) options.rows = std::min(options.rows.value_or(*sequence), *sequence);
  STRAND_TRY(const auto seed, number_option(table, "strand.seed", 0, INT64_MAX));
  options.seed = static_cast<uint64_t>(seed.value_or(0));
  STRAND_TRY(options.fields, read_fields(*table.schema, table.options));
  return options;
}

std::optional<Duration> DatagenFinder::interval() const {
  return bounded_ ? std::nullopt : std::optional<Duration>(kFindInterval);
}

DatagenReader::DatagenReader(columnar::SchemaPtr schema, DatagenOptions options)
    : options_(std::move(options)), builder_(std::move(schema)) {}

Status DatagenReader::assign(const ShardState& shard) {
  shard_ = shard;
  assigned_ = true;
  if (shard.position.empty()) return Status();
  int64_t start = 0;
  if (std::sscanf(shard.position.c_str(), "{\"row\": %ld, \"start\": %ld}", &row_, &start) != 2) {
    return Status(ErrorCode::kCheckpointUnreadable,
                  "expected a position like {\"row\": 1, \"start\": 2}, found " + shard.position)
        .at(shard.shard);
  }
  start_ms_ = start;
  return Status();
}

int64_t DatagenReader::time_of(int64_t row) const {
  const int64_t seconds = row / options_.rows_per_second;
  return *start_ms_ + seconds * 1'000 + row % options_.rows_per_second * 1'000 / options_.rows_per_second;
}

Result<flow::Polled> DatagenReader::poll(WallTime now) {
  flow::Polled polled;
  if (!assigned_ || ended(0)) {
    polled.kind = flow::Polled::Kind::kEnded;
    return polled;
  }
  if (!start_ms_) start_ms_ = now.millis;
  const int64_t end = std::min(options_.rows.value_or(INT64_MAX), row_ + kRowsPerPoll);
  while (row_ < end && time_of(row_) <= now.millis) {
    append_row(options_.fields, options_.seed, row_, time_of(row_), builder_);
    ++row_;
  }
  if (builder_.rows() == 0) {
    polled.until = WallTime{time_of(row_)};
    return polled;
  }
  polled.kind = flow::Polled::Kind::kRows;
  polled.records = builder_.rows();
  polled.batch = builder_.finish();
  shard_.records += polled.records;
  return polled;
}

ShardState DatagenReader::state(size_t) const {
  ShardState state = shard_;
  if (start_ms_) {
    state.position = "{\"row\": " + std::to_string(row_) + ", \"start\": " + std::to_string(*start_ms_) + "}";
  }
  return state;
}

bool DatagenReader::ended(size_t) const { return options_.rows && row_ >= *options_.rows; }

void add_datagen_connector(Registry& registry) {
  Connector connector;
  connector.finder = [](const TableContext& table) -> Result<std::unique_ptr<flow::ShardFinder>> {
    STRAND_TRY(const DatagenOptions options, read_datagen_options(table));
    return std::unique_ptr<flow::ShardFinder>(new DatagenFinder(options.rows.has_value()));
  };
  connector.reader = [](const TableContext& table) -> Result<std::unique_ptr<flow::SourceReader>> {
    STRAND_TRY(DatagenOptions options, read_datagen_options(table));
    return std::unique_ptr<flow::SourceReader>(new DatagenReader(table.schema, std::move(options)));
  };
  connector.source_options = {"rows-per-second", "number-of-rows", "strand.seed", "fields.*"};
  registry.add("datagen", std::move(connector));
}

}  // namespace strand::connect::datagen
