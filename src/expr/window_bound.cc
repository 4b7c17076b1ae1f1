// WINDOW_BOUND(time, size, offset, shift): where the window of `size` that holds `time` begins, in local
// time, moved by `shift`; all in milliseconds. Of it the bounds of windows without aggregation are made.
#include "base/floor_div.h"
#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/time_unit.h"

namespace strand::expr {

namespace {

Result<NodePtr> build_bound(const Expr& e, Nodes args, const Environment& environment) {
  const int64_t size = *literal_integer(*e.args[1]);
  const int64_t offset = *literal_integer(*e.args[2]);
  const int64_t shift = *literal_integer(*e.args[3]);
  const Moments moments(*args[0]->type(), environment.zone);
  args.resize(1);
  return make_row_call<int64_t, int64_t>(e.type, std::move(args), [=](int64_t& out, int64_t time) {
    const int64_t local = moments.local_millis(time) - offset;
    out = floor_div(local, size) * size + offset + shift;
    return true;
  });
}

Result<TypePtr> bound_type(const Args& args) {
  for (size_t i = 1; i < 4; ++i) {
    const int64_t* number = literal_integer(*args[i]);
    if (number == nullptr || (i == 1 && *number <= 0)) return does_not_take("WINDOW_BOUND", args);
  }
  return columnar::timestamp_type(3, /*ltz=*/false, args[0]->type->nullable);
}

constexpr Function kFunctions[] = {
    {.name = "WINDOW_BOUND", .params = "slll", .type = bound_type, .build = build_bound},
};

}  // namespace

std::span<const Function> window_bound_functions() { return kFunctions; }

}  // namespace strand::expr
