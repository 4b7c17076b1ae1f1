// Columns of every type, with values from the corners.
#pragma once

#include <vector>

#include "base/random.h"
#include "columnar/batch.h"
#include "expr/expr.h"

namespace strand::fuzz {

/// The types of the columns, nullable; those of `sample` come twice, the second time NOT NULL.
const std::vector<columnar::TypePtr>& sample_types();

/// `rows` rows of random values. The nullable columns have as many NULLs as chance says, some none, some only
/// NULLs.
columnar::Batch sample(Random& random, int64_t rows);

/// A constant of a type that is not nested, not NULL.
expr::Scalar random_scalar(const columnar::Type& type, Random& random);
/// Text that some function knows what to do with.
std::string random_text(Random& random);

}  // namespace strand::fuzz
