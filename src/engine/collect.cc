#include "engine/collect.h"

#include <algorithm>

#include "connect/sqlite/values.h"
#include "engine/hand_over.h"

namespace strand::engine {

namespace {

Cell cell_of(const columnar::Column& column, int64_t row) {
  if (column.is_null(row)) return std::nullopt;
  std::string text;
  connect::sqlite::print_cell(column, row, text);
  return text;
}

}  // namespace

void Collection::apply(const connect::TableContext& context, const flow::Batch& rows) {
  const std::lock_guard lock(mutex_);
  CollectedTable& table = tables_[context.table];
  const columnar::Schema& schema = *rows.schema();
  std::vector<std::string> key = context.primary_key;
  if (key.empty()) {
    for (const columnar::Field& field : schema.fields()) key.push_back(field.name);
  }
  table.key = key;
  const auto is_key = [&](const std::string& name) {
    return std::find(key.begin(), key.end(), name) != key.end();
  };
  rows.for_each_row([&](int64_t row) {
    const columnar::RowKind kind = rows.kind(row);
    const bool bag = context.primary_key.empty();
    if (kind == columnar::RowKind::kUpdateBefore && !bag) return;
    Key id(key.size());
    for (size_t i = 0; i < schema.size(); ++i) {
      const auto at = std::find(key.begin(), key.end(), schema[i].name);
      if (at != key.end()) id[static_cast<size_t>(at - key.begin())] = cell_of(rows.column(i), row);
    }
    const bool removes = kind == columnar::RowKind::kDelete || kind == columnar::RowKind::kUpdateBefore;
    CollectedTable::Row& into = table.rows[id];
    into.copies = bag ? into.copies + (removes ? -1 : 1) : 1;
    if (into.copies == 0 || (removes && !bag)) {
      table.rows.erase(id);
      return;
    }
    for (size_t i = 0; i < schema.size(); ++i) {
      if (!is_key(schema[i].name)) into.values[schema[i].name] = cell_of(rows.column(i), row);
    }
  });
}

void add_collect_connector(connect::Registry& registry, std::shared_ptr<Collection> into) {
  connect::Connector connector;
  connector.sink =
      [into = std::move(into)](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    // Rows arrive once and in order, because a recount has no crash.
    return make_hand_over_sink([context, into](const flow::Batch& rows) {
      into->apply(context, rows);
      return Status();
    });
  };
  registry.add(kCollectConnector, std::move(connector));
}

}  // namespace strand::engine
