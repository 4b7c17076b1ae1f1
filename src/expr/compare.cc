#include "expr/compare.h"

#include "expr/registry.h"

namespace strand::expr {

namespace {

/// Calls f with the comparison as a function object, so that each has a loop of its own.
template <class F>
Value with_comparison(Comparison op, F&& f) {
  switch (op) {
    case Comparison::kEqual:
      return f([](const auto& a, const auto& b) { return a == b; });
    case Comparison::kNotEqual:
      return f([](const auto& a, const auto& b) { return a != b; });
    case Comparison::kLess:
      return f([](const auto& a, const auto& b) { return a < b; });
    case Comparison::kLessEqual:
      return f([](const auto& a, const auto& b) { return a <= b; });
    case Comparison::kGreater:
      return f([](const auto& a, const auto& b) { return a > b; });
    case Comparison::kGreaterEqual:
      break;
  }
  return f([](const auto& a, const auto& b) { return a >= b; });
}

Value compare_text_to_literal(bool equal, const Scope& scope, std::span<const Value> args,
                              const TypePtr& type) {
  const Needle needle(args[1].column->string(0));
  const int32_t* offsets = args[0].column->offsets();
  const char* bytes = args[0].column->parts().values->data();
  Bits found = test_rows(scope, [&](int64_t row) {
    const auto size = static_cast<size_t>(offsets[row + 1] - offsets[row]);
    return needle.equals(bytes + offsets[row], size) == equal;
  });
  return make_value(type, scope.length, combined_validity(args, scope.length), found.take());
}

Value compare_text(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type) {
  const bool equality = op == Comparison::kEqual || op == Comparison::kNotEqual;
  if (equality && args[1].constant && !args[0].constant) {
    return compare_text_to_literal(op == Comparison::kEqual, scope, args, type);
  }
  if (equality && args[0].constant && !args[1].constant) {
    const Value swapped[] = {args[1], args[0]};
    return compare_text_to_literal(op == Comparison::kEqual, scope, swapped, type);
  }
  const Reader<std::string_view> a(args[0]);
  const Reader<std::string_view> b(args[1]);
  return with_comparison(op, [&](auto compare) {
    Bits found = test_rows(scope, [&](int64_t row) { return compare(a[row], b[row]); });
    return make_value(type, scope.length, combined_validity(args, scope.length), found.take());
  });
}

Value compare_booleans(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type) {
  const WordReader a = WordReader::of_values(*args[0].column, args[0].constant);
  const WordReader b = WordReader::of_values(*args[1].column, args[1].constant);
  Bits out(scope.length);
  for (int64_t w = 0; w < out.count(); ++w) {
    const uint64_t x = a[w];
    const uint64_t y = b[w];
    uint64_t& word = out.words()[w];
    switch (op) {
      case Comparison::kEqual:
        word = ~(x ^ y);
        break;
      case Comparison::kNotEqual:
        word = x ^ y;
        break;
      case Comparison::kLess:
        word = ~x & y;
        break;
      case Comparison::kLessEqual:
        word = ~x | y;
        break;
      case Comparison::kGreater:
        word = x & ~y;
        break;
      case Comparison::kGreaterEqual:
        word = x | ~y;
        break;
    }
  }
  return make_value(type, scope.length, combined_validity(args, scope.length), out.take());
}

Value compare_nested(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type) {
  const BufferPtr present = combined_validity(args, scope.length);
  Bits bits(scope.length, false);
  each_present(scope, present, [&](int64_t row) {
    const bool same = equal_rows(*args[0].column, args[0].row(row), *args[1].column, args[1].row(row));
    if (same == (op == Comparison::kEqual)) set_bit(bits.words(), row);
    return true;
  });
  return make_value(type, scope.length, present, bits.take());
}

/// A scope this much smaller than the batch is worth going through row by row.
constexpr int64_t kSparse = 16;

Value compare_fixed(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type) {
  return with_storage(args[0].column->type()->kind, [&]<class T>(Storage<T>) {
    return with_comparison(op, [&](auto compare) {
      if (scope.count() * kSparse >= scope.length) {
        return zip_bits<T, T>(scope, args, type, [compare](T a, T b) { return compare(a, b); });
      }
      const Reader<T> a(args[0]);
      const Reader<T> b(args[1]);
      Bits found = test_rows(scope, [&](int64_t row) { return compare(a[row], b[row]); });
      return make_value(type, scope.length, combined_validity(args, scope.length), found.take());
    });
  });
}

template <Comparison op>
Result<NodePtr> build_comparison(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) {
                     return Result<Value>(compare_values(op, scope, v, type));
                   });
}

/// NULL is a value like others here, and equal to itself.
template <bool kDistinct>
Result<NodePtr> build_distinct(const Expr& e, Nodes args, const Environment&) {
  return make_call(
      e.type, std::move(args), {.strict = false},
      [type = e.type](const Scope& scope, std::span<const Value> v) {
        const WordReader x = WordReader::of_validity(*v[0].column, v[0].constant);
        const WordReader y = WordReader::of_validity(*v[1].column, v[1].constant);
        const bool comparable = !v[0].always_null() && !v[1].always_null();
        const Value same = comparable ? compare_values(Comparison::kEqual, scope, v, type) : Value{};
        const WordReader equal = comparable ? WordReader::of_values(*same.column, false) : WordReader(false);
        Bits out(scope.length);
        for (int64_t w = 0; w < out.count(); ++w) {
          const uint64_t distinct = (x[w] ^ y[w]) | (x[w] & y[w] & ~equal[w]);
          out.words()[w] = kDistinct ? distinct : ~distinct;
        }
        return Result<Value>(make_value(type, scope.length, nullptr, out.take()));
      });
}

