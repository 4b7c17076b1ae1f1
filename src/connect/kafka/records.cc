#include "connect/kafka/records.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "codec/format_metadata.h"

namespace strand::connect::kafka {

using columnar::Batch;
using columnar::Field;
using columnar::TypeKind;

namespace {

std::string_view side_of(const rd_kafka_message_t& message, bool key, bool& null) {
  const void* bytes = key ? message.key : message.payload;
  null = bytes == nullptr;
  return {static_cast<const char*>(bytes), key ? message.key_len : message.len};
}

/// Appends a record as one line. A line break inside of it can only be space or an error; '\r' is the same.
void append_line(std::string_view record, std::string& text) {
  const size_t start = text.size();
  text.append(record);
  if (std::memchr(record.data(), '\n', record.size()) != nullptr) {
    std::replace(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), '\n', '\r');
  }
  // An empty line would be no record; one of a space is one that does not parse.
  if (record.size() <= 1 && (record.empty() || text.back() == '\r')) {
    text.resize(start);
    text += ' ';
  }
  text += '\n';
}

bool is_json(const std::string& format) { return format == "json"; }

void append_headers(const rd_kafka_message_t& message, columnar::ColumnBuilder& out) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == 0; ++i) {
      out.child(0).append_string(name);
      out.child(1).append_string({static_cast<const char*>(value), size});
    }
  }
  out.close_nested();
}

const char* timestamp_type_name(rd_kafka_timestamp_type_t type) {
  if (type == RD_KAFKA_TIMESTAMP_CREATE_TIME) return "CreateTime";
  return type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? "LogAppendTime" : "NoTimestampType";
}

void append_metadata(const std::string& key, const rd_kafka_message_t& message,
                     columnar::ColumnBuilder& out) {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  if (key == "topic") {
    out.append_string(rd_kafka_topic_name(message.rkt));
  } else if (key == "partition") {
    out.append(message.partition);
  } else if (key == "offset") {
    out.append(message.offset);
  } else if (key == "headers") {
    append_headers(message, out);
  } else if (key == "timestamp") {
    out.append(rd_kafka_message_timestamp(&message, &type));
  } else {
    rd_kafka_message_timestamp(&message, &type);
    out.append_string(timestamp_type_name(type));
  }
}

}  // namespace

std::vector<Field> record_metadata(const std::map<std::string, std::string>& options) {
  using columnar::make_type;
  const auto required = [](columnar::TypePtr type) { return columnar::with_nullable(type, false); };
  const columnar::TypePtr text = required(make_type(TypeKind::kString));
  const columnar::TypePtr bytes = required(make_type(TypeKind::kBytes));
  std::vector<Field> fields = {
      {"topic", text},
      {"partition", required(make_type(TypeKind::kInt))},
      {"headers", required(columnar::map_type(text, bytes))},
      {"offset", required(make_type(TypeKind::kBigInt))},
      {"timestamp", required(columnar::timestamp_type(3, /*ltz=*/true))},
      {"timestamp-type", text},
  };
  for (const char* key : {"value.format", "format"}) {
    const auto format = options.find(key);
    if (format == options.end()) continue;
    for (Field field : codec::format_metadata(format->second)) {
      field.name = "value." + field.name;
      fields.push_back(std::move(field));
    }
    break;
  }
  return fields;
}

