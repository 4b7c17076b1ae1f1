#include "connect/file/partitions.h"

#include <algorithm>
#include <charconv>

#include "expr/compile.h"

namespace strand::connect::file {

using columnar::Batch;
using columnar::TypeKind;

namespace {

constexpr const char* kDefaultName = "__DEFAULT_PARTITION__";
constexpr size_t kDateTextSize = 10;

/// Source: Flink PartitionPathUtils.
bool needs_escape(char c) {
  return (c > 0 && c < ' ') || c == 0x7F ||
         std::string_view("\"#%'*/:=?\\{[]^").find(c) != std::string_view::npos;
}

std::string escaped(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (needs_escape(c)) {
      out += '%';
      out += kDigits[(c >> 4) & 15];
      out += kDigits[c & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    const bool whole = text[i] == '%' && i + 2 < text.size();
    if (whole && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool fits_a_name(const columnar::Type& type) {
  switch (type.kind) {
    case TypeKind::kString:
    case TypeKind::kBoolean:
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDate:
    case TypeKind::kTimestamp:
      return true;
    default:
      return false;
  }
}

columnar::SchemaPtr without(const columnar::Schema& schema, const std::vector<std::string>& names) {
  std::vector<columnar::Field> fields;
  for (const columnar::Field& field : schema.fields()) {
    if (std::ranges::find(names, field.name) == names.end()) fields.push_back(field);
  }
  return std::make_shared<columnar::Schema>(std::move(fields));
}

}  // namespace

std::string partition_path(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  std::string path;
  for (size_t i = 0; i < keys.size(); ++i)
    path += (i == 0 ? "" : "/") + escaped(keys[i]) + "=" + escaped(values[i]);
  return path;
}

std::optional<std::vector<std::string>> partition_values(std::string_view path,
                                                         const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const std::string_view folder = path.substr(0, slash);
    const size_t equals = folder.find('=');
    if (equals == std::string_view::npos || unescaped(folder.substr(0, equals)) != key) return std::nullopt;
    values.push_back(unescaped(folder.substr(equals + 1)));
    path.remove_prefix(slash + 1);
  }
  return values;
}

Result<Partitions> Partitions::make(const TableContext& table) {
  Partitions made;
  made.table_ = table.table;
  made.keys_ = table.partitions;
  made.schema_ = table.schema;
  made.wants_ = table.wants_partition;
  const auto name = table.options.find("partition.default-name");
  made.default_name_ = name == table.options.end() ? kDefaultName : name->second;
  const columnar::Schema& all = table.table_schema ? *table.table_schema : *table.schema;
  std::vector<columnar::Field> key_fields;
  for (const std::string& key : made.keys_) {
    const columnar::Field& field = all[*all.find(key)];
    if (!fits_a_name(*field.type)) {
      return Status(ErrorCode::kUnsupportedSql, "column '" + key + "' of " + table.table + " is " +
                                                    columnar::to_string(*field.type) +
                                                    ", which cannot stand in the name of a folder")
          .hint("partition by a text, a number, a BOOLEAN, a DATE or a TIMESTAMP");
    }
    key_fields.push_back({key, columnar::with_nullable(field.type, true)});
    made.key_columns_.push_back(table.schema->find(key));
  }
  made.key_schema_ = std::make_shared<columnar::Schema>(std::move(key_fields));
  made.in_files_ = without(*table.schema, made.keys_);
  made.table_in_files_ = without(all, made.keys_);
  size_t in_file = 0;
  for (const columnar::Field& field : table.schema->fields()) {
    const auto key = std::ranges::find(made.keys_, field.name);
    if (key == made.keys_.end())
      made.origins_.push_back({false, in_file++});
    else
      made.origins_.push_back({true, static_cast<size_t>(key - made.keys_.begin())});
  }
  return made;
}

/// The values of folders in the types of their columns: one row.
Result<Batch> Partitions::typed(const std::vector<std::string>& values) const {
  std::vector<columnar::ColumnPtr> columns;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const columnar::TypePtr text = columnar::make_type(TypeKind::kString);
    const columnar::TypePtr& type = key_schema_->fields()[i].type;
    std::string value = values[i];
    // Flink reads and writes ISO's form of a time.
    if (type->kind == TypeKind::kTimestamp && value.size() > kDateTextSize && value[kDateTextSize] == 'T')
      value[kDateTextSize] = ' ';
    columnar::ColumnBuilder builder(text);
    values[i] == default_name_ ? builder.append_null() : builder.append_string(value);
    const Batch row(std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{keys_[i], text}}),
                    {builder.finish()}, 1);
    STRAND_TRY(const expr::ExprPtr cast, expr::resolve_cast(expr::column(0, text), type));
    STRAND_TRY(const auto evaluator, expr::compile(cast, {}));
    STRAND_TRY(columnar::ColumnPtr column, evaluator->eval(row, {}));
    columns.push_back(std::move(column));
  }
  return Batch(key_schema_, std::move(columns), 1);
}

Result<const Partitions::Folder*> Partitions::folder_of(const std::string& shard) {
  const std::string folders = shard.substr(0, shard.rfind('/') + 1);
  const auto known = seen_.find(folders);
  if (known != seen_.end()) return known->second ? &*known->second : nullptr;
  std::optional<Folder> folder;
  if (const auto values = partition_values(folders, keys_)) {
    Result<Batch> row = typed(*values);
    if (!row.ok()) {
      return Status(ErrorCode::kBadValue,
                    "the name of the folder has no value of its column: " + row.status().message())
          .at(table_ + "/" + folders)
          .hint("rename the folder, or move it out of the table's");
    }
    folder = Folder{*std::move(row), true};
    if (wants_) {
      STRAND_TRY(folder->wanted, wants_(folder->values));
    }
  }
  const auto& kept = seen_.emplace(folders, std::move(folder)).first->second;
  return kept ? &*kept : nullptr;
}

Result<bool> Partitions::wants(const std::string& shard) {
  if (!any()) return true;
  STRAND_TRY(const Folder* folder, folder_of(shard));
  return folder != nullptr && folder->wanted;
}

Result<Batch> Partitions::with_folders(const std::string& shard, const Batch& rows) {
  if (!any()) return rows;
  STRAND_TRY(const Folder* folder, folder_of(shard));
  STRAND_CHECK(folder != nullptr);
  const std::vector<uint32_t> first(static_cast<size_t>(rows.physical_rows()), 0);
  std::vector<columnar::ColumnPtr> columns;
  for (const Origin& origin : origins_) {
    columns.push_back(origin.in_folder ? columnar::gather(folder->values.column(origin.column), first)
                                       : rows.column_ptr(origin.column));
  }
  return rows.with_columns(schema_, std::move(columns));
}

std::string Partitions::folder_name(const Batch& rows, int64_t row) const {
  std::vector<std::string> values;
  for (const std::optional<size_t>& column : key_columns_) {
    std::string value;
    if (column && !rows.column(*column).is_null(row))
      value = columnar::value_to_string(rows.column(*column), row);
    const bool is_time = column && rows.column(*column).type()->kind == TypeKind::kTimestamp;
    if (is_time && value.size() > kDateTextSize) value[kDateTextSize] = 'T';
    values.push_back(value.empty() ? default_name_ : std::move(value));
  }
  return partition_path(keys_, values);
}

std::vector<std::pair<std::string, Batch>> Partitions::split(const Batch& rows) const {
  if (!any()) return {{"", rows}};
  std::vector<size_t> written;
  for (const std::optional<size_t>& column : key_columns_) {
    if (column) written.push_back(*column);
  }
  std::vector<columnar::ColumnPtr> columns;
  for (size_t i = 0; i < origins_.size(); ++i) {
    if (!origins_[i].in_folder) columns.push_back(rows.column_ptr(i));
  }
  const Batch in_files = rows.with_columns(in_files_, std::move(columns));
  std::map<std::string, std::string> names;  // by the bytes of the key
  std::map<std::string, columnar::Selection> parts;
  std::string key;
  rows.for_each_row([&](int64_t row) {
    key.clear();
    columnar::encode_key(rows, written, row, key);
    std::string& name = names[key];
    if (name.empty()) name = folder_name(rows, row);
    parts[name].push_back(static_cast<uint32_t>(row));
  });
  std::vector<std::pair<std::string, Batch>> split;
  for (auto& [name, selection] : parts)
    split.emplace_back(name,
                       in_files.with_selection(std::make_shared<columnar::Selection>(std::move(selection))));
  return split;
}

}  // namespace strand::connect::file
