// + - * / % and unary minus, for numbers, times and intervals.
#include <cmath>

#include "expr/civil.h"
#include "expr/decimal.h"
#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using columnar::make_type;

// Integers wrap, as in Java. Types narrower than int are computed in int, which cannot overflow.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  }
}
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
// The divisor is not 0. The lowest value divided by -1 is itself.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      return b == -1 ? Subtract()(T{0}, a) : static_cast<T>(a / b);
    }
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(std::fmod(a, b));
    } else {
      return b == -1 ? T{0} : static_cast<T>(a % b);
    }
  }
};

template <class T, class Op>
NodePtr zip_node(const TypePtr& type, Nodes args) {
  return make_call(type, std::move(args), {},
                   [type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     return zip_values<T, T, T>(scope, v, type, Op());
                   });
}

/// An integer division: a divisor that is not a constant other than 0 is looked at row by row.
template <class T, class Op>
NodePtr division_node(const TypePtr& type, Nodes args, const char* name) {
  const Value* divisor = args[1]->literal();
  if (divisor != nullptr && !divisor->column->is_null(0) && divisor->column->values<T>()[0] != 0) {
    return zip_node<T, Op>(type, std::move(args));
  }
  return make_failing_call<T, T, T>(type, std::move(args), name, ErrorCode::kBadValue, "division by zero",
                                    [](T& out, T a, T b) {
                                      if (b == 0) return Row::kFailed;
                                      out = Op()(a, b);
                                      return Row::kValue;
                                    });
}

DecimalType decimal_of_type(const TypePtr& type) { return {type->precision, type->scale}; }

template <class F>
NodePtr decimal_node(const TypePtr& type, Nodes args, F f) {
  return make_row_call<Int128, Int128, Int128>(type, std::move(args),
                                               [f, a = args[0]->type()->scale, b = args[1]->type()->scale,
                                                out = decimal_of_type(type)](Int128& to, Int128 x, Int128 y) {
                                                 const std::optional<Int128> result = f(x, a, y, b, out);
                                                 to = result.value_or(0);
                                                 return result.has_value();
                                               });
}

template <class F>
NodePtr decimal_division_node(const TypePtr& type, Nodes args, const char* name, F f) {
  return make_failing_call<Int128, Int128, Int128>(
      type, std::move(args), name, ErrorCode::kBadValue, "division by zero",
      [f, a = args[0]->type()->scale, b = args[1]->type()->scale, out = decimal_of_type(type)](
          Int128& to, Int128 x, Int128 y) {
        if (y == 0) return Row::kFailed;
        const std::optional<Int128> result = f(x, a, y, b, out);
        to = result.value_or(0);
        return result.has_value() ? Row::kValue : Row::kNull;
      });
}

template <char op>
NodePtr number_node(const TypePtr& type, Nodes args) {
  if (type->kind == TypeKind::kDecimal) {
    if constexpr (op == '+') return decimal_node(type, std::move(args), add);
    if constexpr (op == '-') {
      return decimal_node(type, std::move(args), [](Int128 a, int as, Int128 b, int bs, DecimalType out) {
        return add(a, as, -b, bs, out);
      });
    }
    if constexpr (op == '*') return decimal_node(type, std::move(args), multiply);
    if constexpr (op == '/') return decimal_division_node(type, std::move(args), "/", divide);
    return decimal_division_node(type, std::move(args), "%", remainder);
  }
  return with_storage(type->kind, [&]<class T>(Storage<T>) -> NodePtr {
    if constexpr (std::is_same_v<T, Int128>) {
      return nullptr;
    } else {
      if constexpr (op == '+') return zip_node<T, Add>(type, std::move(args));
      if constexpr (op == '-') return zip_node<T, Subtract>(type, std::move(args));
      if constexpr (op == '*') return zip_node<T, Multiply>(type, std::move(args));
      using Op = std::conditional_t<op == '/', Divide, Remainder>;
      if constexpr (std::is_floating_point_v<T>)
        return zip_node<T, Op>(type, std::move(args));
      else
        return division_node<T, Op>(type, std::move(args), op == '/' ? "/" : "%");
    }
  });
}

