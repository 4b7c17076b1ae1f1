#include "connect/valkey/connector.h"

#include "base/hash.h"
#include "connect/table/table_sink.h"
#include "connect/valkey/flush_store.h"
#include "connect/valkey/lookup.h"

namespace strand::connect::valkey {

namespace {

bool is_plain(const columnar::Type& type) {
  switch (type.kind) {
    case columnar::TypeKind::kNull:
    case columnar::TypeKind::kArray:
    case columnar::TypeKind::kMap:
    case columnar::TypeKind::kRow:
      return false;
    default:
      return true;
  }
}

Status check_types(const TableContext& context) {
  for (const columnar::Field& field : context.schema->fields()) {
    if (is_plain(*field.type)) continue;
    return Status(ErrorCode::kSinkSchema, "values of " + columnar::to_string(*field.type) + " (column " +
                                              field.name + ") do not lie in Valkey")
        .hint("write it as JSON_STRING(...), or leave the column out");
  }
  return Status();
}

Result<std::unique_ptr<flow::Sink>> make_valkey_sink(const TableContext& context) {
  STRAND_TRY(const ValkeyOptions options, valkey_options(context));
  STRAND_OK(check_types(context));
  // One lane: the server runs one script after the other anyway.
  return table::make_table_sink(
      context, {[options] { return make_flush_store(options); }, {}, hash64("valkey:" + options.where())});
}

Result<std::unique_ptr<flow::Lookup>> make_valkey_table(const TableContext& context) {
  STRAND_TRY(ValkeyOptions options, valkey_options(context));
  STRAND_OK(check_types(context));
  return make_valkey_lookup(context, std::move(options), table::stored_name(context));
}

}  // namespace

void add_valkey_connectors(Registry& registry) {
  Connector made;
  made.sink = make_valkey_sink;
  made.lookup = make_valkey_table;
  made.sink_options = {"url",
                       "table-name",
                       "username",
                       "password",
                       "sink.mode",
                       "sink.buffer-flush.max-rows",
                       "connection.max-retry-timeout",
                       "strand.request-timeout",
                       "strand.durability"};
  made.parallel_sink = true;
  registry.add("redis", made);
  registry.add("valkey", std::move(made));
}

}  // namespace strand::connect::valkey
