// A time zone: local time of an instant and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace strand::expr {

/// Converts between instants and local times, in milliseconds. Remembers the stretch without a change of
/// offset that the last instant fell into, so that rows near each other cost an addition; belongs to one
/// thread. Copies are cheap.
class Zone {
 public:
  /// UTC.
  Zone() = default;
  /// `Europe/Berlin`, `UTC`, `Z`, `+02:00`, `GMT+8`, `UTC-03:30`. Errors: kBadOption.
  static Result<Zone> load(const std::string& name);

  int64_t local_of(int64_t utc_millis) const {
    if (rules_ == nullptr) return utc_millis + offset_;
    if (utc_millis < from_ || utc_millis >= until_) find_stretch(utc_millis);
    return utc_millis + offset_;
  }
  /// As java.time: a local time that a change skips is taken with the offset before it, one that comes twice
  /// is the first.
  int64_t utc_of(int64_t local_millis) const;
  /// Whether local time is UTC.
  bool is_utc() const { return rules_ == nullptr && offset_ == 0; }

 private:
  struct Rules;
  void find_stretch(int64_t utc_millis) const;

  std::shared_ptr<const Rules> rules_;  // null: the offset never changes
  mutable int64_t from_ = 0;
  mutable int64_t until_ = 0;
  mutable int64_t offset_ = 0;
};

}  // namespace strand::expr
