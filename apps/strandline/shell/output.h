// The rows of a query in the form that the user wants.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "columnar/batch.h"
#include "sql/compile.h"

namespace strand::app::shell {

enum class Format : uint8_t { kTable, kCsv, kJson };

/// Takes the changelog of a query. `take` comes from the job's threads, one call at a time; the others from
/// the shell's while the job runs (`refresh`) and when it has ended (`end`).
class Output {
 public:
  virtual ~Output() = default;
  virtual Status take(const columnar::Batch& rows) = 0;
  virtual void refresh() {}
  virtual void end() {}
};

/// What is written where.
struct OutputOptions {
  Format format = Format::kTable;
  std::FILE* out = stdout;
  bool in_place = false;  // a terminal: the table is drawn again as it changes
};

/// `changes`: rows may be updated and deleted. CSV and JSON then say of each row what it is. Errors:
/// kTypeMismatch for a type that CSV cannot hold.
Result<std::unique_ptr<Output>> make_output(const OutputOptions& options, const columnar::SchemaPtr& schema,
                                            bool changes);
/// What SHOW, DESCRIBE or EXPLAIN has answered.
Status put_answer(const OutputOptions& options, const sql::Shown& answer);

}  // namespace strand::app::shell
