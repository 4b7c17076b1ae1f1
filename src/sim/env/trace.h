// What a simulated run did, as one number: two runs of one seed must agree on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace strand::sim {

/// A hash over everything noted, in order. Shared by the simulated clock, files and executor of one run. With
/// `keep` it also holds the lines, to show where two runs that should agree part.
class Trace {
 public:
  explicit Trace(bool keep = false) : keep_(keep) {}

  void note(std::string_view what, std::string_view about, uint64_t number = 0) {
    hash_ = combine_hash(combine_hash(combine_hash(hash_, hash64(what)), hash64(about)), number);
    ++count_;
    if (keep_) lines_.push_back(std::string(what) + " " + std::string(about) + " " + std::to_string(number));
  }
  uint64_t hash() const { return hash_; }
  uint64_t count() const { return count_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool keep_;
  uint64_t hash_ = 0;
  uint64_t count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace strand::sim
