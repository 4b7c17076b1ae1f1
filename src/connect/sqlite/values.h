// How SQL values lie in SQLite: integers and booleans as INTEGER, floats as REAL, everything with a form of
// its own as TEXT (timestamps `2026-02-08 10:14:00.000`, dates, times, decimals with all their digits), BYTES
// as BLOB.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "columnar/builder.h"
#include "columnar/column.h"
#include "connect/sqlite/database.h"

namespace strand::connect::sqlite {

enum class Affinity : uint8_t { kInteger, kReal, kText, kBlob, kNumeric };

/// The affinity of values of a type; nothing for types that SQLite cannot hold (ARRAY, MAP, ROW).
std::optional<Affinity> affinity_of(const columnar::Type& type);
/// The affinity that SQLite gives to a column declared so. Source: sqlite.org/datatype3.html, section 3.1.
Affinity affinity_of_declaration(std::string_view declared);
/// Whether a column of the declared affinity keeps values of the type as they were written.
bool keeps(Affinity declared, const columnar::Type& type);
/// `INTEGER`, `REAL`, `TEXT`, `BLOB`, `NUMERIC`
std::string_view to_string(Affinity affinity);

/// The column must live until the statement is reset.
void bind_value(Statement& statement, int at, const columnar::Column& column, int64_t row);
/// The text under which a value stands in SQLite.
void print_cell(const columnar::Column& column, int64_t row, std::string& out);

/// Reads what bind_value wrote. kSinkSchema if something else stands there.
Status read_value(const Statement& statement, int at, columnar::ColumnBuilder& out);

}  // namespace strand::connect::sqlite
