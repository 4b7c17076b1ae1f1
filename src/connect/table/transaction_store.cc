#include "connect/table/transaction_store.h"

namespace strand::connect::table {

Status fenced(const WriterSpec& spec, const std::string& where, const Marker& owner, const Marker& mine) {
  const auto text = [](const Marker& m) {
    return "generation " + std::to_string(m.generation.value) + ", attempt " +
           std::to_string(m.attempt.value);
  };
  return Status(ErrorCode::kFenced, "table " + spec.table + ": expected it to belong to " + text(mine) +
                                        " of job '" + spec.job + "', found " + text(owner))
      .at(where)
      .hint("a newer start of the job owns the table; this one must not write any more");
}

}  // namespace strand::connect::table
