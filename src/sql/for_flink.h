// What a Flink 2.3 cluster would refuse of a script, or answer otherwise.
#pragma once

#include <string>
#include <vector>

#include "sql/compile.h"

namespace strand::sql {

/// One place where Flink goes another way.
struct FlinkFinding {
  enum class Kind : uint8_t {
    kRefused,  // Flink ends with an error
    kDiffers,  // Flink takes it and answers otherwise
    kRestart,  // as kDiffers, but only after a restore
  };
  int number = 0;  // 2201 is rule F01
  Kind kind = Kind::kRefused;
  std::string where;
  std::string message;
  std::string explanation;  // what Flink does
  std::string portable;     // the nearest form that both take
};

/// In the order of the text, with what profiles and the command line say of its tables. Of a script that
/// compiles; one that does not parse has none.
std::vector<FlinkFinding> for_flink(const SqlInput& input);

}  // namespace strand::sql
