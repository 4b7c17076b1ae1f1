// Rows that a job hands to the program that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "strandline/arrow.h"

namespace strandline {

namespace detail {
struct BatchRows;
}

/// What a row says about the rows before it.
enum class Change : uint8_t { kInsert, kUpdateBefore, kUpdateAfter, kDelete };

/// Rows in columns. Immutable, cheap to copy, thread-safe.
class Batch {
 public:
  explicit Batch(std::shared_ptr<const detail::BatchRows> rows) : rows_(std::move(rows)) {}
  int64_t rows() const;
  Change change(int64_t row) const;
  /// Fills both structs, which must not hold anything, as the Arrow C Data Interface says: a record batch
  /// with the stream's columns. The receiver owns them and calls their `release`; the batch may go before
  /// that.
  void to_arrow(ArrowSchema* schema, ArrowArray* array) const;
  const std::shared_ptr<const detail::BatchRows>& data() const { return rows_; }

 private:
  std::shared_ptr<const detail::BatchRows> rows_;
};

using TakeBatch = std::function<void(const Batch&)>;

}  // namespace strandline
