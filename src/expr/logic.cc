// AND, OR, NOT and IS: three-valued logic on bitmaps.
#include <algorithm>

#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// What is known of a BOOLEAN for 64 rows: where it is TRUE and where it is FALSE; neither: NULL.
struct Truth {
  uint64_t yes;
  uint64_t no;
};

class TruthReader {
 public:
  explicit TruthReader(const Value& v)
      : values_(v.always_null() ? WordReader(false) : WordReader::of_values(*v.column, v.constant)),
        validity_(WordReader::of_validity(*v.column, v.constant)) {}
  Truth operator[](int64_t w) const {
    const uint64_t value = values_[w];
    const uint64_t valid = validity_[w];
    return {value & valid, ~value & valid};
  }
  bool never_null() const { return validity_.all_set(); }

 private:
  WordReader values_;
  WordReader validity_;
};

template <class F>
Value combine(const Value& a, const Value& b, const TypePtr& type, int64_t length, F f) {
  const TruthReader x(a);
  const TruthReader y(b);
  Bits values(length);
  if (x.never_null() && y.never_null()) {
    for (int64_t w = 0; w < values.count(); ++w) values.words()[w] = f(x[w], y[w]).yes;
    return make_value(type, length, nullptr, values.take());
  }
  Bits validity(length);
  for (int64_t w = 0; w < values.count(); ++w) {
    const Truth t = f(x[w], y[w]);
    values.words()[w] = t.yes;
    validity.words()[w] = t.yes | t.no;
  }
  return make_value(type, length, validity.take(), values.take());
}

Truth conjunction(Truth a, Truth b) { return {a.yes & b.yes, a.no | b.no}; }
Truth disjunction(Truth a, Truth b) { return {a.yes | b.yes, a.no & b.no}; }

/// AND and OR of two or more. An argument that can fail sees only the rows that those before it leave open.
template <bool kAnd>
class Junction final : public Node {
 public:
  Junction(TypePtr type, Nodes args) : Node(std::move(type)), args_(std::move(args)) {}

  Result<Value> eval(const Scope& scope) override {
    STRAND_TRY(Value so_far, args_[0]->eval(scope));
    for (size_t i = 1; i < args_.size(); ++i) {
      Scope open = scope;
      if (args_[i]->can_fail()) {
        open = still_open(so_far, scope);
        if (open.empty()) return so_far;
      }
      STRAND_TRY(const Value next, args_[i]->eval(open));
      const bool constant = so_far.constant && next.constant;
      so_far = combine(so_far, next, type(), constant ? 1 : scope.length, kAnd ? conjunction : disjunction);
      so_far.constant = constant;
    }
    return so_far;
  }

  Result<Scope> filter(const Scope& scope) override { return kAnd ? filter_all(scope) : filter_any(scope); }

  bool can_fail() const override {
    for (const NodePtr& arg : args_) {
      if (arg->can_fail()) return true;
    }
    return false;
  }

 private:
  /// The rows that are not decided: not FALSE so far for AND, not TRUE for OR.
  Scope still_open(const Value& so_far, const Scope& scope) {
    const TruthReader truth(so_far);
    open_.resize(static_cast<size_t>(scope.count()));
    size_t n = 0;
    scope.each([&](int64_t row) {
      const Truth t = truth[so_far.constant ? 0 : row >> 6];
      const uint64_t decided = kAnd ? t.no : t.yes;
      open_[n] = static_cast<uint32_t>(row);
      n += 1 & ~(decided >> (row & 63));
      return true;
    });
    return n == open_.size() ? scope : scope.narrowed({open_.data(), n});
  }

  Result<Scope> filter_all(const Scope& scope) {
    Scope left = scope;
    for (const NodePtr& arg : args_) {
      STRAND_TRY(left, arg->filter(left));
      if (left.empty()) break;
    }
    return left;
  }

  Result<Scope> filter_any(const Scope& scope) {
    STRAND_TRY(Scope passed, args_[0]->filter(scope));
    for (size_t i = 1; i < args_.size(); ++i) {
      if (passed.count() == scope.count()) return scope;
      const bool none = passed.empty();
      const Scope rest = none ? scope : without(scope, passed, open_);
      STRAND_TRY(const Scope more, args_[i]->filter(rest));
      if (none) {
        passed = more;
        continue;
      }
      columnar::Selection merged(static_cast<size_t>(passed.count() + more.count()));
      std::merge(passed.rows.begin(), passed.rows.end(), more.rows.begin(), more.rows.end(), merged.begin());
      passed_ = std::move(merged);
      passed = scope.narrowed(passed_);
    }
    return passed.count() == scope.count() ? scope : passed;
  }

