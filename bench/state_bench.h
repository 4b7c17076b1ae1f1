// What the parts of bench_state share.
#pragma once

#include <time.h>

#include <cstdio>
#include <string>
#include <vector>

#include "ops/operators.h"

namespace strand::bench {

/// CPU time of the thread: other load on the machine costs less of a figure.
inline double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Takes rows and counts them.
struct Counter : flow::Emitter {
  Status emit(Port, flow::Batch batch) override {
    rows += batch.rows();
    return Status();
  }
  bool wanted(Port port) const override { return port == Port::kMain; }
  int64_t rows = 0;
};

/// key STRING, ts TIMESTAMP_LTZ(3)
inline columnar::SchemaPtr input_schema() {
  return std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
      {"key", columnar::make_type(columnar::TypeKind::kString)}, {"ts", columnar::timestamp_type(3, true)}});
}

/// COUNT(*) by key.
inline ops::WindowOptions window_options(expr::WindowKind kind, int64_t size, int64_t step) {
  ops::WindowOptions options;
  options.input = input_schema();
  options.keys = {0};
  options.time_column = 1;
  options.kind = kind;
  options.size = Duration{size};
  options.step = Duration{step};
  const auto bigint = columnar::make_type(columnar::TypeKind::kBigInt, false);
  const auto time = columnar::timestamp_type(3, false, false);
  options.aggregates = {{expr::Aggregate::Kind::kCountStar, 0, nullptr, bigint, "n"}};
  options.output = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"key", columnar::make_type(columnar::TypeKind::kString)},
                                   {"window_start", time},
                                   {"window_end", time},
                                   {"window_time", time},
                                   {"n", bigint}});
  return options;
}

/// One of `space` keys in random order.
inline void append_key(uint64_t random, uint64_t space, columnar::ColumnBuilder& out) {
  char text[24];
  const int size =
      std::snprintf(text, sizeof text, "ad_%llu", static_cast<unsigned long long>(random % space));
  out.append_string({text, static_cast<size_t>(size)});
}

/// How long a barrier stops the worker that holds `rows` rows of state, and what snapshots cost besides.
void bench_snapshots(int64_t rows);
/// How fast timers of keys are set and fire.
void bench_timers(int64_t live);
/// How long a restore of as many bytes takes: reading, checking, and making tables of them.
void bench_restore(int64_t bytes);
/// Deduplication with a memory limit of 1 GiB, and as many ids.
void bench_spilled(int64_t n);
/// As many rows of a join, nearly all of them on the local disk: what memory has of each, and what a look
/// costs.
void bench_spilled_rows(int64_t n);

}  // namespace strand::bench
