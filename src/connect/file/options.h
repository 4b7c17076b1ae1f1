// The options of a filesystem table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "connect/registry.h"

namespace strand::connect::file {

struct FileOptions {
  std::string path;  // without a '/' at its end
  std::string format;
  std::optional<Duration> monitor_interval;  // nothing: read what is there, then end
  std::string path_regex;                    // empty: every file
  uint64_t record_bytes_max = uint64_t{16} << 20;
  bool ignore_bad = false;  // <format>.ignore-parse-errors: bad records are skipped and counted
};

/// Reads them. kBadOption; kUnknownConnector for a format that is not known.
Result<FileOptions> read_options(const TableContext& table);

/// `16 mb`, `64kb`, `1 GiB`, `4096`. Units are powers of 1,024, as in Flink.
Result<uint64_t> parse_bytes(std::string_view text);

}  // namespace strand::connect::file
