#include "connect/table/writer.h"

namespace strand::connect::table {

columnar::SchemaPtr row_schema(const WriterSpec& spec) {
  std::vector<columnar::Field> fields = spec.key->fields();
  fields.insert(fields.end(), spec.values->fields().begin(), spec.values->fields().end());
  return std::make_shared<columnar::Schema>(std::move(fields));
}

}  // namespace strand::connect::table
