// For tests: rows of the story's table, ad_metrics (entity, bucket, fast_valid, late_valid, final_valid).
#pragma once

#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "connect/table/store.h"

namespace strand::connect::table {

struct TestRow {
  std::string entity;
  std::string bucket;
  std::optional<int64_t> value;
  columnar::RowKind kind = columnar::RowKind::kInsert;
};

inline columnar::SchemaPtr test_schema(
    std::initializer_list<std::pair<const char*, columnar::TypeKind>> columns) {
  std::vector<columnar::Field> fields;
  for (const auto& [name, kind] : columns) fields.push_back({name, columnar::make_type(kind)});
  return std::make_shared<columnar::Schema>(std::move(fields));
}

/// One writer of ad_metrics, which owns <writer>_valid.
inline WriterSpec test_writer(const std::string& writer, const std::string& job = "ad-clicks") {
  using columnar::TypeKind;
  WriterSpec spec;
  spec.job = job;
  spec.table = "ad_metrics";
  spec.writer = writer;
  spec.key = test_schema({{"entity", TypeKind::kString}, {"bucket", TypeKind::kString}});
  const std::string column = writer + "_valid";
  spec.values = test_schema({{column.c_str(), TypeKind::kBigInt}});
  spec.table_schema = test_schema({{"entity", TypeKind::kString},
                                   {"bucket", TypeKind::kString},
                                   {"fast_valid", TypeKind::kBigInt},
                                   {"late_valid", TypeKind::kBigInt},
                                   {"final_valid", TypeKind::kBigInt}});
  return spec;
}

inline columnar::Batch test_batch(const WriterSpec& spec, const std::vector<TestRow>& rows) {
  columnar::BatchBuilder builder(row_schema(spec));
  for (const TestRow& row : rows) {
    builder.column(0).append_string(row.entity);
    builder.column(1).append_string(row.bucket);
    row.value ? builder.column(2).append(*row.value) : builder.column(2).append_null();
    builder.end_row(row.kind);
  }
  return builder.finish();
}

inline Request test_request(const WriterSpec& spec, Request::Kind kind, const TestRow& row, WriteTag tag,
                            std::optional<WriteTag> expected = {}) {
  Request request;
  request.kind = kind;
  request.batch = std::make_shared<const columnar::Batch>(test_batch(spec, {row}));
  request.tag = tag;
  request.expected = expected;
  const std::vector<size_t> keys = {0, 1};
  columnar::encode_key(*request.batch, keys, 0, request.key);
  return request;
}

inline WriteTag test_tag(int64_t generation, int64_t attempt, int64_t epoch, int64_t sequence = 0) {
  return {{generation}, {attempt}, {epoch}, sequence};
}

/// The record of an attempt that restored an epoch (nothing: started anew), when `highest` had been used.
inline AttemptRecord test_record(int64_t generation, int64_t attempt, std::optional<int64_t> restored,
                                 int64_t highest) {
  AttemptRecord record;
  record.generation = {generation};
  record.attempt = {attempt};
  if (restored) record.restored = Epoch{*restored};
  record.highest_used = {highest};
  return record;
}

}  // namespace strand::connect::table
