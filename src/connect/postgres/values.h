// How SQL values lie in PostgreSQL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "columnar/column.h"

namespace strand::connect::postgres {

/// The type of a column that is made for values of `type`; nothing for what PostgreSQL is not given (ROW,
/// ARRAY, MAP). TIMESTAMP has six decimals of the second there: three more are cut off.
std::optional<std::string> type_name(const columnar::Type& type);

/// Whether a column that is there, declared as `declared` (format_type), keeps every value that is written to
/// it: a type of the same family that is wide enough, or any text for STRING. A key must come back as it was
/// written, too, so json, uuid and numbers with decimals are none for text and integers.
bool keeps(std::string_view declared, const columnar::Type& type, bool key = false);
/// Whether two values of a key stay two in a column of `type_name`.
bool keeps_in_key(const columnar::Type& type);

/// A value as COPY reads it in text format. False where PostgreSQL has no such value: U+0000 in a text.
bool append_copy(const columnar::Column& column, int64_t row, std::string& out);

/// The value as it is written in a parameter; nothing for NULL.
std::optional<std::string> parameter_of(const columnar::Column& column, int64_t row);

/// A text that PostgreSQL gave for a value (connection.h sets how). Errors: kSinkSchema.
Status read_value(std::string_view text, columnar::ColumnBuilder& out);

}  // namespace strand::connect::postgres
