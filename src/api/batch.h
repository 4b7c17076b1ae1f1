// What the public Batch holds.
#pragma once

#include "columnar/batch.h"
#include "strandline/batch.h"

namespace strandline::detail {
struct BatchRows {
  strand::columnar::Batch rows;  // without a selection
};
}  // namespace strandline::detail

namespace strand::api {

inline strandline::Batch batch_of(const columnar::Batch& rows) {
  return strandline::Batch(
      std::make_shared<const strandline::detail::BatchRows>(strandline::detail::BatchRows{rows.compact()}));
}

}  // namespace strand::api
