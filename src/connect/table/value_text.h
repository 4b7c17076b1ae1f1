// Values as the texts that stores without types of their own keep, and that servers answer with.
#pragma once

#include <string>
#include <string_view>

#include "columnar/builder.h"
#include "columnar/column.h"

namespace strand::connect::table {

/// Appends the value: `true`, `-1.50`, `2026-02-08 10:14:00.000`; texts and bytes as they are. Requires that
/// it is not NULL.
void print_text(const columnar::Column& column, int64_t row, std::string& out);

/// Reads what print_text wrote, and what PostgreSQL writes for all types but BYTES. False: no such value.
bool read_text(std::string_view text, columnar::ColumnBuilder& out);

}  // namespace strand::connect::table
