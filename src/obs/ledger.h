// The ledger of an operator: where every row that came in has gone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace strand::obs {

/// Which account a row is booked to.
enum class Entry : uint8_t {
  kIn,         // rows that reached the operator
  kCounted,    // rows that had their effect and left no more trace than that
  kFiltered,   // rows that a condition refused
  kLate,       // rows judged late
  kDuplicate,  // rows dropped as copies
  kBad,        // records that did not parse
  kOut,        // rows emitted on the main port
  kInRight,    // those of kIn that came by the right input
};
inline constexpr size_t kEntries = 8;
std::string_view entry_name(Entry entry);

/// Counts of one operator instance. They are part of its state: saved at the barrier and restored with it, so
/// that `in = counted + filtered + late + duplicate + bad + in state` holds at any barrier and across
/// restarts. Belongs to the task of the operator.
class Ledger {
 public:
  void add(Entry entry, int64_t rows) { counts_[static_cast<size_t>(entry)] += rows; }
  int64_t operator[](Entry entry) const { return counts_[static_cast<size_t>(entry)]; }
  /// Rows held by the operator now (set, not added: windows still open, buffered partials).
  void set_in_state(int64_t rows) { in_state_ = rows; }
  int64_t in_state() const { return in_state_; }

  int64_t difference() const {
    return (*this)[Entry::kIn] - (*this)[Entry::kCounted] - (*this)[Entry::kFiltered] -
           (*this)[Entry::kLate] - (*this)[Entry::kDuplicate] - (*this)[Entry::kBad] - in_state_;
  }
  bool balanced() const { return difference() == 0; }

  Ledger& operator+=(const Ledger& other) {
    for (size_t i = 0; i < kEntries; ++i) counts_[i] += other.counts_[i];
    in_state_ += other.in_state_;
    return *this;
  }
  friend bool operator==(const Ledger&, const Ledger&) = default;

 private:
  std::array<int64_t, kEntries> counts_{};
  int64_t in_state_ = 0;
};

}  // namespace strand::obs
