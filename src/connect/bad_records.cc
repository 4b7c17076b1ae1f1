#include "connect/bad_records.h"

#include <cctype>

namespace strand::connect {
namespace {

constexpr size_t kPreviewBytes = 120;

columnar::Field field(const char* name, columnar::TypePtr type) { return {name, std::move(type)}; }

}  // namespace

const columnar::SchemaPtr& bad_schema() {
  using columnar::make_type;
  using columnar::TypeKind;
  static const columnar::SchemaPtr schema =
      std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
          field("shard", make_type(TypeKind::kString)), field("shard_position", make_type(TypeKind::kBigInt)),
          field("payload", make_type(TypeKind::kBytes)), field("reason", make_type(TypeKind::kString)),
          field("read_at", columnar::timestamp_type(3, /*ltz=*/true))});
  return schema;
}

columnar::Batch bad_batch(const std::string& shard, const std::vector<codec::BadRecord>& records,
                          WallTime now) {
  columnar::BatchBuilder builder(bad_schema());
  for (const codec::BadRecord& record : records) {
    builder.column(0).append_string(shard);
    builder.column(1).append(static_cast<int64_t>(record.position));
    builder.column(2).append_string(record.payload);
    builder.column(3).append_string(record.reason);
    builder.column(4).append(now.millis);
    builder.end_row();
  }
  return builder.finish();
}

std::string preview(std::string_view payload) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : payload.substr(0, kPreviewBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isprint(byte) != 0) {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return payload.size() > kPreviewBytes ? text + "..." : text;
}

Status bad_record_error(const std::string& table, const std::string& shard, const std::string& format,
                        const codec::BadRecord& record) {
  return Status(ErrorCode::kBadRow, record.reason + ": " + preview(record.payload))
      .at(table + "/" + shard + " position " + std::to_string(record.position))
      .hint("correct the record, skip such records with '" + format +
            ".ignore-parse-errors' = 'true', or read them from " + table + "$bad");
}

}  // namespace strand::connect
