// Rows that were kept, on their way out.
#pragma once

#include <string_view>
#include <vector>

#include "ops/keyed_row_bytes.h"
#include "ops/rows.h"

namespace strand::ops {

/// Emits rows of which an operator has the bytes; columns behind theirs are the operator's own. Lives for one
/// call of it.
struct KeptOutput {
  KeptOutput(const columnar::SchemaPtr& output, const KeyedRowBytes& form, flow::Emitter& out, Port port)
      : rows(output, out, port), parts(form.parts(rows.row())) {}
  void append(std::string_view row) { columnar::decode_key_parts(row, parts); }
  Status put(std::string_view row, columnar::RowKind kind = columnar::RowKind::kInsert) {
    append(row);
    return rows.end_row(kind);
  }
  RowEmitter rows;
  std::vector<columnar::KeyPart> parts;
};

}  // namespace strand::ops
