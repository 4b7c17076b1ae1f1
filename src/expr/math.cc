// ABS, SIGN, powers, logarithms, angles, GREATEST and LEAST.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "expr/decimal.h"
#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

Result<TypePtr> same_type(const Args& args) { return args[0]->type; }

template <class T>
T absolute(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(v);
  } else if constexpr (sizeof(T) <= 8) {
    // The lowest value stays, as in Java.
    return v < 0 ? static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(v)) : v;
  } else {
    return v < 0 ? -v : v;
  }
}

template <class F>
Result<NodePtr> map_same(const Expr& e, Nodes args, F f) {
  return with_storage(e.type->kind, [&]<class T>(Storage<T>) -> Result<NodePtr> {
    return make_call(e.type, std::move(args), {},
                     [type = e.type, f](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                       return map_values<T, T>(scope, v[0], type, [f](T a) -> T { return f(a); });
                     });
  });
}

Result<NodePtr> build_abs(const Expr& e, Nodes args, const Environment&) {
  return map_same(e, std::move(args), [](auto v) { return absolute(v); });
}

Result<NodePtr> build_sign(const Expr& e, Nodes args, const Environment&) {
  const Int128 one = e.type->kind == TypeKind::kDecimal ? power_of_ten(e.type->scale) : Int128{1};
  return map_same(e, std::move(args), [one](auto v) {
    using T = decltype(v);
    return v > 0 ? static_cast<T>(one) : v < 0 ? static_cast<T>(-one) : v;
  });
}

template <double (*f)(double)>
Result<NodePtr> build_real(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     return map_values<double, double>(scope, v[0], type, [](double a) { return f(a); });
                   });
}

template <double (*f)(double, double)>
Result<NodePtr> build_real2(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     return zip_values<double, double, double>(scope, v, type,
                                                               [](double a, double b) { return f(a, b); });
                   });
}

