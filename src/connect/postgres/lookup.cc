#include "connect/postgres/lookup.h"

#include "connect/postgres/connection.h"
#include "connect/postgres/schema.h"
#include "connect/postgres/values.h"

namespace strand::connect::postgres {

namespace {

class PostgresLookup final : public flow::Lookup {
 public:
  PostgresLookup(const TableContext& context, PostgresOptions options, const std::string& table)
      : schema_(context.schema), options_(std::move(options)) {
    std::vector<std::string> columns;
    for (const columnar::Field& field : schema_->fields()) columns.push_back(table::quoted(field.name));
    std::vector<std::string> conditions;
    for (const std::string& key : context.lookup_keys)
      conditions.push_back(table::quoted(key) + " = $" + std::to_string(conditions.size() + 1));
    table::WriterSpec spec;
    spec.table = table;
    spec.key = spec.values = std::make_shared<columnar::Schema>(std::vector<columnar::Field>{});
    query_ = "SELECT " + (columns.empty() ? "1" : table::joined(columns, ", ")) + " FROM " +
             names_of(spec).table + " WHERE " + table::joined(conditions, " AND ");
  }

  Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) override {
    if (!session_ || session_->broken()) {
      session_.reset();
      STRAND_TRY(session_, Connection::open(options_));
    }
    std::vector<Parameter> parameters;
    for (const columnar::ColumnPtr& column : keys.columns()) parameters.push_back(parameter_of(*column, row));
    STRAND_TRY(const Rows rows, session_->query(query_, parameters));
    for (int i = 0; i < rows.size(); ++i) STRAND_OK(append(rows, i, found));
    return Status();
  }

 private:
  Status append(const Rows& rows, int row, columnar::BatchBuilder& found) const {
    for (size_t c = 0; c < schema_->size(); ++c) {
      const auto column = static_cast<int>(c);
      if (rows.is_null(row, column)) {
        found.column(c).append_null();
        continue;
      }
      Status read = read_value(rows.text(row, column), found.column(c));
      if (!read.ok()) return std::move(read).at(options_.where());
    }
    found.end_row();
    return Status();
  }

  columnar::SchemaPtr schema_;
  PostgresOptions options_;
  std::string query_;
  std::unique_ptr<Connection> session_;
};

}  // namespace

std::unique_ptr<flow::Lookup> make_postgres_lookup(const TableContext& context, PostgresOptions options,
                                                   std::string table) {
  return std::make_unique<PostgresLookup>(context, std::move(options), std::move(table));
}

}  // namespace strand::connect::postgres