  Nodes args_;
  columnar::Selection open_;
};

template <bool kAnd>
Result<NodePtr> build_junction(const Expr& e, Nodes args, const Environment&) {
  return NodePtr(std::make_unique<Junction<kAnd>>(e.type, std::move(args)));
}

/// Nested calls of the same operator become one call, so that a filter narrows step by step.
Result<ExprPtr> resolve_junction(const Function& function, Args args) {
  Args flat;
  for (const ExprPtr& arg : args) {
    if (arg->kind == Expr::Kind::kCall && arg->function == function.name) {
      flat.insert(flat.end(), arg->args.begin(), arg->args.end());
    } else {
      flat.push_back(arg);
    }
  }
  TypePtr type = columnar::make_type(TypeKind::kBoolean, any_nullable(flat));
  return call(std::string(function.name), std::move(flat), std::move(type));
}

Result<NodePtr> build_not(const Expr& e, Nodes args, const Environment&) {
  return make_call(
      e.type, std::move(args), {}, [type = e.type](const Scope& scope, std::span<const Value> v) {
        const WordReader in = WordReader::of_values(*v[0].column, v[0].constant);
        Bits out(scope.length);
        for (int64_t w = 0; w < out.count(); ++w) out.words()[w] = ~in[w];
        return Result<Value>(make_value(type, scope.length, combined_validity(v, scope.length), out.take()));
      });
}

template <class F>
NodePtr make_test(const Expr& e, Nodes args, F f) {
  return make_call(e.type, std::move(args), {.strict = false},
                   [type = e.type, f](const Scope& scope, std::span<const Value> v) {
                     const TruthReader in(v[0]);
                     Bits out(scope.length);
                     for (int64_t w = 0; w < out.count(); ++w) out.words()[w] = f(in[w]);
                     return Result<Value>(make_value(type, scope.length, nullptr, out.take()));
                   });
}

template <bool kNull>
Result<NodePtr> build_null_test(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {.strict = false},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     if (!v[0].column->has_nulls()) return Value{scalar_to_column(!kNull, type), true};
                     const WordReader valid = WordReader::of_validity(*v[0].column, v[0].constant);
                     Bits out(scope.length);
                     for (int64_t w = 0; w < out.count(); ++w) out.words()[w] = kNull ? ~valid[w] : valid[w];
                     return make_value(type, scope.length, nullptr, out.take());
                   });
}

enum class Test : uint8_t { kTrue, kFalse, kUnknown, kNotTrue, kNotFalse, kNotUnknown };

template <Test test>
Result<NodePtr> build_test(const Expr& e, Nodes args, const Environment&) {
  return make_test(e, std::move(args), [](Truth t) -> uint64_t {
    switch (test) {
      case Test::kTrue:
        return t.yes;
      case Test::kFalse:
        return t.no;
      case Test::kUnknown:
        return ~(t.yes | t.no);
      case Test::kNotTrue:
        return ~t.yes;
      case Test::kNotFalse:
        return ~t.no;
      case Test::kNotUnknown:
        return t.yes | t.no;
    }
    return 0;
  });
}

constexpr auto kBool = returns<TypeKind::kBoolean>;
constexpr auto kSure = returns_not_null<TypeKind::kBoolean>;

constexpr Function kFunctions[] = {
    {.name = "AND", .params = "bb[b*", .build = build_junction<true>, .resolve = resolve_junction},
    {.name = "OR", .params = "bb[b*", .build = build_junction<false>, .resolve = resolve_junction},
    {.name = "NOT", .params = "b", .type = kBool, .build = build_not},
    {.name = "IS NULL", .params = "a", .type = kSure, .build = build_null_test<true>},
    {.name = "IS NOT NULL", .params = "a", .type = kSure, .build = build_null_test<false>},
    {.name = "IS TRUE", .params = "b", .type = kSure, .build = build_test<Test::kTrue>},
    {.name = "IS FALSE", .params = "b", .type = kSure, .build = build_test<Test::kFalse>},
    {.name = "IS UNKNOWN", .params = "b", .type = kSure, .build = build_test<Test::kUnknown>},
    {.name = "IS NOT TRUE", .params = "b", .type = kSure, .build = build_test<Test::kNotTrue>},
    {.name = "IS NOT FALSE", .params = "b", .type = kSure, .build = build_test<Test::kNotFalse>},
    {.name = "IS NOT UNKNOWN", .params = "b", .type = kSure, .build = build_test<Test::kNotUnknown>},
};

}  // namespace

std::span<const Function> logic_functions() { return kFunctions; }

}  // namespace strand::expr
