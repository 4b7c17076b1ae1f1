#include "connect/kafka/outgoing.h"

#include <algorithm>

#include "columnar/print.h"

namespace strand::connect::kafka {

using columnar::Batch;
using columnar::RowKind;

namespace {

constexpr size_t kChunk = 1'024;               // records a call
constexpr size_t kRecordBytesMax = 1'000'000;  // librdkafka's default of message.max.bytes
constexpr size_t kShownKeyBytes = 100;

/// The columns of `schema`, by name; NULLs for those that the rows do not have.
Batch project(const Batch& rows, const columnar::SchemaPtr& schema) {
  std::vector<columnar::ColumnPtr> columns;
  for (const columnar::Field& field : schema->fields()) {
    const auto at = rows.schema()->find(field.name);
    if (at) {
      columns.push_back(rows.column_ptr(*at));
      continue;
    }
    columnar::ColumnBuilder nulls(columnar::with_nullable(field.type, true));
    nulls.append_nulls(rows.physical_rows());
    columns.push_back(nulls.finish());
  }
  return rows.with_columns(schema, std::move(columns));
}

/// Keys carry their names without the prefix.
columnar::SchemaPtr without_prefix(const columnar::Schema& schema, size_t prefix) {
  std::vector<columnar::Field> fields = schema.fields();
  for (columnar::Field& field : fields) field.name = field.name.substr(prefix);
  return std::make_shared<columnar::Schema>(std::move(fields));
}

constexpr const char* kTimestamp = "timestamp";
constexpr const char* kHeaders = "headers";

/// Those whose name or value is NULL are left out, as Flink does.
void append_headers(const columnar::Column& column, int64_t row, Outgoing& out) {
  const columnar::Column& names = *column.child(0);
  const columnar::Column& values = *column.child(1);
  for (int64_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
    if (names.is_null(i) || values.is_null(i)) continue;
    Outgoing::Header header;
    header.name_at = out.bytes.size();
    header.name_size = names.string(i).size();
    out.bytes += names.string(i);
    header.value_at = out.bytes.size();
    header.value_size = values.string(i).size();
    out.bytes += values.string(i);
    out.headers.push_back(header);
  }
}

}  // namespace

std::vector<columnar::Field> written_metadata() {
  using columnar::make_type;
  using columnar::TypeKind;
  return {{kTimestamp, columnar::timestamp_type(3, /*ltz=*/true)},
          {kHeaders, columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kBytes))}};
}

Result<std::unique_ptr<OutgoingRows>> OutgoingRows::make(const TableContext& table,
                                                         const KafkaOptions& options) {
  std::unique_ptr<OutgoingRows> made(new OutgoingRows());
  made->table_ = table.table;
  made->upsert_ = options.upsert;
  made->takes_changes_ = options.upsert || codec::gives_changes(options.value.name);
  const auto bytes_max = options.properties.find("message.max.bytes");
  made->bytes_max_ = bytes_max == options.properties.end()
                         ? kRecordBytesMax
                         : static_cast<size_t>(std::atoll(bytes_max->second.c_str()));
  for (const auto& [column, key] : table.metadata)
    (key == kTimestamp ? made->timestamp_ : made->headers_) = column;
  const auto prepare = [](Part& part, std::vector<columnar::Field> fields, size_t prefix,
                          const PartFormat& format) {
    part.schema = std::make_shared<columnar::Schema>(std::move(fields));
    part.one_line = format.name != "raw" && format.name != "csv";
    auto encoder = codec::make_encoder(format.name, without_prefix(*part.schema, prefix), format.options);
    if (!encoder.ok()) return encoder.status();
    part.encoder = *std::move(encoder);
    return Status();
  };
  std::vector<columnar::Field> keys, values;
  for (const std::string& name : options.key_fields)
    keys.push_back((*table.table_schema)[*table.table_schema->find(name)]);
  for (const columnar::Field& field : table.table_schema->fields()) {
    const bool in_key = std::ranges::find(options.key_fields, field.name) != options.key_fields.end();
    if (options.key_in_value || !in_key) values.push_back(field);
  }
  STRAND_OK(prepare(made->value_, std::move(values), 0, options.value));
  if (!keys.empty()) {
    made->key_ = std::make_unique<Part>();
    STRAND_OK(prepare(*made->key_, std::move(keys), options.key_prefix.size(), options.key));
  }
  return made;
}

