#include "codec/change_json.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

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

/// Where metadata stands in a record.
struct MetadataPlace {
  ChangeFormat format;
  std::string_view key;
  std::string_view member;  // of the record
  std::string_view entry;   // of that member, where it is an object and a part of it is wanted
  columnar::TypePtr type;   // of the metadata; a TIMESTAMP_LTZ stands there as milliseconds
};

const std::vector<MetadataPlace>& metadata_places() {
  using enum ChangeFormat;
  const auto text = columnar::make_type(columnar::TypeKind::kString);
  const auto key = columnar::make_type(columnar::TypeKind::kString, false);
  const auto time = columnar::timestamp_type(3, /*ltz=*/true);
  const auto whole = columnar::make_type(columnar::TypeKind::kInt);
  static const std::vector<MetadataPlace> kPlaces = {
      {kDebezium, "ingestion-timestamp", "ts_ms", "", time},
      {kDebezium, "source.timestamp", "source", "ts_ms", time},
      {kDebezium, "source.database", "source", "db", text},
      {kDebezium, "source.schema", "source", "schema", text},
      {kDebezium, "source.table", "source", "table", text},
      {kDebezium, "source.properties", "source", "", columnar::map_type(key, text)},
      {kCanal, "database", "database", "", text},
      {kCanal, "table", "table", "", text},
      {kCanal, "sql-type", "sqlType", "", columnar::map_type(key, whole)},
      {kCanal, "pk-names", "pkNames", "", columnar::array_type(text)},
      {kCanal, "ingestion-timestamp", "ts", "", time},
      {kCanal, "event-timestamp", "es", "", time},
      {kMaxwell, "database", "database", "", text},
      {kMaxwell, "table", "table", "", text},
      {kMaxwell, "primary-key-columns", "primary_key_columns", "", columnar::array_type(text)},
      {kMaxwell, "ingestion-timestamp", "ts", "", time},
  };
  return kPlaces;
}

const MetadataPlace& metadata_place(ChangeFormat format, const std::string& key) {
  return *std::ranges::find_if(metadata_places(), [&](const MetadataPlace& place) {
    return place.format == format && place.key == key;
  });
}

/// The type of the member that it stands in.
columnar::TypePtr member_type(const MetadataPlace& place) {
  const auto text = columnar::make_type(columnar::TypeKind::kString);
  if (!place.entry.empty()) return columnar::map_type(columnar::with_nullable(text, false), text);
  return place.type->kind == columnar::TypeKind::kTimestampLtz
             ? columnar::make_type(columnar::TypeKind::kBigInt)
             : place.type;
}

/// Appends the metadata of the one record in a batch.
void append_metadata(const MetadataPlace& place, const Column& member, columnar::ColumnBuilder& out) {
  if (member.is_null(0)) return out.append_null();
  const bool time = place.type->kind == columnar::TypeKind::kTimestampLtz;
  if (place.entry.empty()) return time ? out.append(member.values<int64_t>()[0]) : out.append_from(member, 0);
  for (int32_t i = member.offsets()[0]; i < member.offsets()[1]; ++i) {
    const Column& values = *member.child(1);
    if (member.child(0)->string(i) != place.entry || values.is_null(i)) continue;
    if (!time) return out.append_string(values.string(i));
    const std::string_view text = values.string(i);
    int64_t millis = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), millis).ec != std::errc()) break;
    return out.append(millis);
  }
  out.append_null();
}

