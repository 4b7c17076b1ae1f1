// Casts among numbers and BOOLEAN: integers wrap, doubles saturate, what does not fit a DECIMAL is NULL.
#include <cmath>
#include <limits>

#include "expr/cast.h"
#include "expr/decimal.h"

namespace strand::expr {

namespace {

/// Java's d2i and d2l: NaN is 0, what is too large the nearest value. TINYINT and SMALLINT are cut from an
/// INT.
template <class Out, class In>
Out saturated(In value) {
  using Wide = std::conditional_t<sizeof(Out) == 8, int64_t, int32_t>;
  constexpr In kLow = static_cast<In>(std::numeric_limits<Wide>::min());
  if (std::isnan(value)) return 0;
  if (value <= kLow) return static_cast<Out>(std::numeric_limits<Wide>::min());
  if (value >= -kLow) return static_cast<Out>(std::numeric_limits<Wide>::max());
  return static_cast<Out>(static_cast<Wide>(value));
}

template <class In, class Out>
Out convert(In value) {
  if constexpr (std::is_floating_point_v<In> && std::is_integral_v<Out>)
    return saturated<Out>(value);
  else
    return static_cast<Out>(value);
}

NodePtr to_decimal(const CastCall& cast, Nodes args) {
  const DecimalType out{cast.to->precision, cast.to->scale};
  return with_storage(cast.from->kind, [&]<class In>(Storage<In>) {
    return make_row_call<Int128, In>(cast.to, std::move(args),
                                     [out, scale = cast.from->scale](Int128& to, In value) {
                                       std::optional<Int128> result;
                                       if constexpr (std::is_floating_point_v<In>)
                                         result = decimal_of(static_cast<double>(value), out);
                                       else
                                         result = rescale(value, scale, out.scale, out.precision);
                                       to = result.value_or(0);
                                       return result.has_value();
                                     });
  });
}

NodePtr from_decimal(const CastCall& cast, Nodes args) {
  const int scale = cast.from->scale;
  return with_storage(cast.to->kind, [&]<class Out>(Storage<Out>) {
    return make_row_call<Out, Int128>(cast.to, std::move(args), [scale](Out& to, Int128 value) {
      if constexpr (std::is_floating_point_v<Out>)
        to = static_cast<Out>(to_double(value, scale));
      else
        to = static_cast<Out>(value / power_of_ten(scale));
      return true;
    });
  });
}

NodePtr from_boolean(const CastCall& cast, Nodes args) {
  return with_storage(cast.to->kind, [&]<class Out>(Storage<Out>) {
    Out one = 1;
    bool has_one = true;  // DECIMAL(2, 2) has none
    if constexpr (std::is_same_v<Out, Int128>) {
      has_one = cast.to->scale < cast.to->precision;
      one = power_of_ten(cast.to->scale);
    }
    return make_row_call<Out, bool>(cast.to, std::move(args), [one, has_one](Out& to, bool value) {
      to = value ? one : Out{0};
      return has_one || !value;
    });
  });
}

NodePtr to_boolean(const CastCall& cast, Nodes args) {
  return with_storage(cast.from->kind, [&]<class In>(Storage<In>) {
    return make_row_call<bool, In>(cast.to, std::move(args), [](auto&& to, In value) {
      to = value != 0;
      return true;
    });
  });
}

}  // namespace

NodePtr cast_number(const CastCall& cast, Nodes args) {
  if (cast.from->kind == TypeKind::kBoolean) return from_boolean(cast, std::move(args));
  if (cast.to->kind == TypeKind::kBoolean) return to_boolean(cast, std::move(args));
  if (cast.to->kind == TypeKind::kDecimal) return to_decimal(cast, std::move(args));
  if (cast.from->kind == TypeKind::kDecimal) return from_decimal(cast, std::move(args));
  return with_storage(cast.from->kind, [&]<class In>(Storage<In>) {
    return with_storage(cast.to->kind, [&]<class Out>(Storage<Out>) -> NodePtr {
      return make_call(cast.to, std::move(args), {},
                       [type = cast.to](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                         return map_values<In, Out>(scope, v[0], type, convert<In, Out>);
                       });
    });
  });
}

}  // namespace strand::expr