Result<std::unique_ptr<RecordRows>> RecordRows::make(const TableContext& table, const KafkaOptions& options) {
  std::unique_ptr<RecordRows> made(new RecordRows());
  made->schema_ = table.schema;
  made->upsert_ = options.upsert;
  const auto in_key = [&](const std::string& name) {
    return (options.upsert || !options.key_in_value) &&
           std::ranges::find(options.key_fields, name) != options.key_fields.end();
  };
  std::vector<Field> value_fields, key_fields, value_table;
  std::map<size_t, std::string> value_metadata;
  for (size_t i = 0; i < table.schema->size(); ++i) {
    const Field& field = (*table.schema)[i];
    const auto metadata = table.metadata.find(i);
    if (metadata != table.metadata.end() && !metadata->second.starts_with("value.")) {
      made->origins_.push_back({Origin::Kind::kMetadata, made->metadata_keys_.size()});
      made->metadata_keys_.push_back(metadata->second);
      made->metadata_types_.push_back(field.type);
    } else if (metadata == table.metadata.end() && in_key(field.name)) {
      made->origins_.push_back({Origin::Kind::kKey, key_fields.size()});
      key_fields.push_back({field.name.substr(options.key_prefix.size()), field.type});
    } else {
      if (metadata != table.metadata.end()) value_metadata[value_fields.size()] = metadata->second.substr(6);
      made->origins_.push_back({Origin::Kind::kValue, value_fields.size()});
      value_fields.push_back(field);
    }
  }
  for (const Field& field : table.table_schema->fields()) {
    if (options.key_in_value || !in_key(field.name)) value_table.push_back(field);
  }
  const auto prepare = [&](Part& part, std::vector<Field> fields, std::vector<Field> all,
                           const PartFormat& format, const std::map<size_t, std::string>& metadata) {
    part.schema = std::make_shared<columnar::Schema>(std::move(fields));
    part.format = format.name;
    part.out = std::make_unique<codec::DecodeOutput>(part.schema, 2 * kMessagesMax + 1);
    codec::FormatOptions with = format.options;
    // Whoever reads T$bad wants each misfit there, not a NULL in its place.
    if (table.want_bad) with.erase(format.name + ".ignore-parse-errors");
    auto decoder = codec::make_decoder(format.name, part.schema,
                                       std::make_shared<columnar::Schema>(std::move(all)), with, metadata);
    if (!decoder.ok()) return decoder.status();
    if (format.name != "raw") part.decoder = *std::move(decoder);
    return Status();
  };
  STRAND_OK(
      prepare(made->value_, std::move(value_fields), std::move(value_table), options.value, value_metadata));
  if (!key_fields.empty()) {
    made->key_ = std::make_unique<Part>();
    made->key_->is_key = true;
    std::vector<Field> key_table;
    for (const std::string& name : options.key_fields) {
      const Field& field = (*table.table_schema)[*table.table_schema->find(name)];
      key_table.push_back({name.substr(options.key_prefix.size()), field.type});
    }
    STRAND_OK(prepare(*made->key_, std::move(key_fields), std::move(key_table), options.key, {}));
  }
  return made;
}

Status RecordRows::decode(Part& part, Messages messages) {
  part.message_of_row.clear();
  part.bad.clear();
  if (part.format == "raw") return decode_raw(part, messages);
  const bool any_null = part.is_key && std::ranges::any_of(messages, [](const rd_kafka_message_t* message) {
                          return message->key == nullptr;
                        });
  return is_json(part.format) && !any_null ? decode_together(part, messages) : decode_each(part, messages);
}

/// One line for each record, all in one call: record i of the text is row i, but for the bad ones.
Status RecordRows::decode_together(Part& part, Messages messages) {
  part.text.clear();
  part.starts.clear();
  part.of.clear();
  for (uint32_t i = 0; i < messages.size(); ++i) {
    bool null = false;
    const std::string_view record = side_of(*messages[i], part.is_key, null);
    if (null) continue;
    part.starts.push_back(part.text.size());
    part.of.push_back(i);
    append_line(record, part.text);
  }
  if (!part.text.empty()) {
    STRAND_TRY(const size_t used, part.decoder->decode(part.text, 0, *part.out));
    STRAND_CHECK(used == part.text.size());
  }
  std::vector<codec::BadRecord> bad = part.out->take_bad();
  part.rows = part.out->take_rows();
  size_t next_bad = 0;
  for (size_t i = 0; i < part.starts.size(); ++i) {
    if (next_bad < bad.size() && bad[next_bad].position == part.starts[i]) {
      part.bad.emplace_back(part.of[i], std::move(bad[next_bad++].reason));
    } else {
      part.message_of_row.push_back(part.of[i]);
    }
  }
  STRAND_CHECK(next_bad == bad.size());
  STRAND_CHECK(static_cast<int64_t>(part.message_of_row.size()) == part.rows.rows());
  return Status();
}

