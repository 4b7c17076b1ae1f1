// The families of casts; cast.cc chooses among them.
#pragma once

#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

/// A cast under construction: `from` is not `to`, and can_cast(from, to) holds.
struct CastCall {
  TypePtr from;
  TypePtr to;
  bool try_cast;
};

/// Whether a cast exists at all.
bool can_cast(const Type& from, const Type& to);

NodePtr cast_number(const CastCall& cast, Nodes args);  // numbers and BOOLEAN among each other
NodePtr cast_from_text(const CastCall& cast, Nodes args, const Environment& environment);
NodePtr cast_to_text(const CastCall& cast, Nodes args, const Environment& environment);
/// Rows to rows of as many fields, arrays to arrays, maps to maps, where their parts can be cast.
bool can_cast_nested(const Type& from, const Type& to);
Result<NodePtr> cast_nested(const CastCall& cast, Nodes args, const Environment& environment);
NodePtr cast_temporal(const CastCall& cast, Nodes args, const Environment& environment);

/// The node of a cast whatever its types.
Result<NodePtr> build_cast_of(const TypePtr& from, const TypePtr& to, bool try_cast, Nodes args,
                              const Environment& environment);

/// A row function whose failure is an error in CAST and NULL in TRY_CAST. f returns whether it succeeded.
template <class Out, class... In, class F>
NodePtr make_cast(const CastCall& cast, Nodes args, F f) {
  const TypePtr to = cast.to;
  if (cast.try_cast) return make_row_call<Out, In...>(to, std::move(args), std::move(f));
  return make_failing_call<Out, In...>(
      to, std::move(args), "CAST", ErrorCode::kBadValue,
      "cannot be cast to " + to_string(*columnar::with_nullable(to, true)),
      [f](auto& out, const auto&... in) mutable { return f(out, in...) ? Row::kValue : Row::kFailed; });
}

}  // namespace strand::expr
