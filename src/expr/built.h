// Functions that append their results to a builder: nested results, and what is rare enough to go row by row.
#pragma once

#include "columnar/builder.h"
#include "expr/kernels.h"

namespace strand::expr {

/// A node of `f(builder, args, row)`, called for each row of the scope; it appends one value and returns
/// true, or appends nothing and returns false: NULL. Of a strict function, rows with a NULL argument are
/// NULL.
template <class F>
NodePtr make_built_call(const TypePtr& type, std::vector<NodePtr> args, CallTraits traits, F f) {
  return make_call(type, std::move(args), traits,
                   [type, traits, f](const Scope& scope, std::span<const Value> v) mutable -> Result<Value> {
                     columnar::ColumnBuilder out(type);
                     Status failed;
                     const auto add = [&](int64_t row) {
                       while (out.length() < row) out.append_null();
                       Result<bool> added = f(out, v, row);
                       if (!added.ok()) {
                         failed = std::move(added).status();
                         return false;
                       }
                       if (!*added) out.append_null();
                       return true;
                     };
                     if (traits.strict) {
                       each_present(scope, combined_validity(v, scope.length), add);
                     } else {
                       scope.each(add);
                     }
                     STRAND_OK(failed);
                     while (out.length() < scope.length) out.append_null();
                     return Value{out.finish(), false};
                   });
}

/// The elements of an array, or the entries of a map, of one row.
struct Elements {
  const Column& child;  // elements, or keys
  int64_t begin;
  int64_t end;
  explicit Elements(const Value& list, int64_t at)
      : child(*list.column->child(0)),
        begin(list.column->offsets()[list.row(at)]),
        end(list.column->offsets()[list.row(at) + 1]) {}
  int64_t size() const { return end - begin; }
};

}  // namespace strand::expr
