// How fast shard files become batches: the bytes alone, and with JSON decoded. Clicks of 64 shards in the
// page cache.
//   bench_source DIR [ROWS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "codec/record_decoder.h"
#include "connect/datagen/clicks.h"
#include "connect/file/finder.h"
#include "connect/file/reader.h"
#include "env/real.h"

namespace strand {
namespace {

using columnar::TypeKind;

/// Finds the line ends and makes no rows but one for each full poll.
class CountingDecoder final : public codec::RecordDecoder {
 public:
  Result<size_t> decode(std::string_view lines, uint64_t, codec::DecodeOutput& out) override {
    const char* at = lines.data();
    const char* const end = at + lines.size();
    while (at < end) {
      const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at));
      at = newline == nullptr ? end : static_cast<const char*>(newline) + 1;
      ++lines_;
    }
    if (out.records() == 0) out.rows().end_row();
    return lines.size();
  }
  int64_t lines() const { return lines_; }

 private:
  int64_t lines_ = 0;
};

columnar::SchemaPtr schema_of(const std::vector<std::string>& columns) {
  std::vector<columnar::Field> fields;
  for (const std::string& name : columns) {
    const bool text = name.ends_with("_id");
    fields.push_back({name, columnar::make_type(text ? TypeKind::kString : TypeKind::kBigInt)});
  }
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

struct Figure {
  int64_t rows = 0;
  double cpu_seconds = 0;
};

Result<Figure> read_all_shards(env::RealEnv& real, connect::TableContext& table,
                               const connect::file::FileOptions& options,
                               std::unique_ptr<codec::RecordDecoder> decoder) {
  connect::file::FileReader reader(table, options, std::move(decoder));
  connect::file::FileFinder finder(real.files, options);
  STRAND_TRY(const std::vector<std::string> shards, finder.find());
  for (const std::string& shard : shards) STRAND_OK(reader.assign({shard, "", 0}));
  Figure figure;
  const int64_t start = real.clock.thread_cpu_nanos();
  while (true) {
    STRAND_TRY(const flow::Polled polled, reader.poll(WallTime{0}));
    if (polled.kind == flow::Polled::Kind::kEnded) break;
    figure.rows += polled.records;
  }
  figure.cpu_seconds = static_cast<double>(real.clock.thread_cpu_nanos() - start) * 1e-9;
  return figure;
}

void print(const char* name, int64_t rows, double seconds, int64_t bytes) {
  std::printf(
      "{\"bench\": \"source\", \"what\": \"%s\", \"rows\": %ld, \"m_rows_per_cpu_s\": %.2f, \"gb_per_s\": "
      "%.2f}\n",
      name, static_cast<long>(rows), static_cast<double>(rows) / seconds / 1e6,
      static_cast<double>(bytes) / seconds / 1e9);
  std::fflush(stdout);
}

Status run(const std::string& dir, int64_t rows) {
  env::RealEnv real;
  connect::datagen::ClickOptions clicks;
  clicks.rate = 100'000;
  clicks.seconds = std::max<int64_t>(rows / clicks.rate, 1);
  const int64_t start = real.clock.thread_cpu_nanos();
  STRAND_TRY(const auto made, connect::datagen::generate_clicks(real.files, dir, clicks, nullptr));
  print("generate", made.rows, static_cast<double>(real.clock.thread_cpu_nanos() - start) * 1e-9, made.bytes);

  connect::TableContext table;
  table.table = "clicks";
  table.env = real.env();
  connect::file::FileOptions options;
  options.path = dir;
  options.format = "json";
  options.ignore_bad = true;
  const std::vector<std::string> all = {"click_id",      "ad_id",     "user_id",   "spend_micros",
                                        "impression_ms", "device_ms", "arrival_ms"};
  for (int round = 0; round < 3; ++round) {
    table.schema = schema_of({});
    STRAND_TRY(const Figure bytes,
               read_all_shards(real, table, options, std::make_unique<CountingDecoder>()));
    print("bytes and line ends", made.rows, bytes.cpu_seconds, made.bytes);
    for (const auto& [name, columns] :
         {std::pair("json, 7 columns", all),
          std::pair("json, 5 columns", std::vector<std::string>{"click_id", "ad_id", "impression_ms",
                                                                "device_ms", "arrival_ms"})}) {
      table.schema = schema_of(columns);
      STRAND_TRY(auto decoder, codec::make_decoder("json", table.schema, schema_of(all), {}));
      STRAND_TRY(const Figure json, read_all_shards(real, table, options, std::move(decoder)));
      STRAND_CHECK(json.rows == made.rows);
      print(name, json.rows, json.cpu_seconds, made.bytes);
    }
  }
  return real.files.remove_all(dir);
}

}  // namespace
}  // namespace strand

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_source DIR [ROWS]   DIR is created, filled and removed\n");
    return 2;
  }
  const strand::Status status = strand::run(argv[1], argc > 2 ? std::atol(argv[2]) : 5'000'000);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}
