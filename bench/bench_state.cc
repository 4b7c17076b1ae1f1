// Measures state tables and the operators on them, on columnar input: `bench_state
// ids|dedup|windows|sliced|sessions|snapshots|timers|restore|spilled|spilled_rows [n]`. One JSON line a
// figure. n: live ids, or keys, or live rows.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "state/id_store.h"
#include "state_bench.h"

namespace strand {
namespace {

using bench::append_key;
using bench::Counter;
using bench::input_schema;
using bench::now;
using bench::window_options;

int64_t rss() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    long size = 0;
    if (std::fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
    std::fclose(f);
  }
  return pages * int64_t{4096};
}

/// UUIDs that live for `live` rows, a tenth of them copies, in batches of 4,096.
void bench_ids(int64_t live, int64_t rows, bool snapshots) {
  constexpr size_t kBatch = 4096;
  const int64_t rss_before = rss();
  obs::MemoryAccount account;
  state::IdStore store("dedup", {0, 127}, &account);
  std::vector<std::string> texts(kBatch, std::string(36, '0'));
  std::vector<std::string_view> keys(kBatch);
  std::vector<uint16_t> groups(kBatch);
  std::vector<EventTime> expiries(kBatch);
  std::vector<uint8_t> fresh(kBatch);
  double busy = 0;
  double worst = 0;
  int64_t copies = 0;
  int64_t epoch = 0;
  for (int64_t row = 0; row < rows + live; row += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) {
      const int64_t n = row + static_cast<int64_t>(i);
      const auto of = static_cast<uint64_t>(n % 10 == 9 && n > 5001 ? n - 5001 : n);
      texts[i] = state::uuid_text(mix64(of), mix64(~of));
      keys[i] = texts[i];
      groups[i] = static_cast<uint16_t>(mix64(of) >> 57);
      expiries[i] = EventTime{n + live};
    }
    const double start = now();
    STRAND_CHECK(store.insert({keys, groups, expiries}, {EventTime{row}, {}}, fresh).ok());
    const double took = now() - start;
    if (row >= live) {
      busy += took;
      worst = std::max(worst, took);
    }
    for (const uint8_t f : fresh) copies += 1 - f;
    if (snapshots && row % (kBatch * 256) == 0) {
      state::SnapshotBuilder out(Epoch{++epoch}, {0, 127});
      store.snapshot(out, EventTime{row});
      store.written(Epoch{epoch}, {});
    }
  }
  std::printf(
      "{\"bench\":\"ids\",\"live\":%lld,\"rows_per_s\":%.0f,\"ns_per_row\":%.1f,\"worst_batch_ms\":%.2f,"
      "\"bytes_per_id\":%.1f,"
      "\"rss_per_id\":%.1f,\"copies\":%lld}\n",
      static_cast<long long>(live), static_cast<double>(rows) / busy, busy / static_cast<double>(rows) * 1e9,
      worst * 1e3, static_cast<double>(account.used()) / (0.9 * static_cast<double>(live)),
      static_cast<double>(rss() - rss_before) / (0.9 * static_cast<double>(live)),
      static_cast<long long>(copies));
}

/// Runs batches that `row` fills through an operator, with a watermark after each; only the operator is
/// timed.
template <class Row>
void bench_operator(const char* name, flow::Operator& op, int64_t n, int64_t warm, int64_t rows, Row&& row) {
  constexpr int64_t kBatch = 4096;
  const int64_t rss_before = rss();
  obs::MemoryAccount account;
  obs::Ledger ledger;
  flow::OperatorContext context;
  context.operator_id = name;
  context.ledger = &ledger;
  context.memory = &account;
  Counter out;
  STRAND_CHECK(op.open(context).ok());
  double busy = 0;
  columnar::BatchBuilder builder(input_schema());
  for (int64_t at = 0; at < warm + rows; at += kBatch) {
    EventTime newest = EventTime::min();
    for (int64_t i = at; i < at + kBatch; ++i) newest = std::max(newest, row(i, builder));
    const columnar::Batch batch = builder.finish();
    const double start = now();
    STRAND_CHECK(op.process(0, batch, out).ok());
    context.reach(newest - Duration{1000});
    STRAND_CHECK(op.advance(out).ok());
    if (at >= warm) busy += now() - start;
  }
  const auto kept = static_cast<double>(std::max<int64_t>(op.state_rows(), 1));
  std::printf(
      "{\"bench\":\"%s\",\"n\":%lld,\"rows_per_s\":%.0f,\"ns_per_row\":%.1f,\"state_rows\":%.0f,\"bytes_per_"
      "row\":%.1f,"
      "\"rss_per_row\":%.1f,\"out\":%lld}\n",
      name, static_cast<long long>(n), static_cast<double>(rows) / busy,
      busy / static_cast<double>(rows) * 1e9, kept, static_cast<double>(account.used()) / kept,
      static_cast<double>(rss() - rss_before) / kept, static_cast<long long>(out.rows));
}

