#include "connect/table/writer.h"

#include <algorithm>

namespace strand::connect::table {

columnar::SchemaPtr row_schema(const WriterSpec& spec) {
  std::vector<columnar::Field> fields = spec.key->fields();
  fields.insert(fields.end(), spec.values->fields().begin(), spec.values->fields().end());
  return std::make_shared<columnar::Schema>(std::move(fields));
}

WriterSpec writer_spec(const TableContext& context, std::string table) {
  WriterSpec spec{context.job, std::move(table), context.writer, context.table_schema, {}, {}, true};
  const auto in_key = [&](const std::string& name) {
    return std::find(context.primary_key.begin(), context.primary_key.end(), name) !=
           context.primary_key.end();
  };
  std::vector<columnar::Field> key, values;
  for (const std::string& name : context.primary_key)
    key.push_back((*context.schema)[*context.schema->find(name)]);
  for (const columnar::Field& field : context.schema->fields()) {
    if (!in_key(field.name)) values.push_back(field);
  }
  spec.owns_rows =
      context.closed_rows || context.provisional || context.schema->size() == context.table_schema->size();
  spec.key = std::make_shared<columnar::Schema>(std::move(key));
  spec.values = std::make_shared<columnar::Schema>(std::move(values));
  return spec;
}

}  // namespace strand::connect::table
