// Joins two changelogs: rows with the same key, whenever they come.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct RegularJoinOptions {
  struct Side {
    SchemaPtr schema;
    std::vector<size_t> keys;  // as many, of the same types, on both sides
    /// Its rows come out without a partner, too, with NULLs for the other side. Not of semi and anti joins.
    bool outer = false;
    /// The keys in which NULL is equal to NULL, as columns; in the others it is equal to nothing.
    std::vector<size_t> nulls_equal = {};
  };
  std::array<Side, 2> sides;  // left, right
  /// kSemi: each left row that has a partner; kAnti: each that has none.
  enum class Output : uint8_t { kPairs, kSemi, kAnti };
  Output kind = Output::kPairs;
  /// What else makes a pair of rows partners, over the columns of the left side, then of the right; or null.
  ExprPtr condition;
  expr::CompileOptions compile;
  SchemaPtr output;  // kPairs: the columns of the left side, then of the right; else those of the left side
  /// A row goes when it was not written for so long (wall clock): a guard, not a meaning.
  std::array<std::optional<Duration>, 2> ttl;  // of each side
  /// Whether the rows of the output are +U and -U where those are that make them, or +I and -D always.
  bool update_kinds = true;
};

/// Both inputs are changelogs with a row taken back before it is replaced. Equal rows count as often as they
/// came. A pair comes out when its second row comes, of that row's kind where neither side is padded, and is
/// taken back with either. A padded row is taken back by -D when the first partner comes, and comes again by
/// +I when the last one has gone. A NULL in a key has no partner. State: every row of both sides, how often
/// it is there, and of an outer side how many partners it has. Source: Flink StreamingJoinOperator,
/// StreamingSemiAntiJoinOperator.
Result<OperatorPtr> make_regular_join(RegularJoinOptions options);

}  // namespace strand::ops
