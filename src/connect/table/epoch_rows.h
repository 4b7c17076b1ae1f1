// Rows that wait for their checkpoint, and their form in a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "connect/table/writer.h"

namespace strand::connect::table {

/// Rows of one subtask by the epoch that completes them.
struct EpochRows {
  int32_t subtask = 0;
  std::map<Epoch, std::vector<BatchPtr>> epochs;
};

inline constexpr const char* kEpochRowsSection = "epoch_rows";
inline constexpr int32_t kEpochRowsVersion = 1;

std::string encode_epoch_rows(const EpochRows& rows, const columnar::Schema& schema);
/// kStateMismatch if the rows have other columns than `schema`.
Result<EpochRows> decode_epoch_rows(std::string_view bytes, const columnar::SchemaPtr& schema);

}  // namespace strand::connect::table
