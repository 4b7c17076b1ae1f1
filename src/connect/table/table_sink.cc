#include "connect/table/table_sink.h"

#include <charconv>

#include "connect/table/flush_sink.h"
#include "connect/table/transaction_sink.h"

namespace strand::connect::table {

namespace {

Result<size_t> batch_rows(const TableContext& context) {
  const std::string text =
      text_option(context, "sink.buffer-flush.max-rows", std::to_string(FlushOptions::kBatchRowsDefault));
  size_t rows = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error == std::errc() && end == text.data() + text.size() && rows >= 1 &&
      rows <= FlushOptions::kBatchRowsMax) {
    return rows;
  }
  return bad_option("expected 'sink.buffer-flush.max-rows' from 1 to " +
                        std::to_string(FlushOptions::kBatchRowsMax) + ", found '" + text + "'",
                    "remove it for the default, " + std::to_string(FlushOptions::kBatchRowsDefault));
}

}  // namespace

std::string stored_name(const TableContext& context) {
  return text_option(context, "table-name", context.table);
}

Result<std::unique_ptr<flow::Sink>> make_table_sink(const TableContext& context, const TableStores& stores) {
  STRAND_TRY(const size_t rows, batch_rows(context));
  const std::string mode = text_option(context, "sink.mode", "flush");
  if (mode == "transaction") {
    if (!stores.transaction) {
      return bad_option("the connector has no mode 'transaction'",
                        "remove 'sink.mode': its rows are overwritten by their key");
    }
    return make_transaction_sink(writer_spec(context, stored_name(context)), stores.transaction(),
                                 context.env, {stores.lane, context.memory, {}});
  }
  if (mode != "flush") {
    return bad_option("expected 'sink.mode' to be 'flush' or 'transaction', found '" + mode + "'",
                      "remove it for the default, flush");
  }
  if (context.primary_key.empty()) {
    return bad_option("mode flush overwrites rows by their key, and the table has no PRIMARY KEY",
                      stores.transaction
                          ? "declare PRIMARY KEY (...) NOT ENFORCED, or set 'sink.mode' = 'transaction'"
                          : "declare PRIMARY KEY (...) NOT ENFORCED");
  }
  FlushOptions options;
  options.closed_rows = context.closed_rows;
  options.batch_rows = rows;
  options.lane = stores.lane;
  options.events = context.events;
  return make_flush_sink(writer_spec(context, stored_name(context)), stores.flush(), context.env, options);
}

}  // namespace strand::connect::table