class ChangeDecoder final : public RecordDecoder {
 public:
  ChangeDecoder(ChangeFormat format, const columnar::SchemaPtr& read, const MetadataKeys& metadata,
                std::unique_ptr<RecordDecoder> envelope, std::unique_ptr<RecordDecoder> old)
      : format_(format),
        envelope_(std::move(envelope)),
        records_(envelope_schema(format, *read, metadata), 1),
        old_(std::move(old)),
        old_records_(old_schema(format), 1) {
    const columnar::SchemaPtr schema = envelope_schema(format, *read, metadata);
    for (size_t i = 0; i < read->size(); ++i) {
      const auto key = metadata.find(i);
      if (key == metadata.end()) {
        columns_.push_back(i);
        names_.push_back((*read)[i].name);
        continue;
      }
      const MetadataPlace& place = metadata_place(format, key->second);
      metadata_.push_back({i, *schema->find(std::string(place.member)), &place});
    }
  }

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
    STRAND_OK(read_old_nulls(line, position));
    const std::string problem = changes(batch, out);
    while (line.ends_with('\n')) line.remove_suffix(1);
    if (!problem.empty()) out.add_bad(position, line, problem);
    return Status();
  }

  /// Notes which columns `old` says to have been NULL. Few records have a null in it.
  Status read_old_nulls(std::string_view line, uint64_t position) {
    old_nulls_.clear();
    if (format_ == ChangeFormat::kDebezium || line.find("null") == std::string_view::npos) return Status();
    STRAND_TRY(const size_t used, old_->decode(line, position, old_records_));
    STRAND_CHECK(used == line.size());
    old_records_.take_bad();
    const Batch batch = old_records_.take_rows();
    if (batch.rows() == 0) return Status();
    const std::vector<RowRef> rows = refs(batch.column(0));
    for (size_t i = 0; i < rows.size(); ++i) {
      const Column& map = *rows[i].row;
      if (map.is_null(rows[i].at)) continue;
      for (int32_t at = map.offsets()[rows[i].at]; at < map.offsets()[rows[i].at + 1]; ++at) {
        if (map.child(1)->is_null(at)) old_nulls_.emplace(i, map.child(0)->string(at));
      }
    }
    return Status();
  }

  /// Empty, or why the record says no change.
  std::string changes(const Batch& batch, DecodeOutput& out) {
    record_ = &batch;
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
      add(old[i], {&rows[i], i}, RowKind::kUpdateBefore, out);
      add(rows[i], {}, RowKind::kUpdateAfter, out);
    }
    return "";
  }

  /// The rows of a ROW or MAP column, or of an ARRAY of them, that are there.
  static std::vector<RowRef> refs(const Column& column) {
    std::vector<RowRef> rows;
    if (column.is_null(0)) return rows;
    if (column.type()->kind != columnar::TypeKind::kArray) return {{&column, 0}};
    for (int32_t i = column.offsets()[0]; i < column.offsets()[1]; ++i)
      rows.push_back({column.child(0).get(), i});
    return rows;
  }

  /// The row that has what an old row lacks, and which of the record's rows it is.
  struct Newer {
    const RowRef* row = nullptr;
    size_t number = 0;
  };
  /// Values that `row` lacks come from `newer`; one that it has as NULL does not.
  void add(const RowRef& row, const Newer& newer, RowKind kind, DecodeOutput& out) const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      columnar::ColumnBuilder& to = out.rows().column(columns_[i]);
      const bool null = row.row->is_null(row.at) || row.row->child(i)->is_null(row.at);
      const bool lacking = null && newer.row != nullptr && !old_nulls_.contains({newer.number, names_[i]});
      const RowRef& from = lacking ? *newer.row : row;
      if (from.row->is_null(from.at)) {
        to.append_null();
      } else {
        to.append_from(*from.row->child(i), from.at);
      }
    }
    for (const Metadata& each : metadata_)
      append_metadata(*each.place, record_->column(each.member), out.rows().column(each.column));
    out.rows().end_row(kind);
  }

  struct Metadata {
    size_t column;  // of the rows
    size_t member;  // of the envelope
    const MetadataPlace* place;
  };

  ChangeFormat format_;
  std::vector<size_t> columns_;  // where the columns of the record stand
  std::vector<std::string> names_;
  std::vector<Metadata> metadata_;
  const Batch* record_ = nullptr;  // at hand
  std::unique_ptr<RecordDecoder> envelope_;
  DecodeOutput records_;
  std::unique_ptr<RecordDecoder> old_;
  DecodeOutput old_records_;
  std::set<std::pair<size_t, std::string>>
      old_nulls_;  // of the record at hand: which of its rows, and the column
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

std::vector<columnar::Field> change_metadata(ChangeFormat format) {
  std::vector<columnar::Field> fields;
  for (const MetadataPlace& place : metadata_places()) {
    if (place.format == format) fields.push_back({std::string(place.key), place.type});
  }
  return fields;
}

columnar::SchemaPtr envelope_schema(ChangeFormat format, const columnar::Schema& read,
                                    const MetadataKeys& metadata) {
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!metadata.contains(i)) fields.push_back({read[i].name, columnar::with_nullable(read[i].type, true)});
  }
  columnar::TypePtr row = columnar::row_type(std::move(fields));
  if (format == ChangeFormat::kCanal) row = columnar::array_type(std::move(row));
  const columnar::TypePtr text = columnar::make_type(columnar::TypeKind::kString);
  const bool debezium = format == ChangeFormat::kDebezium;
  std::vector<columnar::Field> members = {{debezium ? "before" : "data", row},
                                          {debezium ? "after" : "old", row},
                                          {debezium ? "op" : "type", text}};
  for (const auto& [position, key] : metadata) {
    const MetadataPlace& place = metadata_place(format, key);
    const auto same = [&](const columnar::Field& field) { return field.name == place.member; };
    if (std::ranges::none_of(members, same))
      members.push_back({std::string(place.member), member_type(place)});
  }
  return std::make_shared<columnar::Schema>(std::move(members));
}

columnar::SchemaPtr old_schema(ChangeFormat format) {
  const columnar::TypePtr text = columnar::make_type(columnar::TypeKind::kString);
  columnar::TypePtr old = columnar::map_type(columnar::with_nullable(text, false), text);
  if (format == ChangeFormat::kCanal) old = columnar::array_type(std::move(old));
  return std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{"old", std::move(old)}});
}

std::unique_ptr<RecordDecoder> make_change_decoder(ChangeFormat format, columnar::SchemaPtr read,
                                                   const MetadataKeys& metadata,
                                                   std::unique_ptr<RecordDecoder> envelope,
                                                   std::unique_ptr<RecordDecoder> old) {
  return std::make_unique<ChangeDecoder>(format, read, metadata, std::move(envelope), std::move(old));
}

std::unique_ptr<RecordEncoder> make_change_encoder(ChangeFormat format, std::unique_ptr<RecordEncoder> rows) {
  return std::make_unique<ChangeEncoder>(format, std::move(rows));
}

}  // namespace strand::codec
