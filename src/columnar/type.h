// SQL types and schemas.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strand::columnar {

enum class TypeKind : uint8_t {
  kNull,  // the type of a bare NULL before coercion
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kFloat,
  kDouble,
  kDecimal,
  kString,
  kBytes,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kIntervalMillis,
  kIntervalMonths,  // INTERVAL day-time (ms) and year-month (months)
  kArray,
  kMap,
  kRow,
};
/// Bytes of each value, found through offsets.
constexpr bool is_string(TypeKind kind) { return kind == TypeKind::kString || kind == TypeKind::kBytes; }
/// Values of a child column, found through offsets.
constexpr bool is_list(TypeKind kind) { return kind == TypeKind::kArray || kind == TypeKind::kMap; }

struct Type;
struct Field {
  std::string name;
  std::shared_ptr<const Type> type;
};

/// A SQL type. How values lie in memory (Arrow):
///   BOOLEAN                    bit-packed
///   TINYINT .. BIGINT          int8, int16, int32, int64
///   FLOAT, DOUBLE              IEEE 754
///   DECIMAL(p, s)              int128, unscaled, p <= 38
///   STRING, BYTES              int32 offsets and bytes (UTF-8 for STRING)
///   DATE                       int32, days since 1970-01-01
///   TIME                       int32, milliseconds of the day
///   TIMESTAMP(p), _LTZ(p)      int64 since the epoch: milliseconds for p <= 3, microseconds for p <= 6, else
///   nanoseconds intervals                  int64 ARRAY                      int32 offsets, child 0 the
///   elements MAP                        int32 offsets, children 0 keys and 1 values ROW one child a field
struct Type {
  TypeKind kind = TypeKind::kNull;
  bool nullable = true;
  int precision =
      0;          // DECIMAL digits; TIMESTAMP and TIME fractional digits; CHAR/VARCHAR length (0: unbounded)
  int scale = 0;  // DECIMAL
  /// STRING and BYTES: CHAR(precision) and BINARY(precision), whose values all have that length.
  bool fixed = false;
  bool multiset = false;  // MAP: MULTISET<key>, the values count
  std::vector<Field> children = {};

  friend bool operator==(const Type& a, const Type& b);
};
using TypePtr = std::shared_ptr<const Type>;

bool operator==(const Type& a, const Type& b);
inline bool operator==(const Field& a, const Field& b) { return a.name == b.name && *a.type == *b.type; }

TypePtr make_type(TypeKind kind, bool nullable = true);
TypePtr decimal_type(int precision, int scale, bool nullable = true);
TypePtr timestamp_type(int precision, bool ltz, bool nullable = true);
/// CHAR(length) and BINARY(length), or VARCHAR(length) and VARBINARY(length), 0: STRING and BYTES.
TypePtr text_type(TypeKind kind, int length, bool fixed, bool nullable = true);
/// Children are named "element", and "key" and "value".
TypePtr array_type(TypePtr element, bool nullable = true);
TypePtr map_type(TypePtr key, TypePtr value, bool nullable = true);
TypePtr multiset_type(TypePtr element, bool nullable = true);
TypePtr row_type(std::vector<Field> fields, bool nullable = true);
/// The same type with another nullability.
TypePtr with_nullable(const TypePtr& type, bool nullable);

/// As Flink prints it: `DECIMAL(12, 2) NOT NULL`.
std::string to_string(const Type& type);

/// Bytes of one value in the values buffer; 0 for BOOLEAN (bits) and for types without a fixed width.
int fixed_width(TypeKind kind);
bool is_integer(TypeKind kind);
bool is_numeric(TypeKind kind);
/// Units per second of a TIMESTAMP(p): 1'000, 1'000'000 or 1'000'000'000.
int64_t timestamp_units(int precision);

/// The columns of a batch or table.
class Schema {
 public:
  Schema() = default;
  explicit Schema(std::vector<Field> fields) : fields_(std::move(fields)) {}
  size_t size() const { return fields_.size(); }
  const Field& operator[](size_t i) const { return fields_[i]; }
  const std::vector<Field>& fields() const { return fields_; }
  std::optional<size_t> find(std::string_view name) const;
  friend bool operator==(const Schema& a, const Schema& b) { return a.fields_ == b.fields_; }

 private:
  std::vector<Field> fields_;
};
using SchemaPtr = std::shared_ptr<const Schema>;

}  // namespace strand::columnar
