// From consumed messages to rows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "connect/kafka/options.h"

namespace strand::connect::kafka {

using Messages = std::span<rd_kafka_message_t* const>;

/// The metadata of a record, by Flink's keys, and that of its format as `value.KEY`.
std::vector<columnar::Field> record_metadata(const std::map<std::string, std::string>& options);

/// Makes rows of messages of one partition: keys and values by their formats, metadata from the messages.
/// JSON is decoded in one go for all of them. Messages without a value are no rows; of upsert-kafka they
/// delete the row of their key, and a message without a key is bad. Belongs to one thread.
class RecordRows {
 public:
  static constexpr int64_t kMessagesMax = 4096;  // of one call
  struct Made {
    columnar::Batch batch;
    std::vector<codec::BadRecord> bad;  // positions are offsets
  };

  static Result<std::unique_ptr<RecordRows>> make(const TableContext& table, const KafkaOptions& options);
  Result<Made> make_rows(Messages messages);

 private:
  /// Where a column of the batch comes from.
  struct Origin {
    enum class Kind : uint8_t { kValue, kKey, kMetadata } kind;
    size_t column = 0;  // of the part, or of the metadata
  };
  /// One side of the messages: its rows, and the message that each is of.
  struct Part {
    columnar::SchemaPtr schema;
    std::string format;
    std::unique_ptr<codec::RecordDecoder> decoder;  // none for raw
    std::unique_ptr<codec::DecodeOutput> out;
    bool is_key = false;
    std::string text;
    std::vector<size_t> starts;  // of each record in the text
    std::vector<uint32_t> of;    // the message that each record in the text is of
    columnar::Batch rows;
    std::vector<uint32_t> message_of_row;
    std::vector<std::pair<uint32_t, std::string>> bad;  // message, reason
  };

  RecordRows() = default;
  static Status decode(Part& part, Messages messages);
  static Status decode_together(Part& part, Messages messages);
  static Status decode_each(Part& part, Messages messages);
  static Status decode_raw(Part& part, Messages messages);
  void join_keys(Messages messages);
  void refuse_missing_keys(Messages messages);
  void add_deletions(Messages messages);
  columnar::ColumnPtr metadata_column(size_t column, Messages messages) const;

  bool upsert_ = false;
  columnar::SchemaPtr schema_;
  std::vector<Origin> origins_;
  std::vector<std::string> metadata_keys_;
  std::vector<columnar::TypePtr> metadata_types_;
  Part value_;
  std::unique_ptr<Part> key_;
};

}  // namespace strand::connect::kafka