/// fdlibm's exp, which is off by one unit where the library's is not: Java's cosh and sinh show it.
/// Source: fdlibm, e_exp.c (the rational approximation and its coefficients).
double java_exp(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double size = std::fabs(x);
  if (size < 0.5 * std::numbers::ln2 || size > 700) return std::exp(x);
  const int k = size < 1.5 * std::numbers::ln2
                    ? (x < 0 ? -1 : 1)
                    : static_cast<int>(x / std::numbers::ln2 + (x < 0 ? -0.5 : 0.5));
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double t = r * r;
  const double c = r - t * (1.66666666666666019037e-01 +
                            t * (-2.77777777770155933842e-03 +
                                 t * (6.61375632143793436117e-05 +
                                      t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  return std::ldexp(1 - ((low - (r * c) / (2 - c)) - high), k);
}

double hyperbolic_cosine(double v) {
  const double size = std::fabs(v);
  if (!(size >= 0.5 * std::numbers::ln2) || size > 22) return std::cosh(v);
  const double t = java_exp(size);
  return 0.5 * t + 0.5 / t;
}
double cotangent(double v) { return 1 / std::tan(v); }
double degrees(double v) { return v * 180 / std::numbers::pi; }
double radians(double v) { return v / 180 * std::numbers::pi; }
double log_base(double base, double v) { return std::log(v) / std::log(base); }

Result<NodePtr> build_log(const Expr& e, Nodes args, const Environment& environment) {
  return args.size() == 1 ? build_real<std::log>(e, std::move(args), environment)
                          : build_real2<log_base>(e, std::move(args), environment);
}

Result<ExprPtr> resolve_pi(const Function&, Args) {
  return literal(std::numbers::pi, columnar::make_type(TypeKind::kDouble, false));
}
Result<ExprPtr> resolve_e(const Function&, Args) {
  return literal(std::numbers::e, columnar::make_type(TypeKind::kDouble, false));
}

template <bool kGreatest>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    return (kGreatest ? a < b : b < a) ? b : a;
  }
};

template <bool kGreatest>
Result<NodePtr> build_extreme(const Expr& e, Nodes args, const Environment&) {
  if (is_text(e.type->kind)) {
    return make_call(e.type, std::move(args), {},
                     [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                       const BufferPtr present = combined_validity(v, scope.length);
                       const std::vector<Reader<std::string_view>> in(v.begin(), v.end());
                       TextWriter out(scope.length);
                       each_present(scope, present, [&](int64_t row) {
                         std::string_view best = in[0][row];
                         for (const auto& next : in) best = Extreme<kGreatest>()(best, next[row]);
                         out.begin(row);
                         out.append(best);
                         return true;
                       });
                       return out.finish(type, present);
                     });
  }
  return with_storage(e.type->kind, [&]<class T>(Storage<T>) -> Result<NodePtr> {
    return make_call(e.type, std::move(args), {},
                     [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                       Value best = v[0];
                       for (size_t i = 1; i < v.size(); ++i) {
                         const Value pair[] = {best, v[i]};
                         const bool constant = best.constant && v[i].constant;
                         best = zip_values<T, T, T>(constant ? scope.single() : scope, pair, type,
                                                    Extreme<kGreatest>());
                         best.constant = constant;
                       }
                       return best;
                     });
  });
}

/// The value itself, which must be a number.
Result<NodePtr> build_finite(const Expr& e, Nodes args, const Environment&) {
  return make_failing_call<double, double>(e.type, std::move(args), "LEAST or GREATEST", ErrorCode::kBadValue,
                                           "cannot be compared with a DECIMAL",
                                           [](double& out, double value) {
                                             out = value;
                                             return std::isfinite(value) ? Row::kValue : Row::kFailed;
                                           });
}

Result<ExprPtr> resolve_extreme(const Function& function, Args args) {
  std::vector<TypePtr> types;
  for (const ExprPtr& arg : args) types.push_back(arg->type);
  const TypePtr type = common_type(types);
  const bool decimals =
      std::ranges::any_of(types, [](const TypePtr& t) { return t->kind == TypeKind::kDecimal; });
  for (ExprPtr& arg : args) {
    if (decimals && is_approximate(arg->type->kind)) {
      const TypePtr real = columnar::make_type(TypeKind::kDouble, arg->type->nullable);
      arg = call("FINITE", {coerce(arg, real)}, real);
    }
  }
  if (type == nullptr || is_nested(type->kind) || type->kind == TypeKind::kBoolean) {
    return does_not_take(function.name, args);
  }
  for (ExprPtr& arg : args) arg = coerce(arg, type);
  if (args.size() == 1 || type->kind == TypeKind::kNull) return args[0];
  return call(std::string(function.name), std::move(args), type);
}

constexpr auto kReal = returns<TypeKind::kDouble>;

constexpr Function kFunctions[] = {
    {.name = "ABS", .params = "n", .type = same_type, .build = build_abs},
    {.name = "SIGN", .params = "n", .type = same_type, .build = build_sign},
    {.name = "GREATEST", .params = "a[a*", .build = build_extreme<true>, .resolve = resolve_extreme},
    {.name = "LEAST", .params = "a[a*", .build = build_extreme<false>, .resolve = resolve_extreme},
    {.name = "FINITE", .params = "d", .type = same_type, .build = build_finite},
    {.name = "POWER", .params = "dd", .type = kReal, .build = build_real2<std::pow>},
    {.name = "SQRT", .params = "d", .type = kReal, .build = build_real<std::sqrt>},
    {.name = "EXP", .params = "d", .type = kReal, .build = build_real<std::exp>},
    {.name = "LN", .params = "d", .type = kReal, .build = build_real<std::log>},
    {.name = "LOG", .params = "d[d", .type = kReal, .build = build_log},
    {.name = "LOG10", .params = "d", .type = kReal, .build = build_real<std::log10>},
    {.name = "LOG2", .params = "d", .type = kReal, .build = build_real<std::log2>},
    {.name = "SIN", .params = "d", .type = kReal, .build = build_real<std::sin>},
    {.name = "COS", .params = "d", .type = kReal, .build = build_real<std::cos>},
    {.name = "TAN", .params = "d", .type = kReal, .build = build_real<std::tan>},
    {.name = "COT", .params = "d", .type = kReal, .build = build_real<cotangent>},
    {.name = "ASIN", .params = "d", .type = kReal, .build = build_real<std::asin>},
    {.name = "ACOS", .params = "d", .type = kReal, .build = build_real<std::acos>},
    {.name = "ATAN", .params = "d", .type = kReal, .build = build_real<std::atan>},
    {.name = "ATAN2", .params = "dd", .type = kReal, .build = build_real2<std::atan2>},
    {.name = "SINH", .params = "d", .type = kReal, .build = build_real<std::sinh>},
    {.name = "COSH", .params = "d", .type = kReal, .build = build_real<hyperbolic_cosine>},
    {.name = "TANH", .params = "d", .type = kReal, .build = build_real<std::tanh>},
    {.name = "DEGREES", .params = "d", .type = kReal, .build = build_real<degrees>},
    {.name = "RADIANS", .params = "d", .type = kReal, .build = build_real<radians>},
    {.name = "PI", .params = "", .resolve = resolve_pi},
    {.name = "E", .params = "", .resolve = resolve_e},
};

}  // namespace

std::span<const Function> math_functions() { return kFunctions; }

}  // namespace strand::expr