/// For formats of which a record may be no row or several. A key that is NULL is a row of NULLs.
Status RecordRows::decode_each(Part& part, Messages messages) {
  columnar::BatchBuilder& rows = part.out->rows();
  for (uint32_t i = 0; i < messages.size(); ++i) {
    bool null = false;
    const std::string_view record = side_of(*messages[i], part.is_key, null);
    if (null && !part.is_key) continue;
    if (null) {
      for (size_t column = 0; column < part.schema->size(); ++column) rows.column(column).append_null();
      rows.end_row();
    } else {
      part.text.assign(record);
      part.text += '\n';
      STRAND_TRY([[maybe_unused]] const size_t used, part.decoder->decode(part.text, 0, *part.out));
      for (codec::BadRecord& bad : part.out->take_bad()) part.bad.emplace_back(i, std::move(bad.reason));
    }
    part.message_of_row.resize(static_cast<size_t>(rows.rows()), i);
  }
  part.rows = part.out->take_rows();
  return Status();
}

Status RecordRows::decode_raw(Part& part, Messages messages) {
  columnar::BatchBuilder& rows = part.out->rows();
  const bool text = part.schema->size() == 1 && (*part.schema)[0].type->kind == TypeKind::kString;
  for (uint32_t i = 0; i < messages.size(); ++i) {
    bool null = false;
    const std::string_view record = side_of(*messages[i], part.is_key, null);
    if (null && !part.is_key) continue;
    if (!null && text && !valid_utf8(record)) {
      part.bad.emplace_back(i, "not UTF-8");
      continue;
    }
    if (part.schema->size() == 1) {
      if (null) rows.column(0).append_null();
      if (!null) rows.column(0).append_string(record);
    }
    rows.end_row();
    part.message_of_row.push_back(i);
  }
  part.rows = part.out->take_rows();
  return Status();
}

/// Leaves of the values those whose key parsed, and gives each the key of its message.
void RecordRows::join_keys(Messages messages) {
  std::vector<uint32_t> key_row(messages.size(), UINT32_MAX);
  for (uint32_t row = 0; row < key_->message_of_row.size(); ++row) key_row[key_->message_of_row[row]] = row;
  std::vector<uint32_t> values, keys;
  for (uint32_t row = 0; row < value_.message_of_row.size(); ++row) {
    const uint32_t key = key_row[value_.message_of_row[row]];
    if (key == UINT32_MAX) continue;
    values.push_back(row);
    keys.push_back(key);
  }
  for (auto& [message, reason] : key_->bad) {
    const auto same = [m = message](const auto& bad) { return bad.first == m; };
    if (std::ranges::none_of(value_.bad, same)) value_.bad.emplace_back(message, "key: " + reason);
  }
  std::ranges::sort(value_.bad);
  const auto take = [](Part& part, const std::vector<uint32_t>& rows) {
    std::vector<columnar::ColumnPtr> columns;
    for (const columnar::ColumnPtr& column : part.rows.columns())
      columns.push_back(columnar::gather(*column, rows));
    std::vector<uint32_t> of;
    auto kinds = std::make_shared<std::vector<uint8_t>>();
    for (const uint32_t row : rows) {
      of.push_back(part.message_of_row[row]);
      kinds->push_back(static_cast<uint8_t>(part.rows.kind(row)));
    }
    const bool changes = part.rows.kinds() != nullptr;
    part.rows = Batch(part.schema, std::move(columns), static_cast<int64_t>(rows.size()));
    if (changes) part.rows = part.rows.with_kinds(std::move(kinds));
    part.message_of_row = std::move(of);
  };
  const size_t all = value_.message_of_row.size();
  if (values.size() != all) take(value_, values);
  if (keys.size() != key_->message_of_row.size() || values.size() != all ||
      !std::ranges::equal(value_.message_of_row, key_->message_of_row)) {
    take(*key_, keys);
  }
}

