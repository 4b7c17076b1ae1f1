// Records that did not parse, as rows of T$bad or as an error.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "codec/record_decoder.h"
#include "columnar/batch.h"

namespace strand::connect {

/// (shard STRING, shard_position BIGINT, payload BYTES, reason STRING, read_at TIMESTAMP_LTZ(3))
const columnar::SchemaPtr& bad_schema();

columnar::Batch bad_batch(const std::string& shard, const std::vector<codec::BadRecord>& records,
                          WallTime now);

/// The error of a job that does not put up with bad records: kBadRow with the place, the reason and how the
/// record begins.
Status bad_record_error(const std::string& table, const std::string& shard, const std::string& format,
                        const codec::BadRecord& record);

/// The first bytes of a payload as printable text.
std::string preview(std::string_view payload);

}  // namespace strand::connect