void bench_dedup(int64_t live) {
  ops::DeduplicateOptions options;
  options.input = input_schema();
  options.keys = {0};
  options.retention_column = 1;
  options.retention_after = Duration{live};
  auto op = ops::make_deduplicate(options);
  STRAND_CHECK(op.ok());
  bench_operator("dedup", **op, live, live, live, [](int64_t i, columnar::BatchBuilder& out) {
    const auto of = static_cast<uint64_t>(i % 10 == 9 && i > 5001 ? i - 5001 : i);
    out.column(0).append_string(state::uuid_text(mix64(of), mix64(~of)));
    out.column(1).append(i);
    out.end_row();
    return EventTime{i};
  });
}

/// Rows at equal distances, `per_second` of them in each second of event time.
void bench_aligned(const char* name, const ops::WindowOptions& options, int64_t keys, int64_t per_second) {
  auto op = ops::make_window_aggregate(options);
  STRAND_CHECK(op.ok());
  bench_operator(name, **op, keys, 4'000'000, 20'000'000, [=](int64_t i, columnar::BatchBuilder& out) {
    append_key(mix64(static_cast<uint64_t>(i)), static_cast<uint64_t>(keys), out.column(0));
    const int64_t millis = i * 1000 / per_second;
    out.column(1).append(millis);
    out.end_row();
    return EventTime{millis};
  });
}

/// Two million rows a window.
void bench_windows(int64_t keys) {
  bench_aligned("windows", window_options(expr::WindowKind::kTumble, 2'000'000, 0), keys, 1000);
}

/// 60 s every 10 s (CUMULATE: to 60 s by 10 s), 200,000 and a million rows in each 10 s.
void bench_sliced(int64_t keys) {
  for (const auto& [kind, few, many] :
       {std::tuple{expr::WindowKind::kHop, "hop", "hop_dense"},
        std::tuple{expr::WindowKind::kCumulate, "cumulate", "cumulate_dense"}}) {
    bench_aligned(few, window_options(kind, 60'000, 10'000), keys, 20'000);
    bench_aligned(many, window_options(kind, 60'000, 10'000), keys, 100'000);
  }
}

/// Sessions with a gap of 30 s. A row of each key about every 10 s; a tenth of the rows is out of order by up
/// to 60 s, or none is.
void bench_sessions(int64_t keys) {
  for (const bool disorder : {false, true}) {
    auto op = ops::make_window_aggregate(window_options(expr::WindowKind::kSession, 30'000, 0));
    STRAND_CHECK(op.ok());
    const int64_t per_second = std::max<int64_t>(1, keys / 10);
    bench_operator(disorder ? "sessions_out_of_order" : "sessions", **op, keys, 4'000'000, 20'000'000,
                   [=](int64_t i, columnar::BatchBuilder& out) {
                     const uint64_t random = mix64(static_cast<uint64_t>(i));
                     append_key(random, static_cast<uint64_t>(keys), out.column(0));
                     const int64_t now = i * 1000 / per_second;
                     const uint64_t chance = mix64(random);
                     const bool behind = disorder && chance % 10 == 0;
                     out.column(1).append(now - (behind ? static_cast<int64_t>(chance / 10 % 60'000) : 0));
                     out.end_row();
                     return EventTime{now - (disorder ? 60'000 : 0)};
                   });
  }
}

}  // namespace
}  // namespace strand

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "ids";
  const int64_t n = argc > 2 ? std::atoll(argv[2]) : 0;
  constexpr int64_t kLive = 11'111'111;  // a tenth are copies: ten million ids
  if (what == "ids") {
    strand::bench_ids(n > 0 ? n : kLive, n > 0 ? n : kLive, true);
  } else if (what == "dedup") {
    strand::bench_dedup(n > 0 ? n : kLive);
  } else if (what == "windows") {
    strand::bench_windows(n > 0 ? n : 10'000);
  } else if (what == "sliced") {
    strand::bench_sliced(n > 0 ? n : 10'000);
  } else if (what == "sessions") {
    strand::bench_sessions(n > 0 ? n : 100'000);
  } else if (what == "snapshots") {
    strand::bench::bench_snapshots(n > 0 ? n : 1'000'000);
  } else if (what == "timers") {
    strand::bench::bench_timers(n > 0 ? n : 1'000'000);
  } else if (what == "restore") {
    strand::bench::bench_restore(n > 0 ? n : int64_t{1} << 30);
  } else if (what == "spilled") {
    strand::bench::bench_spilled(n > 0 ? n : 100'000'000);
  } else if (what == "spilled_rows") {
    strand::bench::bench_spilled_rows(n > 0 ? n : 1'000'000);
  } else {
    std::fprintf(stderr,
                 "usage: bench_state "
                 "ids|dedup|windows|sliced|sessions|snapshots|timers|restore|spilled|spilled_rows [n]\n");
    return 2;
  }
  return 0;
}
