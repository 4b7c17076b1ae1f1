#include "connect/sqlite/connector.h"

#include "base/hash.h"
#include "connect/sqlite/flush_store.h"
#include "connect/sqlite/lookup.h"
#include "connect/sqlite/transaction_store.h"
#include "connect/sqlite/values.h"
#include "connect/table/table_sink.h"

namespace strand::connect::sqlite {

namespace {

Result<SqliteOptions> store_options(const TableContext& context) {
  SqliteOptions options;
  options.path = text_option(context, "path", "");
  if (options.path.empty()) {
    return bad_option("expected 'path', the database file, found none", "add 'path' = 'results.db'");
  }
  STRAND_TRY(const auto timeout, duration_option(context, "strand.busy-timeout"));
  options.busy_timeout = timeout.value_or(options.busy_timeout);
  return options;
}

Result<std::unique_ptr<flow::Sink>> make_sink(const TableContext& context) {
  STRAND_TRY(const SqliteOptions store, store_options(context));
  // One lane for a file: its writers take turns instead of waiting for each other's locks.
  return table::make_table_sink(
      context, {[store] { return make_flush_store(store); },
                [store] { return make_transaction_store(store); }, hash64("sqlite:" + store.path)});
}

Result<std::unique_ptr<flow::Lookup>> make_lookup(const TableContext& context) {
  STRAND_TRY(const SqliteOptions store, store_options(context));
  for (const columnar::Field& field : context.schema->fields()) {
    if (affinity_of(*field.type)) continue;
    return Status(ErrorCode::kSinkSchema, "SQLite has no values of " + columnar::to_string(*field.type) +
                                              " (column " + field.name + ")")
        .hint("leave the column out");
  }
  return make_sqlite_lookup(context, store.path, table::stored_name(context), store.busy_timeout);
}

}  // namespace

void add_sqlite_connector(Registry& registry) {
  Connector made;
  made.sink = make_sink;
  made.lookup = make_lookup;
  made.sink_options = {"path", "table-name", "sink.mode", "sink.buffer-flush.max-rows",
                       "strand.busy-timeout"};
  registry.add("sqlite", std::move(made));
}

}  // namespace strand::connect::sqlite
