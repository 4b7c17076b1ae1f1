// Any JSON record, by the rules of Flink's json format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/text_values.h"
#include "columnar/batch.h"

namespace strand::codec {

struct JsonOptions {
  TimestampForm form = TimestampForm::kSql;
  bool fail_on_missing = false;
  bool misfit_is_null = false;  // ignore-parse-errors: a field that does not fit its type is NULL
};

/// What is wanted of a JSON value: its type, and what is wanted inside it.
struct JsonShape {
  columnar::TypePtr type;
  static constexpr int kNoPlace = -1;
  std::vector<std::string> names;  // of a ROW's fields
  std::vector<JsonShape> children;
  /// The columns of a record and the fields of their ROWs are numbered, each ROW before its fields.
  int place = kNoPlace;

  static JsonShape of(const columnar::TypePtr& type);
  static JsonShape of(const columnar::Schema& schema);
};

/// Where the values of a record lie in its line, in their order; of a ROW those of its fields.
struct JsonMembers {
  struct Value {
    size_t begin;
    size_t end;
    int place;  // kNoPlace: nobody wants it
  };
  std::vector<Value> values;
  std::vector<int> rows;  // places of the ROWs that are objects, inner ones first
};

/// Reads values out of one line. After a failure the builders may hold part of a row: truncate them.
///
/// Strict about syntax, also where nothing is wanted; raw control characters in strings are let through, as
/// Flink does. Of equal names the last counts. Text behind the object makes the record bad (Flink would drop
/// it in silence).
class JsonReader {
 public:
  explicit JsonReader(const JsonOptions& options) : options_(options) {}

  /// A whole record. `members`, if given, receives the layout.
  bool record(std::string_view line, const JsonShape& shape, columnar::BatchBuilder& out,
              JsonMembers* members);
  /// The value at `p`, which is not a blank. Returns the place behind it, or null.
  const char* value_at(const char* p, const char* end, const JsonShape& shape, columnar::ColumnBuilder& out);
  const char* skip_at(const char* p, const char* end);
  const std::string& reason() const { return reason_; }

 private:
  struct Token {
    std::string_view text;  // of a string: between the quotes, escapes as they stand
    bool quoted = false;
    bool escaped = false;
  };
  void start(const char* p, const char* end);
  bool record(std::string_view line, const JsonShape& shape, columnar::BatchBuilder& out);
  bool wanted_member(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool unwanted_member();
  bool convert(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool convert_scalar(const Token& token, const JsonShape& shape, columnar::ColumnBuilder& out);
  bool convert_number(std::string_view text, bool quoted, const JsonShape& shape,
                      columnar::ColumnBuilder& out);
  bool convert_integer(std::string_view text, bool quoted, int64_t low, int64_t high, int64_t& value);
  bool convert_nested(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool convert_row(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool convert_array(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool convert_map(const JsonShape& shape, columnar::ColumnBuilder& out);
  bool misfit(const JsonShape& shape, std::string_view text, columnar::ColumnBuilder& out);
  bool missing(const JsonShape& shape, size_t field);

  template <class F>
  bool object(const F& member);
  bool member_name(std::string_view& name);
  bool skip_value();
  bool skip_list();
  bool scalar(Token& token);
  bool string(Token& token);
  bool number(Token& token);
  bool escape();
  bool unit(uint32_t& code);
  bool word(std::string_view text);
  bool comma_or(char close, bool& more);
  void blanks();
  bool syntax(std::string_view expected);
  std::string_view unescaped(const Token& token, std::string& buffer);

  JsonOptions options_;
  const char* begin_ = nullptr;
  const char* p_ = nullptr;
  const char* end_ = nullptr;
  int depth_ = 0;
  JsonMembers* members_ = nullptr;  // null: nobody asks, or what is read is no place
  std::string name_buffer_;
  std::string text_buffer_;
  std::string reason_;
};

}  // namespace strand::codec
