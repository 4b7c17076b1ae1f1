#include "codec/change_json.h"

#include <algorithm>

namespace strand::codec {

namespace {

using columnar::Batch;
using columnar::Column;
using columnar::RowKind;

// Columns of the envelope: debezium has the row before and after; the others the rows (canal: a list) and
// what of them was otherwise before.
constexpr size_t kFirst = 0;
constexpr size_t kSecond = 1;
constexpr size_t kOperation = 2;

constexpr const char* kNoOldRow =
    "an update without the row before it; Postgres sends it with REPLICA IDENTITY FULL";

/// A row inside a column: null pointer, it is missing.
struct RowRef {
  const Column* row = nullptr;
  int64_t at = 0;
};

class ChangeDecoder final : public RecordDecoder {
 public:
  ChangeDecoder(ChangeFormat format, columnar::SchemaPtr read, std::unique_ptr<RecordDecoder> envelope)
      : format_(format),
        read_(std::move(read)),
        envelope_(std::move(envelope)),
        records_(envelope_schema(format, *read_), 1) {}

  Result<size_t> decode(std::string_view lines, uint64_t position, DecodeOutput& out) override {
    size_t used = 0;
    while (used < lines.size() && !out.full()) {
      const size_t end = std::min(lines.find('\n', used), lines.size() - 1) + 1;
      std::string_view line = lines.substr(used, end - used);
      STRAND_OK(record(line, position + used, out));
      used = end;
    }
    return used;
  }

 private:
  Status record(std::string_view line, uint64_t position, DecodeOutput& out) {
    STRAND_TRY(const size_t used, envelope_->decode(line, position, records_));
    STRAND_CHECK(used == line.size());
    for (BadRecord& bad : records_.take_bad()) out.add_bad(bad.position, bad.payload, std::move(bad.reason));
    const Batch batch = records_.take_rows();
    if (batch.rows() == 0) return Status();
    const std::string problem = changes(batch, out);
    while (line.ends_with('\n')) line.remove_suffix(1);
    if (!problem.empty()) out.add_bad(position, line, problem);
    return Status();
  }

  /// Empty, or why the record says no change.
  std::string changes(const Batch& batch, DecodeOutput& out) {
    const Column& operation = batch.column(kOperation);
    std::string name(operation.is_null(0) ? std::string_view() : operation.string(0));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (format_ == ChangeFormat::kDebezium) return debezium(batch, name, out);
    if (name == "create" && format_ == ChangeFormat::kCanal) return "";  // of a table
    const std::vector<RowRef> rows = refs(batch.column(kFirst));
    if (rows.empty()) return "there is no 'data'";
    if (name == "update") return updates(rows, refs(batch.column(kSecond)), out);
    if (name != "insert" && name != "delete")
      return "expected type insert, update or delete, found '" + name + "'";
    for (const RowRef& row : rows) add(row, {}, name == "insert" ? RowKind::kInsert : RowKind::kDelete, out);
    return "";
  }

  std::string debezium(const Batch& batch, const std::string& name, DecodeOutput& out) {
    const std::vector<RowRef> before = refs(batch.column(kFirst));
    const std::vector<RowRef> after = refs(batch.column(kSecond));
    const bool creates = name == "c" || name == "r";
    if (!creates && name != "u" && name != "d") return "expected op c, r, u or d, found '" + name + "'";
    if (!creates && before.empty()) return name == "u" ? kNoOldRow : "a deletion without the row before it";
    if (name != "d" && after.empty()) return "there is no row in 'after'";
    if (name == "u") add(before[0], {}, RowKind::kUpdateBefore, out);
    if (name != "d") add(after[0], {}, creates ? RowKind::kInsert : RowKind::kUpdateAfter, out);
    if (name == "d") add(before[0], {}, RowKind::kDelete, out);
    return "";
  }

  std::string updates(const std::vector<RowRef>& rows, const std::vector<RowRef>& old, DecodeOutput& out) {
    if (old.size() != rows.size()) return "an update without what was there before it: 'old'";
    for (size_t i = 0; i < rows.size(); ++i) {
      add(old[i], rows[i], RowKind::kUpdateBefore, out);
      add(rows[i], {}, RowKind::kUpdateAfter, out);
    }
    return "";
  }

