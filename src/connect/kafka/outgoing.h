// From rows to records, and records to a producer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "connect/kafka/options.h"

namespace strand::connect::kafka {

/// Records one after the other in one text.
struct Outgoing {
  struct Record {
    size_t key_at = 0;
    size_t key_size = 0;
    size_t value_at = 0;
    size_t value_size = 0;
    bool has_key = false;
    bool has_value = true;  // false: a tombstone
    int64_t millis = 0;     // 0: the time of sending
    size_t header = 0;      // the first of its headers
    size_t headers = 0;
  };
  struct Header {
    size_t name_at = 0;
    size_t name_size = 0;
    size_t value_at = 0;
    size_t value_size = 0;
  };
  std::string bytes;
  std::vector<Record> records;
  std::vector<Header> headers;

  void clear() {
    bytes.clear();
    records.clear();
    headers.clear();
  }
};

/// The metadata that writers set: the record's `timestamp` and `headers`, by Flink's keys.
std::vector<columnar::Field> written_metadata();

/// Writes rows as records with Flink's layout: all columns of the table in its order, NULL for those that
/// nobody sets; a key where the table has one. upsert-kafka: a deletion is a record without a value, and of
/// an update only the new row. Belongs to one thread at a time.
class OutgoingRows {
 public:
  static Result<std::unique_ptr<OutgoingRows>> make(const TableContext& table, const KafkaOptions& options);
  /// Appends the records of the rows. kSinkSchema for rows that change others where the format has no word
  /// for that; kRecordTooLong for a record that the client may not send, with its key and largest column.
  Status append(const columnar::Batch& rows, Outgoing& out);

 private:
  struct Part {
    columnar::SchemaPtr schema;
    std::unique_ptr<codec::RecordEncoder> encoder;
    bool one_line = false;  // no record holds a line break
    std::string text;
    std::vector<std::pair<size_t, size_t>> places;  // of each row in the text: begin, size
  };

  OutgoingRows() = default;
  Status encode(Part& part, const columnar::Batch& rows);
  Status check_size(const Outgoing& out, const Outgoing::Record& record, const columnar::Batch& rows,
                    int64_t row) const;
  Status check_kinds(const columnar::Batch& rows) const;
  Status append_metadata(const columnar::Batch& rows, int64_t row, Outgoing& out) const;

  std::string table_;
  bool upsert_ = false;
  bool takes_changes_ = false;
  size_t bytes_max_ = 0;  // of a record: message.max.bytes
  std::optional<size_t> timestamp_;  // of the rows' columns
  std::optional<size_t> headers_;
  Part value_;
  std::unique_ptr<Part> key_;
};

/// Hands records to a producer of a topic.
class Producing {
 public:
  Producing(const Client& client, rd_kafka_topic_t* topic, Partitioner partitioner, int32_t subtask);
  /// From record `from` on, as many as the library takes now: the number of the first that it did not take.
  /// Another error than a full queue comes back.
  Result<size_t> produce(const Outgoing& out, size_t from);

 private:
  Result<int32_t> next_partition();
  rd_kafka_resp_err_t produce_with_metadata(const Outgoing& out, const Outgoing::Record& record,
                                            int32_t partition);
  Result<size_t> produce_each(const Outgoing& out, size_t from);

  const Client& client_;
  rd_kafka_topic_t* topic_;
  const Partitioner partitioner_;
  const int32_t subtask_;
  int32_t partitions_ = 0;  // for those that choose by number; 0: not asked yet
  int64_t turn_ = 0;
  std::vector<rd_kafka_message_t> chunk_;
};

}  // namespace strand::connect::kafka