/// A point in time and an interval; `sign` -1 subtracts.
NodePtr moment_node(const TypePtr& type, Nodes args, int64_t sign) {
  const bool months = args[1]->type()->kind == TypeKind::kIntervalMonths;
  if (type->kind == TypeKind::kTime) {
    return make_row_call<int32_t, int32_t, int64_t>(
        type, std::move(args), [sign, months](int32_t& out, int32_t time, int64_t interval) {
          out =
              months
                  ? time
                  : static_cast<int32_t>(floor_mod(time + sign * (interval % kMillisPerDay), kMillisPerDay));
          return true;
        });
  }
  if (type->kind == TypeKind::kDate) {
    return make_row_call<int32_t, int32_t, int64_t>(
        type, std::move(args), [sign, months](int32_t& out, int32_t date, int64_t interval) {
          out = static_cast<int32_t>(months ? add_months(date, sign * interval)
                                            : date + sign * (interval / kMillisPerDay));
          return true;
        });
  }
  const int64_t units = columnar::timestamp_units(type->precision);
  if (months) {
    return make_row_call<int64_t, int64_t, int64_t>(
        type, std::move(args), [sign, day = units * 86'400](int64_t& out, int64_t time, int64_t interval) {
          out = add_months(floor_div(time, day), sign * interval) * day + floor_mod(time, day);
          return true;
        });
  }
  return make_call(
      type, std::move(args), {},
      [type, factor = sign * (units / 1'000)](const Scope& scope, std::span<const Value> v) -> Result<Value> {
        return zip_values<int64_t, int64_t, int64_t>(
            scope, v, type, [factor](int64_t t, int64_t i) { return Add()(t, Multiply()(i, factor)); });
      });
}

template <char op>
Result<NodePtr> build_arithmetic(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 1) {
    return with_storage(e.type->kind, [&]<class T>(Storage<T>) -> NodePtr {
      return make_call(e.type, std::move(args), {},
                       [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                         return map_values<T, T>(scope, v[0], type, [](T a) {
                           if constexpr (std::is_integral_v<T> && sizeof(T) <= 8)
                             return Subtract()(T{0}, a);
                           else
                             return static_cast<T>(-a);
                         });
                       });
    });
  }
  const TypeKind kind = args[0]->type()->kind;
  if constexpr (op == '+' || op == '-') {
    const bool moment = is_timestamp(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
    if (moment) return moment_node(e.type, std::move(args), op == '+' ? 1 : -1);
  }
  return number_node<op>(e.type, std::move(args));
}

bool is_moment(TypeKind kind) {
  return is_timestamp(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
}

/// What + - * have beside numbers; null if nothing fits.
ExprPtr resolve_interval(char op, const Args& args) {
  const TypePtr& a = args[0]->type;
  const TypePtr& b = args[1]->type;
  const bool nullable = any_nullable(args);
  const auto make = [&](const ExprPtr& x, const ExprPtr& y, const TypePtr& type) {
    return call(std::string(1, op), {x, y}, columnar::with_nullable(type, nullable));
  };
  if (op == '*') {
    if (is_interval(a->kind) && columnar::is_integer(b->kind))
      return make(args[0], coerce(args[1], make_type(TypeKind::kBigInt)), a);
    if (is_interval(b->kind) && columnar::is_integer(a->kind))
      return make(args[1], coerce(args[0], make_type(TypeKind::kBigInt)), b);
    return nullptr;
  }
  if (op != '+' && op != '-') return nullptr;
  if (is_interval(a->kind) && a->kind == b->kind) return make(args[0], args[1], a);
  if (is_moment(a->kind) && is_interval(b->kind)) return make(args[0], args[1], a);
  if (op == '+' && is_interval(a->kind) && is_moment(b->kind)) return make(args[1], args[0], b);
  return nullptr;
}

Result<ExprPtr> resolve_numbers(char op, Args args) {
  for (size_t i = 0; i < 2; ++i) {
    if (!is_null_literal(*args[i])) continue;
    const TypePtr& other = args[1 - i]->type;
    args[i] = coerce(args[i], other->kind == TypeKind::kNull ? make_type(TypeKind::kInt) : other);
  }
  const TypePtr type = arithmetic_type(op, *args[0]->type, *args[1]->type);
  if (type == nullptr) return does_not_take(std::string(1, op), args);
  if (type->kind == TypeKind::kDecimal) {
    const DecimalShape divisor = decimal_shape(*args[1]->type);
    // The remainder of whole numbers has the type of the divisor.
    const bool whole = op == '%' && decimal_shape(*args[0]->type).scale == 0 && divisor.scale == 0;
    const TypePtr result = whole ? columnar::with_nullable(args[1]->type, type->nullable) : type;
    for (ExprPtr& arg : args) {
      const DecimalShape shape = decimal_shape(*arg->type);
      arg = coerce(arg, columnar::decimal_type(shape.precision, shape.scale));
    }
    const TypePtr exact = whole ? columnar::decimal_type(divisor.precision, 0, type->nullable) : type;
    return coerce(call(std::string(1, op), std::move(args), exact), result);
  }
  TypePtr wide = type;
  if (op == '%' && columnar::is_integer(type->kind)) {
    wide = make_type(std::max(args[0]->type->kind, args[1]->type->kind));
  }
  for (ExprPtr& arg : args) arg = coerce(arg, wide);
  ExprPtr result = call(std::string(1, op), std::move(args), columnar::with_nullable(wide, type->nullable));
  return coerce(result, type);
}

template <char op>
Result<ExprPtr> resolve_arithmetic(const Function&, Args args) {
  if (args.size() == 1) {
    const TypePtr& type = args[0]->type;
    if (!columnar::is_numeric(type->kind) && !is_interval(type->kind))
      return does_not_take(std::string(1, op), args);
    if (op == '+') return args[0];
    return call("-", std::move(args), type);
  }
  if (ExprPtr interval = resolve_interval(op, args)) return interval;
  return resolve_numbers(op, std::move(args));
}

constexpr Function kFunctions[] = {
    {.name = "+", .params = "a[a", .build = build_arithmetic<'+'>, .resolve = resolve_arithmetic<'+'>},
    {.name = "-", .params = "a[a", .build = build_arithmetic<'-'>, .resolve = resolve_arithmetic<'-'>},
    {.name = "*", .params = "aa", .build = build_arithmetic<'*'>, .resolve = resolve_arithmetic<'*'>},
    {.name = "/", .params = "aa", .build = build_arithmetic<'/'>, .resolve = resolve_arithmetic<'/'>},
    {.name = "%", .params = "aa", .build = build_arithmetic<'%'>, .resolve = resolve_arithmetic<'%'>},
    {.name = "MOD", .params = "nn", .resolve = resolve_arithmetic<'%'>},
};

}  // namespace

std::span<const Function> arithmetic_functions() { return kFunctions; }

}  // namespace strand::expr
