// The columns of a table that an INSERT may set.
#pragma once

#include <string>
#include <vector>

#include "sql/catalog.h"
#include "sql/compile.h"

namespace strand::sql {

/// Their names, in the order of the declaration: physical columns, and metadata that is not VIRTUAL.
std::vector<std::string> written_columns(const Table& table);
/// As the table declares it.
columnar::TypePtr declared_type(const Table& table, const std::string& column);
/// As the connector takes it: of metadata often another type than the declared one.
columnar::TypePtr written_type(const plan::TableSpec& written, const std::string& column);
/// The table as a sink sees it: of the metadata only what is written, in the types of the connector.
/// kUnknownColumn, kTypeMismatch.
Result<plan::TableSpec> written_table(const Table& table, const TableChecks& checks);

}  // namespace strand::sql
