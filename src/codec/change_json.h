// Changes of a database as JSON: the formats debezium-json, canal-json and maxwell-json.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/record_decoder.h"

namespace strand::codec {

enum class ChangeFormat : uint8_t { kDebezium, kCanal, kMaxwell };

/// Columns of `read` that are metadata: their keys by position.
using MetadataKeys = std::map<size_t, std::string>;

/// The metadata of a format, by key.
std::vector<columnar::Field> change_metadata(ChangeFormat format);
/// Rows with their kinds: an update gives -U with the old row and +U. What says no change that is known is a
/// bad record. `envelope` decodes records of envelope_schema(), `old` those of old_schema().
std::unique_ptr<RecordDecoder> make_change_decoder(ChangeFormat format, columnar::SchemaPtr read,
                                                   const MetadataKeys& metadata,
                                                   std::unique_ptr<RecordDecoder> envelope,
                                                   std::unique_ptr<RecordDecoder> old);
/// What is read of a record: the rows, each of them in the columns of `read` that are no metadata, and where
/// the metadata stands.
columnar::SchemaPtr envelope_schema(ChangeFormat format, const columnar::Schema& read,
                                    const MetadataKeys& metadata);
/// What was otherwise before, by name: tells a NULL from a column that did not change.
columnar::SchemaPtr old_schema(ChangeFormat format);
/// Each row as a creation (+I, +U) or a deletion (-U, -D). `rows` writes single rows.
std::unique_ptr<RecordEncoder> make_change_encoder(ChangeFormat format, std::unique_ptr<RecordEncoder> rows);

}  // namespace strand::codec
