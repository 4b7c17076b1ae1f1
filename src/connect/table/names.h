// Names in the SQL of a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "connect/table/writer.h"

namespace strand::connect::table {

/// `"name"`, as SQL quotes it.
std::string quoted(std::string_view name);

/// `a, b, c`; with `suffix` behind each.
std::string joined(const std::vector<std::string>& parts, const std::string& separator,
                   const std::string& suffix = "");

/// The quoted names of a writer's part of a table.
struct WriterNames {
  explicit WriterNames(const WriterSpec& spec);
  std::string table;
  std::vector<std::string> key;
  std::vector<std::string> values;
  std::string ckpt, gen, attempt, ix;
  std::string job_gen = "\"job_gen\"";
  /// ckpt, gen, attempt, ix.
  std::vector<std::string> tag() const { return {ckpt, gen, attempt, ix}; }
};

}  // namespace strand::connect::table
