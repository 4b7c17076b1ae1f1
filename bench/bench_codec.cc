// Speed of the formats on click records of 209 bytes: one JSON object a line.
//   bench_codec [rows]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/cpu.h"
#include "base/random.h"
#include "codec/record_decoder.h"

namespace {

using strand::columnar::Batch;
using strand::columnar::Field;
using strand::columnar::make_type;
using strand::columnar::SchemaPtr;
using strand::columnar::TypeKind;

constexpr int kRounds = 7;

struct Click {
  std::string id, ad, user, country, device;
  int64_t ts = 0, impression = 0, price = 0;
  bool valid = true;
};

Click click(strand::Random& random, int64_t i) {
  static const std::vector<std::string> kCountries = {"DE", "FR", "US", "GB", "IN", "BR", "JP", "PL"};
  static const std::vector<std::string> kDevices = {"ios", "android", "desktop", "tablet"};
  Click c;
  const uint64_t a = random.next(), b = random.next();
  c.id = fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xFFFF, a & 0xFFFF, b >> 48,
                     b & 0xFFFF'FFFF'FFFF);
  c.ad = "ad_" + std::to_string(random.below(10'000));
  c.user = "user_" + std::to_string(random.below(1'000'000));
  c.ts = 1'700'000'040'000 + i / 20 - static_cast<int64_t>(random.below(4001));
  c.impression = c.ts - 200 - static_cast<int64_t>(random.below(30'000));
  c.price = 1000 + static_cast<int64_t>(random.below(500'000));
  c.country = kCountries[random.below(8)];
  c.device = kDevices[random.below(4)];
  c.valid = random.below(1000) >= 2;
  return c;
}

SchemaPtr all_columns() {
  return std::make_shared<strand::columnar::Schema>(
      std::vector<Field>{{"click_id", make_type(TypeKind::kString)},
                         {"ad_id", make_type(TypeKind::kString)},
                         {"user_id", make_type(TypeKind::kString)},
                         {"ts", make_type(TypeKind::kBigInt)},
                         {"impression_ts", make_type(TypeKind::kBigInt)},
                         {"price_micros", make_type(TypeKind::kBigInt)},
                         {"country", make_type(TypeKind::kString)},
                         {"device", make_type(TypeKind::kString)},
                         {"valid", make_type(TypeKind::kBoolean)}});
}

SchemaPtr some_columns(const std::vector<std::string>& names) {
  const SchemaPtr all = all_columns();
  std::vector<Field> fields;
  for (const Field& field : all->fields()) {
    if (std::find(names.begin(), names.end(), field.name) != names.end()) fields.push_back(field);
  }
  return std::make_shared<strand::columnar::Schema>(fields);
}

struct Seconds {
  double wall = 1e9;
  double cpu = 1e9;  // of the process, which has one thread
};

/// The best of some rounds.
template <class F>
Seconds best(const F& f) {
  Seconds seconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    f();
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds = {std::min(seconds.wall, wall), std::min(seconds.cpu, cpu)};
  }
  return seconds;
}

void report(std::string_view name, Seconds seconds, int64_t rows, size_t bytes) {
  const auto n = static_cast<double>(rows);
  fmt::print(
      "{{\"bench\":\"codec\",\"case\":\"{}\",\"cpu\":\"{}\",\"rows\":{},\"bytes_per_record\":{:.1f},"
      "\"million_records_per_second\":{:.2f},\"million_records_per_cpu_second\":{:.2f},"
      "\"cpu_ns_per_record\":{:.1f}}}\n",
      name, strand::cpu_level() == strand::CpuLevel::kV3 ? "v3" : "portable", rows,
      static_cast<double>(bytes) / n, n / seconds.wall / 1e6, n / seconds.cpu / 1e6, seconds.cpu * 1e9 / n);
  std::fflush(stdout);
}

void bench_decode(std::string_view name, std::string_view format, const SchemaPtr& read,
                  std::string_view lines, int64_t rows) {
  auto decoder = strand::codec::make_decoder(format, read, all_columns(), {});
  STRAND_CHECK(decoder.ok());
  const Seconds seconds = best([&] {
    int64_t got = 0;
    size_t at = 0;
    strand::codec::DecodeOutput out(read);
    while (at < lines.size()) {
      const auto consumed = (*decoder)->decode(lines.substr(at), at, out);
      STRAND_CHECK(consumed.ok());
      at += *consumed;
      got += out.take_rows().rows();
      STRAND_CHECK(out.take_bad().empty());
    }
    STRAND_CHECK(got == rows);
  });
  report(name, seconds, rows, lines.size());
}

void bench_encode(std::string_view name, std::string_view format, std::string_view lines, int64_t rows) {
  auto decoder = strand::codec::make_decoder("json", all_columns(), all_columns(), {});
  auto encoder = strand::codec::make_encoder(format, all_columns(), {});
  STRAND_CHECK(decoder.ok() && encoder.ok());
  std::vector<Batch> batches;
  strand::codec::DecodeOutput out(all_columns());
  for (size_t at = 0; at < lines.size();) {
    at += *(*decoder)->decode(lines.substr(at), at, out);
    batches.push_back(out.take_rows());
  }
  std::string text;
  size_t bytes = 0;
  const Seconds seconds = best([&] {
    bytes = 0;
    for (const Batch& batch : batches) {
      text.clear();
      STRAND_CHECK((*encoder)->encode(batch, text).ok());
      bytes += text.size();
    }
  });
  report(name, seconds, rows, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 200'000;
  strand::Random random(1);
  std::string json, shuffled, csv;
  for (int64_t i = 0; i < rows; ++i) {
    const Click c = click(random, i);
    json += fmt::format(
        R"({{"click_id":"{}","ad_id":"{}","user_id":"{}","ts":{},"impression_ts":{},"price_micros":{},"country":"{}","device":"{}","valid":{}}})"
        "\n",
        c.id, c.ad, c.user, c.ts, c.impression, c.price, c.country, c.device, c.valid);
    // Members in an order that changes from line to line: the general reader.
    shuffled += fmt::format(
        R"({{"x{}":0,"click_id":"{}","ad_id":"{}","user_id":"{}","ts":{},"impression_ts":{},"price_micros":{},"country":"{}","device":"{}"}})"
        "\n",
        random.below(1000), c.id, c.ad, c.user, c.ts, c.impression, c.price, c.country, c.device);
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", c.id, c.ad, c.user, c.ts, c.impression, c.price,
                       c.country, c.device, c.valid);
  }
  const SchemaPtr four = some_columns({"click_id", "ad_id", "ts", "valid"});
  bench_decode("json decode 4 of 9", "json", four, json, rows);
  bench_decode("json decode 9 of 9", "json", all_columns(), json, rows);
  bench_decode("json decode 4 of 9, layouts never repeat", "json", four, shuffled, rows);
  bench_decode("csv decode 4 of 9", "csv", four, csv, rows);
  bench_decode("csv decode 9 of 9", "csv", all_columns(), csv, rows);
  bench_encode("json encode 9", "json", json, rows);
  bench_encode("csv encode 9", "csv", json, rows);
  return 0;
}
