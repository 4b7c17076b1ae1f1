#include "flow/source.h"

namespace strand::flow {

columnar::SchemaPtr bad_schema() {
  using columnar::Field;
  using columnar::TypeKind;
  static const auto schema = std::make_shared<const columnar::Schema>(std::vector<Field>{
      {"shard", columnar::make_type(TypeKind::kString)},
      {"shard_position", columnar::make_type(TypeKind::kBigInt)},
      {"payload", columnar::make_type(TypeKind::kBytes)},
      {"reason", columnar::make_type(TypeKind::kString)},
      {"read_at", columnar::timestamp_type(3, /*ltz=*/true)},
  });
  return schema;
}

}  // namespace strand::flow
