// What formats tell of a record beside its rows.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/record_decoder.h"

namespace strand::codec {

/// Metadata by key, as Flink names it: of debezium-json, canal-json and maxwell-json; empty for others. All
/// may be NULL.
std::vector<columnar::Field> format_metadata(std::string_view format);

/// As make_decoder; the columns of `read` at these positions are metadata of those keys.
Result<std::unique_ptr<RecordDecoder>> make_decoder(std::string_view format, columnar::SchemaPtr read,
                                                    const columnar::SchemaPtr& table,
                                                    const FormatOptions& options,
                                                    const std::map<size_t, std::string>& metadata);

}  // namespace strand::codec