Status OutgoingRows::check_kinds(const Batch& rows) const {
  if (takes_changes_ || !rows.kinds()) return Status();
  bool only_inserts = true;
  rows.for_each_row([&](int64_t row) { only_inserts &= rows.kind(row) == RowKind::kInsert; });
  if (only_inserts) return Status();
  return Status(ErrorCode::kSinkSchema, "table " + table_ +
                                            " takes rows that are added, found one that changes or takes "
                                            "back another")
      .hint(
          "write such rows with 'connector' = 'upsert-kafka' and a PRIMARY KEY, or in the format "
          "debezium-json");
}

Status OutgoingRows::encode(Part& part, const Batch& rows) {
  part.text.clear();
  part.places.clear();
  const Batch columns = project(rows, part.schema);
  if (!part.one_line) {
    for (int64_t i = 0; i < columns.rows(); ++i) {
      const size_t begin = part.text.size();
      STRAND_OK(part.encoder->encode(columns.slice(i, 1), part.text));
      part.places.emplace_back(begin, part.text.size() - begin - 1);
    }
    return Status();
  }
  STRAND_OK(part.encoder->encode(columns, part.text));
  for (size_t begin = 0; begin < part.text.size();) {
    const size_t end = part.text.find('\n', begin);
    part.places.emplace_back(begin, end - begin);
    begin = end + 1;
  }
  STRAND_CHECK(static_cast<int64_t>(part.places.size()) == columns.rows());
  return Status();
}

/// The client would refuse it, too, and know nothing of columns.
Status OutgoingRows::check_size(const Outgoing& out, const Outgoing::Record& record, const Batch& rows,
                                int64_t row) const {
  const size_t size = record.key_size + (record.has_value ? record.value_size : 0);
  if (size <= bytes_max_) return Status();
  std::string largest;
  size_t most = 0;
  for (size_t i = 0; i < rows.schema()->size(); ++i) {
    std::string text;
    columnar::print_value(rows.column(i), row, text);
    if (text.size() < most) continue;
    most = text.size();
    largest = (*rows.schema())[i].name;
  }
  std::string message = "table " + table_ + ": expected a record of at most " + std::to_string(bytes_max_) +
                        " bytes, found one of " + std::to_string(size);
  if (record.has_key)
    message += " with the key " + out.bytes.substr(record.key_at, std::min(record.key_size, kShownKeyBytes));
  message += "; column '" + largest + "' has " + std::to_string(most) + " of them";
  return Status(ErrorCode::kRecordTooLong, std::move(message))
      .hint(
          "raise 'properties.message.max.bytes' here and max.message.bytes of the topic, or write less: "
          "SUBSTRING(" +
          largest + " FROM 1 FOR n)");
}

Status OutgoingRows::append(const Batch& rows, Outgoing& out) {
  STRAND_OK(check_kinds(rows));
  STRAND_OK(encode(value_, rows));
  if (key_ != nullptr) STRAND_OK(encode(*key_, rows));
  const size_t values_at = out.bytes.size();
  const size_t keys_at = values_at + value_.text.size();
  out.bytes += value_.text;
  if (key_ != nullptr) out.bytes += key_->text;
  size_t i = 0;
  Status status;
  rows.for_each_row([&](int64_t row) {
    const size_t at = i++;
    const RowKind kind = rows.kind(row);
    if (upsert_ && kind == RowKind::kUpdateBefore) return;
    Outgoing::Record record;
    record.value_at = values_at + value_.places[at].first;
    record.value_size = value_.places[at].second;
    record.has_value = !upsert_ || kind != RowKind::kDelete;
    if (key_ != nullptr) {
      record.has_key = true;
      record.key_at = keys_at + key_->places[at].first;
      record.key_size = key_->places[at].second;
    }
    if (status.ok()) status = check_size(out, record, rows, row);
    out.records.push_back(record);
    if (status.ok()) status = append_metadata(rows, row, out);
  });
  return status;
}

/// To the newest record. A time before 1970 is none that a record could have, and 0 none that the library
/// could be told.
Status OutgoingRows::append_metadata(const Batch& rows, int64_t row, Outgoing& out) const {
  Outgoing::Record& record = out.records.back();
  if (headers_ && !rows.column(*headers_).is_null(row)) {
    record.header = out.headers.size();
    append_headers(rows.column(*headers_), row, out);
    record.headers = out.headers.size() - record.header;
  }
  if (!timestamp_ || rows.column(*timestamp_).is_null(row)) return Status();
  record.millis = rows.column(*timestamp_).values<int64_t>()[row];
  if (record.millis > 0) return Status();
  return Status(ErrorCode::kBadValue, "table " + table_ + ": the timestamp of a record must be later than " +
                                          "1970-01-01 00:00:00 UTC, found " + std::to_string(record.millis) +
                                          " ms")
      .hint("write NULL for the time of sending, or a time since then");
}

