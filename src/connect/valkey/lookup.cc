#include "connect/valkey/lookup.h"

#include <algorithm>

#include "connect/table/value_text.h"
#include "connect/valkey/flush_store.h"
#include "connect/valkey/session.h"

namespace strand::connect::valkey {

namespace {

class ValkeyLookup final : public flow::Lookup {
 public:
  /// `order`: which of the looked up keys is which column of the primary key.
  ValkeyLookup(columnar::SchemaPtr schema, ValkeyOptions options, std::string table,
               std::vector<size_t> order)
      : schema_(std::move(schema)),
        session_(std::move(options)),
        table_(std::move(table)),
        order_(std::move(order)) {}

  Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) override {
    std::vector<columnar::ColumnPtr> ordered;
    for (const size_t at : order_) ordered.push_back(keys.columns()[at]);
    std::vector<columnar::Field> fields;
    for (const size_t at : order_) fields.push_back((*keys.schema())[at]);
    const columnar::Batch key(std::make_shared<columnar::Schema>(std::move(fields)), std::move(ordered),
                              keys.rows());
    Command command = {"HMGET", row_name(table_, key, row, order_.size()), "job_gen"};
    for (const columnar::Field& field : schema_->fields()) command.push_back(field.name);
    STRAND_TRY(const Reply values, session_.call(command));
    return append(values, found);
  }

 private:
  /// A hash without any of the columns is no row.
  Status append(const Reply& values, columnar::BatchBuilder& found) const {
    bool any = false;
    for (size_t i = 0; i < values.size(); ++i) any = any || !values[i].is_nil();
    if (!any) return Status();
    for (size_t c = 0; c < schema_->size(); ++c) {
      const Reply value = values[c + 1];
      columnar::ColumnBuilder& column = found.column(c);
      if (value.is_nil()) {
        column.append_null();
      } else if (!table::read_text(value.text(), column)) {
        return Status(ErrorCode::kSinkSchema,
                      "expected a value of type " + columnar::to_string(*column.type()) + " in " +
                          (*schema_)[c].name + ", found '" + std::string(value.text()) + "'")
            .at(session_.where())
            .hint("compare the row with CREATE TABLE in the job");
      }
    }
    found.end_row();
    return Status();
  }

  columnar::SchemaPtr schema_;
  Session session_;
  std::string table_;
  std::vector<size_t> order_;
};

}  // namespace

Result<std::unique_ptr<flow::Lookup>> make_valkey_lookup(const TableContext& context, ValkeyOptions options,
                                                         std::string table) {
  std::vector<size_t> order;
  for (const std::string& column : context.primary_key) {
    const auto at = std::ranges::find(context.lookup_keys, column);
    if (at != context.lookup_keys.end())
      order.push_back(static_cast<size_t>(at - context.lookup_keys.begin()));
  }
  if (order.empty() || order.size() != context.primary_key.size() ||
      order.size() != context.lookup_keys.size()) {
    return Status(ErrorCode::kBadOption,
                  "rows of table " + context.table +
                      " are found by their primary key, and the join names other columns")
        .hint("declare PRIMARY KEY (...) NOT ENFORCED, and compare all of its columns, and no others, in ON");
  }
  return std::unique_ptr<flow::Lookup>(
      new ValkeyLookup(context.schema, std::move(options), std::move(table), std::move(order)));
}

}  // namespace strand::connect::valkey
