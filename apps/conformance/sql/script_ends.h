// The two ends of the connector `script`.
#pragma once

#include "conformance/sql/script.h"

namespace strand::conformance::sql {

/// topic, partition, offset, timestamp.
std::vector<columnar::Field> script_metadata(const std::map<std::string, std::string>& options);
connect::MakeFinder script_finder();
connect::MakeReader script_reader(const std::shared_ptr<Stage>& stage);
/// Finds the rows that were played so far.
connect::MakeLookup script_lookup(const std::shared_ptr<Stage>& stage);
connect::MakeSink script_sink(const std::shared_ptr<Stage>& stage);

}  // namespace strand::conformance::sql