  /// The rows of a ROW or ARRAY<ROW> column that are there.
  static std::vector<RowRef> refs(const Column& column) {
    std::vector<RowRef> rows;
    if (column.is_null(0)) return rows;
    if (column.type()->kind == columnar::TypeKind::kRow) return {{&column, 0}};
    for (int32_t i = column.offsets()[0]; i < column.offsets()[1]; ++i)
      rows.push_back({column.child(0).get(), i});
    return rows;
  }

  /// Values that `row` lacks come from `otherwise`.
  void add(const RowRef& row, const RowRef& otherwise, RowKind kind, DecodeOutput& out) const {
    for (size_t i = 0; i < read_->size(); ++i) {
      const bool lacking = row.row->is_null(row.at) || row.row->child(i)->is_null(row.at);
      const RowRef& from = lacking && otherwise.row != nullptr ? otherwise : row;
      if (from.row->is_null(from.at)) {
        out.rows().column(i).append_null();
      } else {
        out.rows().column(i).append_from(*from.row->child(i), from.at);
      }
    }
    out.rows().end_row(kind);
  }

  ChangeFormat format_;
  columnar::SchemaPtr read_;
  std::unique_ptr<RecordDecoder> envelope_;
  DecodeOutput records_;
};

class ChangeEncoder final : public RecordEncoder {
 public:
  ChangeEncoder(ChangeFormat format, std::unique_ptr<RecordEncoder> rows)
      : format_(format), rows_(std::move(rows)) {}

  Status encode(const Batch& batch, std::string& out) override {
    const Batch dense = batch.compact();
    for (int64_t row = 0; row < dense.rows(); ++row) {
      std::string text;
      STRAND_OK(rows_->encode(dense.slice(row, 1), text));
      if (text.ends_with('\n')) text.pop_back();
      const RowKind kind = dense.kind(row);
      wrap(text, kind == RowKind::kInsert || kind == RowKind::kUpdateAfter, out);
    }
    return Status();
  }

 private:
  void wrap(const std::string& row, bool created, std::string& out) const {
    switch (format_) {
      case ChangeFormat::kDebezium:
        out += created ? "{\"before\":null,\"after\":" + row + ",\"op\":\"c\"}\n"
                       : "{\"before\":" + row + ",\"after\":null,\"op\":\"d\"}\n";
        break;
      case ChangeFormat::kCanal:
        out += "{\"data\":[" + row + "],\"type\":\"" + (created ? "INSERT" : "DELETE") + "\"}\n";
        break;
      case ChangeFormat::kMaxwell:
        out += "{\"data\":" + row + ",\"type\":\"" + (created ? "insert" : "delete") + "\"}\n";
        break;
    }
  }

  ChangeFormat format_;
  std::unique_ptr<RecordEncoder> rows_;
};

}  // namespace

columnar::SchemaPtr envelope_schema(ChangeFormat format, const columnar::Schema& read) {
  std::vector<columnar::Field> fields;
  for (const columnar::Field& field : read.fields()) {
    fields.push_back({field.name, columnar::with_nullable(field.type, true)});
  }
  columnar::TypePtr row = columnar::row_type(std::move(fields));
  if (format == ChangeFormat::kCanal) row = columnar::array_type(std::move(row));
  const columnar::TypePtr text = columnar::make_type(columnar::TypeKind::kString);
  const bool debezium = format == ChangeFormat::kDebezium;
  return std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{debezium ? "before" : "data", row},
                                                                         {debezium ? "after" : "old", row},
                                                                         {debezium ? "op" : "type", text}});
}

std::unique_ptr<RecordDecoder> make_change_decoder(ChangeFormat format, columnar::SchemaPtr read,
                                                   std::unique_ptr<RecordDecoder> envelope) {
  return std::make_unique<ChangeDecoder>(format, std::move(read), std::move(envelope));
}

std::unique_ptr<RecordEncoder> make_change_encoder(ChangeFormat format, std::unique_ptr<RecordEncoder> rows) {
  return std::make_unique<ChangeEncoder>(format, std::move(rows));
}

}  // namespace strand::codec
