// `strandline check`: what compiling and the lint rules have to say.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "lint/lint.h"
#include "sql/compile.h"
#include "sql/for_flink.h"

namespace strand::engine {

struct CheckReport {
  Status error;  // of compiling; then nothing else is known
  std::vector<Status> warnings;
  std::vector<lint::Finding> findings;
  std::vector<std::string> notes;
  /// Errors and warnings; notes are none.
  bool clean() const;
};

CheckReport check_job(const Result<sql::CompiledJob>& compiled);
/// `--for flink`: where a cluster goes another way. What only a restore shows is a note.
std::vector<lint::Finding> flink_findings(const sql::SqlInput& input);
std::string check_text(const CheckReport& report);
std::string check_json(const CheckReport& report);

}  // namespace strand::engine
