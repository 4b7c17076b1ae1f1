// A recorded SQL case: a text file with a header and sections (tests/conformance/README.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace strand::conformance::sql {

/// `%% name arguments`, and the lines below it.
struct Section {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> lines;
  std::string text() const;
};

struct Case {
  std::string topic;  // the folder
  std::string name;   // the file, without `.case`
  std::map<std::string, std::string> header;
  std::vector<Section> sections;

  std::string option(const std::string& key, const std::string& otherwise = "") const;
  /// The text of all sections of that name.
  std::string text(const std::string& section) const;
  const Section* section(const std::string& name) const;
};

/// One line of the input section: a row for a table, or what happens to the job there.
struct InputLine {
  enum class Event : uint8_t {
    kRow,
    kBarrier,  // `barrier`: a checkpoint is taken and completes
    kCrash,    // `crash`: the process dies, and goes on from the last checkpoint
    kStop,     // `stop`: stopped with a savepoint, and started from it
    kWait,     // `wait 10 s`: the wall clock goes on
  };
  std::string table;
  std::string payload;
  Event event = Event::kRow;
  Duration wait = {};
};

/// The cases of DIR/<topic>/*.case and of DIR/<topic>.cases.zst, by topic and name.
Result<std::vector<Case>> read_cases(const std::string& folder);
/// The input in order of arrival. Errors: kFileNotFound for an `@file` that is not there.
Result<std::vector<InputLine>> input_of(const Case& test_case, const std::string& folder);

}  // namespace strand::conformance::sql
