// Rows that a barrier has overtaken: they are part of its snapshot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"

namespace strand::runtime {

inline constexpr const char* kInFlightSection = "in_flight";
inline constexpr int32_t kInFlightVersion = 1;

/// Rows on their way to one input of an operator. After a restore they come to it before anything else does.
struct InFlight {
  int32_t input = 0;
  /// Of the first half of a split window, to the second.
  bool partials = false;
  /// The columns of the edge, as its plan says: rows of other columns cannot be put back.
  std::string columns;
  columnar::Batch rows;
};

std::string encode_in_flight(const std::vector<InFlight>& rows);
/// Errors: kCheckpointUnreadable.
Result<std::vector<InFlight>> decode_in_flight(std::string_view bytes);

}  // namespace strand::runtime