Producing::Producing(const Client& client, rd_kafka_topic_t* topic, Partitioner partitioner, int32_t subtask)
    : client_(client), topic_(topic), partitioner_(partitioner), subtask_(subtask), chunk_(kChunk) {}

Result<int32_t> Producing::next_partition() {
  if (partitioner_ == Partitioner::kDefault) return RD_KAFKA_PARTITION_UA;
  if (partitions_ == 0) {
    const struct rd_kafka_metadata* answer = nullptr;
    const auto asked =
        rd_kafka_metadata(client_.get(), 0, topic_, &answer, static_cast<int>(kAnswerTime.millis));
    if (asked != RD_KAFKA_RESP_ERR_NO_ERROR)
      return client_.error(Side::kSink, asked, std::string("write topic ") + rd_kafka_topic_name(topic_));
    partitions_ = answer->topic_cnt == 1 ? answer->topics[0].partition_cnt : 0;
    rd_kafka_metadata_destroy(answer);
    if (partitions_ == 0)
      return client_.error(Side::kSink, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                           std::string("write topic ") + rd_kafka_topic_name(topic_));
  }
  if (partitioner_ == Partitioner::kFixed) return subtask_ % partitions_;
  return static_cast<int32_t>(turn_++ % partitions_);
}

/// The call for many records takes neither times nor headers.
rd_kafka_resp_err_t Producing::produce_with_metadata(const Outgoing& out, const Outgoing::Record& record,
                                                     int32_t partition) {
  rd_kafka_headers_t* headers = nullptr;
  if (record.headers > 0) headers = rd_kafka_headers_new(record.headers);
  for (size_t i = record.header; i < record.header + record.headers; ++i) {
    const Outgoing::Header& header = out.headers[i];
    rd_kafka_header_add(headers, out.bytes.data() + header.name_at, static_cast<ssize_t>(header.name_size),
                        out.bytes.data() + header.value_at, static_cast<ssize_t>(header.value_size));
  }
  auto* bytes = const_cast<char*>(out.bytes.data());
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      client_.get(), RD_KAFKA_V_RKT(topic_), RD_KAFKA_V_PARTITION(partition),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_VALUE(record.has_value ? bytes + record.value_at : nullptr, record.value_size),
      RD_KAFKA_V_KEY(record.has_key ? bytes + record.key_at : nullptr, record.key_size),
      RD_KAFKA_V_TIMESTAMP(record.millis), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
  // The library has taken the headers where it has taken the record.
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR && headers != nullptr) rd_kafka_headers_destroy(headers);
  return error;
}

Result<size_t> Producing::produce_each(const Outgoing& out, size_t from) {
  for (; from < out.records.size(); ++from) {
    STRAND_TRY(const int32_t partition, next_partition());
    const rd_kafka_resp_err_t error = produce_with_metadata(out, out.records[from], partition);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      --turn_;
      return from;
    }
    return client_.error(Side::kSink, error, std::string("write topic ") + rd_kafka_topic_name(topic_));
  }
  return from;
}

Result<size_t> Producing::produce(const Outgoing& out, size_t from) {
  const auto plain = [](const Outgoing::Record& record) { return record.millis == 0 && record.headers == 0; };
  if (!std::ranges::all_of(out.records, plain)) return produce_each(out, from);
  while (from < out.records.size()) {
    const size_t n = std::min(kChunk, out.records.size() - from);
    for (size_t i = 0; i < n; ++i) {
      const Outgoing::Record& record = out.records[from + i];
      rd_kafka_message_t& message = chunk_[i];
      message = {};
      // The library copies; it only asks for pointers that are not const.
      auto* bytes = const_cast<char*>(out.bytes.data());
      STRAND_TRY(message.partition, next_partition());
      if (record.has_value) message.payload = bytes + record.value_at;
      if (record.has_value) message.len = record.value_size;
      if (record.has_key) message.key = bytes + record.key_at;
      if (record.has_key) message.key_len = record.key_size;
    }
    const int flags = RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION;
    const int taken =
        rd_kafka_produce_batch(topic_, RD_KAFKA_PARTITION_UA, flags, chunk_.data(), static_cast<int>(n));
    if (static_cast<size_t>(taken) == n) {
      from += n;
      continue;
    }
    for (size_t i = 0; i < n; ++i, ++from) {
      const rd_kafka_resp_err_t error = chunk_[i].err;
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        turn_ -= static_cast<int64_t>(n - i);
        return from;
      }
      return client_.error(Side::kSink, error, std::string("write topic ") + rd_kafka_topic_name(topic_));
    }
  }
  return from;
}

}  // namespace strand::connect::kafka
