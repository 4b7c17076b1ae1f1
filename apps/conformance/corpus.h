// The recorded cases.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "conformance/family.h"

namespace strand::conformance {

Result<std::string> read_file(const std::string& file);
/// The files of a folder that hold cases (`*.jsonl`, `*.jsonl.zst`), by name.
Result<std::vector<std::string>> case_files(const std::string& folder);
/// One case a line.
Result<std::vector<Json>> read_cases(const std::string& file);

/// `family=window,assigner=tumbling,trigger=default`: every part must hold. `family` and `id` are fields of
/// the case, the others of its configuration: an object matches by its `type`, what is absent is `default`.
class Where {
 public:
  static Result<Where> parse(const std::string& text);
  bool matches(const Json& test_case) const;

 private:
  std::vector<std::pair<std::string, std::string>> parts_;
};

}  // namespace strand::conformance
