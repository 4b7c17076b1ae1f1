#include "connect/sqlite/connector.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "connect/sqlite/flush_store.h"
#include "connect/sqlite/lookup.h"
#include "connect/sqlite/transaction_store.h"
#include "connect/sqlite/values.h"
#include "connect/table/flush_sink.h"
#include "connect/table/transaction_sink.h"

namespace strand::connect::sqlite {

namespace {

std::string option(const TableContext& context, const std::string& name, const std::string& fallback) {
  const auto found = context.options.find(name);
  return found == context.options.end() ? fallback : found->second;
}

Status bad_option(std::string message, std::string hint) {
  return Status(ErrorCode::kBadOption, std::move(message)).hint(std::move(hint));
}

Result<SqliteOptions> store_options(const TableContext& context) {
  SqliteOptions options;
  options.path = option(context, "path", "");
  if (options.path.empty()) {
    return bad_option("expected 'path', the database file, found none", "add 'path' = 'results.db'");
  }
  STRAND_TRY(const auto timeout, duration_option(context, "strand.busy-timeout"));
  options.busy_timeout = timeout.value_or(options.busy_timeout);
  return options;
}

Result<size_t> batch_rows(const TableContext& context) {
  const std::string text =
      option(context, "sink.buffer-flush.max-rows", std::to_string(table::FlushOptions::kBatchRowsDefault));
  size_t rows = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error == std::errc() && end == text.data() + text.size() && rows >= 1 &&
      rows <= table::FlushOptions::kBatchRowsMax) {
    return rows;
  }
  return bad_option("expected 'sink.buffer-flush.max-rows' from 1 to " +
                        std::to_string(table::FlushOptions::kBatchRowsMax) + ", found '" + text + "'",
                    "remove it for the default, " + std::to_string(table::FlushOptions::kBatchRowsDefault));
}

Result<std::unique_ptr<flow::Sink>> make_sink(const TableContext& context) {
  STRAND_TRY(SqliteOptions store, store_options(context));
  STRAND_TRY(const size_t rows, batch_rows(context));
  // One lane for a file: its writers take turns instead of waiting for each other's locks.
  const uint64_t lane = hash64("sqlite:" + store.path);
  const std::string mode = option(context, "sink.mode", "flush");
  if (mode == "transaction") {
    return table::make_transaction_sink(
        table::writer_spec(context, option(context, "table-name", context.table)),
        make_transaction_store(std::move(store)), context.env, {lane, context.memory, {}});
  }
  if (mode != "flush") {
    return bad_option("expected 'sink.mode' to be 'flush' or 'transaction', found '" + mode + "'",
                      "remove it for the default, flush");
  }
  if (context.primary_key.empty()) {
    return bad_option("mode flush overwrites rows by their key, and the table has no PRIMARY KEY",
                      "declare PRIMARY KEY (...) NOT ENFORCED, or set 'sink.mode' = 'transaction'");
  }
  table::FlushOptions options;
  options.closed_rows = context.closed_rows;
  options.batch_rows = rows;
  options.lane = lane;
  options.events = context.events;
  return table::make_flush_sink(table::writer_spec(context, option(context, "table-name", context.table)),
                                make_flush_store(std::move(store)), context.env, options);
}

Result<std::unique_ptr<flow::Lookup>> make_lookup(const TableContext& context) {
  STRAND_TRY(const SqliteOptions store, store_options(context));
  for (const columnar::Field& field : context.schema->fields()) {
    if (affinity_of(*field.type)) continue;
    return Status(ErrorCode::kSinkSchema, "SQLite has no values of " + columnar::to_string(*field.type) +
                                              " (column " + field.name + ")")
        .hint("leave the column out");
  }
  return make_sqlite_lookup(context, store.path, option(context, "table-name", context.table),
                            store.busy_timeout);
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
