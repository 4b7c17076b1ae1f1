// Where an Apache Flink cluster keeps a SQL key: not where this engine does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "columnar/column.h"

namespace strand::state {

/// Writes the fields of a key in Flink's binary row format, whose hash decides its key group there: for a
/// move from or to a Flink cluster, and to say which of its subtasks owns a key. Each field is set once, in
/// order; a field that is not set is zero. Source: Flink BinaryRowData, BinaryRowWriter, MurmurHashUtils,
/// KeyGroupRangeAssignment.
class SqlKey {
 public:
  explicit SqlKey(size_t fields);

  void set_null(size_t field);
  /// BOOLEAN (as uint8_t), TINYINT .. BIGINT, FLOAT, DOUBLE, DATE and TIME (as int32_t).
  template <class T>
  void set(size_t field, T value) {
    row_.replace(slot(field), sizeof(T), reinterpret_cast<const char*>(&value), sizeof(T));
  }
  /// STRING or BYTES.
  void set_bytes(size_t field, std::string_view bytes);
  /// Nothing for NULL, which takes room all the same where the precision is above 18.
  void set_decimal(size_t field, std::optional<columnar::Int128> unscaled, int precision);
  struct Timestamp {
    int64_t millis = 0;
    int32_t nanos = 0;  // of the millisecond
  };
  /// Nothing for NULL, which takes room all the same where the precision is above 3.
  void set_timestamp(size_t field, std::optional<Timestamp> value, int precision);

  const std::string& bytes() const { return row_; }
  /// What stream_key_group takes.
  int32_t hash() const;

 private:
  size_t slot(size_t field) const { return header_ + field * 8; }
  void point(size_t field, size_t offset, size_t size);
  void mark_null(size_t field);
  size_t header_;
  std::string row_;
};

}  // namespace strand::state
