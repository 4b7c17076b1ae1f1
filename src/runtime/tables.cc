#include "runtime/tables.h"

#include <algorithm>

#include "expr/compile.h"

namespace strand::runtime {

namespace {

template <class Made>
Result<Made> at_table(Result<Made> made, const plan::TableSpec& table) {
  if (made.ok()) return made;
  return std::move(made).status().at("table " + table.name);
}

/// Whether the condition holds for a partition. Of the clock it knows nothing.
connect::WantsPartition wants_partition(const plan::ExprPtr& wanted, const TableHost& host) {
  return [wanted, zone = host.zone](const columnar::Batch& values) -> Result<bool> {
    STRAND_TRY(const auto evaluator, expr::compile(wanted, {zone}));
    STRAND_TRY(const columnar::SelectionPtr rows, evaluator->select(values, {}));
    return rows == nullptr || !rows->empty();
  };
}

template <class Made>
Status outcome(const Result<Made>& made) {
  return made.ok() ? Status() : made.status();
}

}  // namespace

connect::TableContext Tables::context(const plan::TableSpec& table) const {
  connect::TableContext out;
  out.job = host_.job;
  out.table = table.name;
  out.schema = table.schema;
  out.options = table.options;
  out.primary_key = table.primary_key;
  out.table_schema = table.schema;
  out.partitions = table.partitions;
  out.zone = host_.zone;
  out.env = host_.env;
  out.events = host_.events;
  out.memory = host_.memory;
  return out;
}

connect::TableContext Tables::context(const plan::Scan& scan, bool want_bad) const {
  connect::TableContext out = context(scan.table);
  std::vector<columnar::Field> fields;
  for (const size_t column : scan.read) {
    const size_t physical = scan.table.schema->size();
    if (column < physical) {
      fields.push_back((*scan.table.schema)[column]);
      continue;
    }
    const plan::MetadataColumn& metadata = scan.table.metadata[column - physical];
    out.metadata[fields.size()] = metadata.key;
    fields.push_back({metadata.name, metadata.type});
  }
  out.schema = std::make_shared<columnar::Schema>(std::move(fields));
  out.want_bad = want_bad;
  if (scan.wanted) out.wants_partition = wants_partition(scan.wanted, host_);
  return out;
}

connect::TableContext Tables::context(const plan::SinkWrite& write) const {
  connect::TableContext out = context(write.table);
  std::vector<columnar::Field> fields;
  for (const std::string& name : write.columns) {
    if (const auto physical = write.table.schema->find(name)) {
      fields.push_back((*write.table.schema)[*physical]);
      continue;
    }
    const auto metadata = std::ranges::find(write.table.metadata, name, &plan::MetadataColumn::name);
    STRAND_CHECK(metadata != write.table.metadata.end());
    out.metadata[fields.size()] = metadata->key;
    fields.push_back({name, metadata->type});
  }
  out.schema = std::make_shared<columnar::Schema>(std::move(fields));
  out.writer = write.writer;
  out.closed_rows = write.closed_rows;
  out.provisional = write.provisional;
  return out;
}

connect::TableContext Tables::context(const plan::LookupJoin& join) const {
  connect::TableContext out = context(join.table);
  std::vector<columnar::Field> fields;
  for (const size_t column : join.read) fields.push_back((*join.table.schema)[column]);
  out.schema = std::make_shared<columnar::Schema>(std::move(fields));
  out.lookup_keys = join.key_columns;
  return out;
}

Result<std::unique_ptr<flow::ShardFinder>> Tables::finder(const plan::Scan& scan, bool want_bad) const {
  STRAND_TRY(const connect::Connector* connector,
             at_table(registry_.find(scan.table.options, connect::TableUse::kRead), scan.table));
  return at_table(connector->finder(context(scan, want_bad)), scan.table);
}

Result<std::unique_ptr<flow::SourceReader>> Tables::reader(const plan::Scan& scan, bool want_bad) const {
  STRAND_TRY(const connect::Connector* connector,
             at_table(registry_.find(scan.table.options, connect::TableUse::kRead), scan.table));
  return at_table(connector->reader(context(scan, want_bad)), scan.table);
}

Result<std::unique_ptr<flow::Sink>> Tables::sink(const plan::SinkWrite& write) const {
  STRAND_TRY(const connect::Connector* connector,
             at_table(registry_.find(write.table.options, connect::TableUse::kWrite), write.table));
  return at_table(connector->sink(context(write)), write.table);
}

Result<std::unique_ptr<flow::Lookup>> Tables::lookup(const plan::LookupJoin& join) const {
  STRAND_TRY(const connect::Connector* connector,
             at_table(registry_.find(join.table.options, connect::TableUse::kLookup), join.table));
  return at_table(connector->lookup(context(join)), join.table);
}

bool Tables::can_look_up(const plan::TableSpec& table) const {
  const auto connector = registry_.find(table.options, connect::TableUse::kLookup);
  return connector.ok() && (!(*connector)->looks_up || (*connector)->looks_up(table.options));
}

Status Tables::check_lookup(const plan::LookupJoin& join) const { return outcome(lookup(join)); }

Status Tables::check_read(const plan::TableSpec& table) const {
  STRAND_TRY(const connect::Connector* connector, registry_.find(table.options, connect::TableUse::kRead));
  const connect::TableContext told = context(table);
  STRAND_OK(outcome(connector->finder(told)));
  return outcome(connector->reader(told));
}

std::vector<columnar::Field> Tables::metadata(const plan::TableSpec& table) const {
  const auto connector = registry_.find(table.options, connect::TableUse::kRead);
  return connector.ok() && (*connector)->metadata ? (*connector)->metadata(table.options)
                                                  : std::vector<columnar::Field>();
}

std::vector<columnar::Field> Tables::written_metadata(const plan::TableSpec& table) const {
  const auto connector = registry_.find(table.options, connect::TableUse::kWrite);
  return connector.ok() ? (*connector)->written_metadata : std::vector<columnar::Field>();
}

Status Tables::check_write(const plan::SinkWrite& write) const {
  STRAND_TRY(const connect::Connector* connector,
             registry_.find(write.table.options, connect::TableUse::kWrite));
  return outcome(connector->sink(context(write)));
}

}  // namespace strand::runtime