/// Bad records instead of rows whose key is NULL.
void RecordRows::refuse_missing_keys(Messages messages) {
  for (uint32_t i = 0; i < messages.size(); ++i) {
    if (messages[i]->key == nullptr)
      key_->bad.emplace_back(i, "a record of upsert-kafka has a key, this one has none");
  }
  if (key_->bad.empty()) return;
  std::ranges::sort(key_->bad);
  std::vector<uint32_t> rows, of;
  for (uint32_t row = 0; row < key_->message_of_row.size(); ++row) {
    const uint32_t message = key_->message_of_row[row];
    if (messages[message]->key == nullptr) continue;
    rows.push_back(row);
    of.push_back(message);
  }
  if (rows.size() == key_->message_of_row.size()) return;
  std::vector<columnar::ColumnPtr> columns;
  for (const columnar::ColumnPtr& column : key_->rows.columns())
    columns.push_back(columnar::gather(*column, rows));
  key_->rows = Batch(key_->schema, std::move(columns), static_cast<int64_t>(rows.size()));
  key_->message_of_row = std::move(of);
}

/// A row that is deleted, of NULLs, in the place of each message without a value.
void RecordRows::add_deletions(Messages messages) {
  const auto is_deletion = [](const rd_kafka_message_t* message) {
    return message->payload == nullptr && message->key != nullptr;
  };
  if (std::ranges::none_of(messages, is_deletion)) return;
  columnar::BatchBuilder rows(value_.schema);
  std::vector<uint32_t> of;
  uint32_t value = 0;
  for (uint32_t message = 0; message < messages.size(); ++message) {
    if (is_deletion(messages[message])) {
      for (size_t column = 0; column < value_.schema->size(); ++column) rows.column(column).append_null();
      rows.end_row(columnar::RowKind::kDelete);
      of.push_back(message);
    }
    for (; value < value_.message_of_row.size() && value_.message_of_row[value] == message; ++value) {
      rows.append_row(value_.rows, value);
      of.push_back(message);
    }
  }
  value_.rows = rows.finish();
  value_.message_of_row = std::move(of);
}

columnar::ColumnPtr RecordRows::metadata_column(size_t column, Messages messages) const {
  columnar::ColumnBuilder out(metadata_types_[column]);
  for (const uint32_t message : value_.message_of_row)
    append_metadata(metadata_keys_[column], *messages[message], out);
  return out.finish();
}

Result<RecordRows::Made> RecordRows::make_rows(Messages messages) {
  STRAND_OK(decode(value_, messages));
  if (key_ != nullptr) {
    STRAND_OK(decode(*key_, messages));
    if (upsert_) {
      refuse_missing_keys(messages);
      add_deletions(messages);
    }
    join_keys(messages);
  }
  Made made;
  std::vector<columnar::ColumnPtr> columns;
  for (const Origin& origin : origins_) {
    columns.push_back(origin.kind == Origin::Kind::kValue ? value_.rows.column_ptr(origin.column)
                      : origin.kind == Origin::Kind::kKey ? key_->rows.column_ptr(origin.column)
                                                          : metadata_column(origin.column, messages));
  }
  made.batch = Batch(schema_, std::move(columns), value_.rows.rows());
  if (value_.rows.kinds()) made.batch = made.batch.with_kinds(value_.rows.kinds());
  for (auto& [message, reason] : value_.bad) {
    const rd_kafka_message_t& record = *messages[message];
    made.bad.push_back({static_cast<uint64_t>(record.offset),
                        std::string(static_cast<const char*>(record.payload), record.len),
                        std::move(reason)});
  }
  return made;
}

}  // namespace strand::connect::kafka
