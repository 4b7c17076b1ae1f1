// ROUND, TRUNCATE, FLOOR and CEIL of numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "expr/decimal.h"
#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// A double at `digits` decimals, decided on its shortest decimal text: 1.005 at 2 is 1.01.
double round_double(double value, int64_t digits, Rounding rounding) {
  if (!std::isfinite(value) || digits > 30) return value;
  const int scale = static_cast<int>(std::max<int64_t>(digits, 0));
  const auto unscaled = [&](int at) {
    if (rounding == Rounding::kHalfUp) return decimal_of(value, {38, at});
    // Cut behind enough digits that nothing was rounded up before.
    const std::optional<Int128> whole = decimal_of(value, {38, std::min(at + 17, 38)});
    return whole ? rescale(*whole, std::min(at + 17, 38), at, 38, rounding) : whole;
  }(scale);
  if (!unscaled) return value;
  if (digits >= 0) return to_double(*unscaled, scale);
  if (digits < -38) return 0;
  const std::optional<Int128> tens = rescale(*unscaled, 0, static_cast<int>(digits), 38, rounding);
  return tens ? std::strtod(
                    (std::to_string(static_cast<int64_t>(*tens)) + "e" + std::to_string(-digits)).c_str(),
                    nullptr)
              : value;
}

template <class T>
T round_integer(T value, int64_t digits, Rounding rounding) {
  if (digits >= 0) return value;
  if (digits < -19) return 0;
  const Int128 unit = power_of_ten(static_cast<int>(-digits));
  const Int128 wide = value;
  return static_cast<T>((rounding == Rounding::kHalfUp ? divide_half_up(wide, unit) : wide / unit) * unit);
}

template <Rounding rounding>
Result<NodePtr> build_round(const Expr& e, Nodes args, const Environment&) {
  const TypePtr from = args[0]->type();
  if (e.type->kind == TypeKind::kDecimal) {
    return make_row_call<Int128, Int128, int32_t>(
        e.type, std::move(args),
        [scale = from->scale, out = DecimalType{e.type->precision, e.type->scale}](Int128& to, Int128 value,
                                                                                   int32_t digits) {
          // Rounds at `digits`, then gives the zeros back that the type's scale wants.
          const int at = std::min({std::max(digits, -39), scale, out.scale});  // with -39 nothing is left
          std::optional<Int128> result = rescale(value, scale, at, 38, rounding);
          if (result) result = rescale(*result, at, out.scale, out.precision);
          to = result.value_or(0);
          return result.has_value();
        });
  }
  return with_storage(e.type->kind, [&]<class T>(Storage<T>) -> Result<NodePtr> {
    if constexpr (std::is_floating_point_v<T>) {
      const char* name = rounding == Rounding::kHalfUp ? "ROUND" : "TRUNCATE";
      return make_failing_call<T, T, int32_t>(e.type, std::move(args), name, ErrorCode::kBadValue,
                                              "has no decimal digits", [](T& to, T value, int32_t digits) {
                                                to = static_cast<T>(round_double(value, digits, rounding));
                                                return std::isfinite(value) ? Row::kValue : Row::kFailed;
                                              });
    } else {
      return make_row_call<T, T, int32_t>(e.type, std::move(args), [](T& to, T value, int32_t digits) {
        to = round_integer(value, digits, rounding);
        return true;
      });
    }
  });
}

/// FLOAT is rounded as a FLOAT; a DECIMAL's new scale comes from a literal number of digits, else from 0.
Result<ExprPtr> resolve_round(const Function& function, Args args) {
  if (args.size() == 1) args.push_back(literal(int64_t{0}, columnar::make_type(TypeKind::kInt, false)));
  TypePtr type = args[0]->type;
  if (type->kind == TypeKind::kDecimal) {
    const int64_t* digits = literal_integer(*args[1]);
    type = rounded_decimal(*type,
                           digits != nullptr ? static_cast<int>(std::clamp<int64_t>(*digits, -38, 38)) : 0);
  }
  const bool nullable = any_nullable(args);
  return call(std::string(function.name), std::move(args), columnar::with_nullable(type, nullable));
}

template <Rounding rounding>
Result<NodePtr> build_whole(const Expr& e, Nodes args, const Environment&) {
  if (e.type->kind == TypeKind::kDecimal) {
    return make_row_call<Int128, Int128>(
        e.type, std::move(args),
        [scale = args[0]->type()->scale, precision = e.type->precision](Int128& to, Int128 value) {
          const std::optional<Int128> result = rescale(value, scale, 0, precision, rounding);
          to = result.value_or(0);
          return result.has_value();
        });
  }
  return with_storage(e.type->kind, [&]<class T>(Storage<T>) -> Result<NodePtr> {
    return make_row_call<T, T>(e.type, std::move(args), [](T& to, T value) {
      if constexpr (std::is_floating_point_v<T>) {
        to = rounding == Rounding::kFloor ? std::floor(value) : std::ceil(value);
      } else {
        to = value;
      }
      return true;
    });
  });
}

Result<ExprPtr> resolve_whole(const Function& function, Args args) {
  const TypePtr& type = args[0]->type;
  if (columnar::is_integer(type->kind)) return args[0];
  const TypePtr whole =
      type->kind == TypeKind::kDecimal ? columnar::decimal_type(type->precision, 0, type->nullable) : type;
  const std::string name = function.name == "CEILING" ? "CEIL" : std::string(function.name);
  return call(name, std::move(args), whole);
}

constexpr Function kFunctions[] = {
    {.name = "ROUND", .params = "n[i", .build = build_round<Rounding::kHalfUp>, .resolve = resolve_round},
    {.name = "TRUNCATE", .params = "n[i", .build = build_round<Rounding::kDown>, .resolve = resolve_round},
    {.name = "FLOOR", .params = "n", .build = build_whole<Rounding::kFloor>, .resolve = resolve_whole},
    {.name = "CEIL", .params = "n", .build = build_whole<Rounding::kCeiling>, .resolve = resolve_whole},
    {.name = "CEILING", .params = "n", .resolve = resolve_whole},
};

}  // namespace

std::span<const Function> rounding_functions() { return kFunctions; }

}  // namespace strand::expr