Result<ExprPtr> coerced(const Function& function, Args args, bool equality) {
  const TypePtr type = comparison_type(*args[0]->type, *args[1]->type, equality);
  if (type == nullptr || (!equality && is_nested(type->kind))) {
    return does_not_take(function.name, args);
  }
  const bool is = function.name.starts_with("IS ");
  TypePtr result = columnar::make_type(TypeKind::kBoolean, !is && any_nullable(args));
  if (type->kind == TypeKind::kNull)
    return literal(std::monostate{}, columnar::make_type(TypeKind::kBoolean));
  // The same value twice, NaN included, is equal to itself.
  if (function.name == "=" && is_approximate(type->kind) && equal(*args[0], *args[1]) &&
      !reads_clock(*args[0])) {
    STRAND_TRY(ExprPtr missing, resolve_call("IS NULL", {args[0]}));
    const TypePtr truth = columnar::make_type(TypeKind::kBoolean, true);
    return call("CASE", {std::move(missing), literal(std::monostate{}, truth), literal(true, truth)}, result);
  }
  for (ExprPtr& arg : args) arg = coerce(arg, type);
  return call(std::string(function.name), std::move(args), std::move(result));
}

Result<ExprPtr> resolve_equality(const Function& f, Args args) { return coerced(f, std::move(args), true); }
Result<ExprPtr> resolve_order(const Function& f, Args args) { return coerced(f, std::move(args), false); }

using enum Comparison;
constexpr Function kFunctions[] = {
    {.name = "=", .params = "aa", .build = build_comparison<kEqual>, .resolve = resolve_equality},
    {.name = "<>", .params = "aa", .build = build_comparison<kNotEqual>, .resolve = resolve_equality},
    {.name = "<", .params = "aa", .build = build_comparison<kLess>, .resolve = resolve_order},
    {.name = "<=", .params = "aa", .build = build_comparison<kLessEqual>, .resolve = resolve_order},
    {.name = ">", .params = "aa", .build = build_comparison<kGreater>, .resolve = resolve_order},
    {.name = ">=", .params = "aa", .build = build_comparison<kGreaterEqual>, .resolve = resolve_order},
    {.name = "IS DISTINCT FROM", .params = "aa", .build = build_distinct<true>, .resolve = resolve_equality},
    {.name = "IS NOT DISTINCT FROM",
     .params = "aa",
     .build = build_distinct<false>,
     .resolve = resolve_equality},
};

}  // namespace

Value compare_values(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type) {
  const TypeKind kind = args[0].column->type()->kind;
  if (kind == TypeKind::kBoolean) return compare_booleans(op, scope, args, type);
  if (is_text(kind)) return compare_text(op, scope, args, type);
  if (is_nested(kind)) return compare_nested(op, scope, args, type);
  return compare_fixed(op, scope, args, type);
}

namespace {

/// Entries have no order.
bool equal_maps(const Column& a, int64_t i, const Column& b, int64_t j) {
  const auto same = [](const Column& x, int64_t r, const Column& y, int64_t s) {
    if (x.is_null(r) || y.is_null(s)) return x.is_null(r) && y.is_null(s);
    return equal_rows(x, r, y, s);
  };
  const int64_t begin = b.offsets()[j];
  const int64_t end = b.offsets()[j + 1];
  if (a.offsets()[i + 1] - a.offsets()[i] != end - begin) return false;
  for (int64_t k = a.offsets()[i]; k < a.offsets()[i + 1]; ++k) {
    int64_t at = begin;
    while (at < end && !same(*a.child(0), k, *b.child(0), at)) ++at;
    if (at == end || !same(*a.child(1), k, *b.child(1), at)) return false;
  }
  return true;
}

}  // namespace

bool equal_rows(const Column& a, int64_t i, const Column& b, int64_t j) {
  const auto same = [](const Column& x, int64_t r, const Column& y, int64_t s) {
    if (x.is_null(r) || y.is_null(s)) return x.is_null(r) && y.is_null(s);
    return equal_rows(x, r, y, s);
  };
  switch (a.type()->kind) {
    case TypeKind::kBoolean:
      return a.boolean(i) == b.boolean(j);
    case TypeKind::kString:
    case TypeKind::kBytes:
      return a.string(i) == b.string(j);
    case TypeKind::kRow:
      for (size_t field = 0; field < a.type()->children.size(); ++field) {
        if (!same(*a.child(field), i, *b.child(field), j)) return false;
      }
      return true;
    case TypeKind::kMap:
      return equal_maps(a, i, b, j);
    case TypeKind::kArray: {
      const int32_t size = a.offsets()[i + 1] - a.offsets()[i];
      if (size != b.offsets()[j + 1] - b.offsets()[j]) return false;
      for (size_t part = 0; part < a.parts().children.size(); ++part) {
        for (int32_t k = 0; k < size; ++k) {
          if (!same(*a.child(part), a.offsets()[i] + k, *b.child(part), b.offsets()[j] + k)) return false;
        }
      }
      return true;
    }
    default:
      return with_storage(a.type()->kind,
                          [&]<class T>(Storage<T>) { return a.values<T>()[i] == b.values<T>()[j]; });
  }
}

std::span<const Function> comparison_functions() { return kFunctions; }

}  // namespace strand::expr
