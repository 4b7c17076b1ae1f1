// CASE, IF, COALESCE, IFNULL, NULLIF: each branch sees only the rows that take it.
#include <algorithm>

#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// Which of several values each row takes.
struct Choice {
  std::vector<Value> values;
  std::vector<uint16_t> of_row;  // index into values
};

template <class T>
Value choose_fixed(const Choice& choice, const Scope& scope, const TypePtr& type, BufferPtr validity) {
  Sink<T> sink(scope.length);
  std::vector<Reader<T>> in;
  for (const Value& value : choice.values) in.emplace_back(value);
  each_present(scope, validity, [&](int64_t row) {
    sink.at(row) = in[choice.of_row[static_cast<size_t>(row)]][row];
    return true;
  });
  return sink.finish(type, scope.length, std::move(validity));
}

Value choose_text(const Choice& choice, const Scope& scope, const TypePtr& type, BufferPtr validity) {
  TextWriter writer(scope.length);
  std::vector<Reader<std::string_view>> in;
  for (const Value& value : choice.values) in.emplace_back(value);
  each_present(scope, validity, [&](int64_t row) {
    writer.begin(row);
    writer.append(in[choice.of_row[static_cast<size_t>(row)]][row]);
    return true;
  });
  return writer.finish(type, std::move(validity));
}

Value choose_nested(const Choice& choice, const Scope& scope, const TypePtr& type) {
  columnar::ColumnBuilder builder(type);
  const auto fill = [&](int64_t to) {
    while (builder.length() < to) builder.append_null();
  };
  scope.each([&](int64_t row) {
    fill(row);
    const Value& value = choice.values[choice.of_row[static_cast<size_t>(row)]];
    builder.append_from(*value.column, value.row(row));
    return true;
  });
  fill(scope.length);
  return {builder.finish(), false};
}

Value choose(const Choice& choice, const Scope& scope, const TypePtr& type) {
  if (is_nested(type->kind)) return choose_nested(choice, scope, type);
  BufferPtr validity;
  if (std::any_of(choice.values.begin(), choice.values.end(),
                  [](const Value& v) { return v.column->has_nulls(); })) {
    Bits bits(scope.length, true);
    scope.each([&](int64_t row) {
      if (choice.values[choice.of_row[static_cast<size_t>(row)]].is_null(row)) clear_bit(bits.words(), row);
      return true;
    });
    validity = bits.take();
  }
  if (type->kind == TypeKind::kBoolean) return choose_fixed<bool>(choice, scope, type, std::move(validity));
  if (is_text(type->kind)) return choose_text(choice, scope, type, std::move(validity));
  return with_storage(type->kind, [&]<class T>(Storage<T>) {
    return choose_fixed<T>(choice, scope, type, std::move(validity));
  });
}

void mark(Choice& choice, const Scope& rows, Value value) {
  const auto index = static_cast<uint16_t>(choice.values.size());
  choice.values.push_back(std::move(value));
  if (rows.all) {
    std::fill(choice.of_row.begin(), choice.of_row.end(), index);
  } else {
    for (const uint32_t row : rows.rows) choice.of_row[row] = index;
  }
}

/// Arguments: condition, value, ..., value of ELSE.
class CaseNode final : public Node {
 public:
  CaseNode(TypePtr type, Nodes args)
      : Node(std::move(type)), args_(std::move(args)), scratch_(args_.size()) {}

  Result<Value> eval(const Scope& scope) override {
    if (scope.empty()) return null_value(type());
    Choice choice;
    choice.of_row.resize(static_cast<size_t>(scope.length));
    Scope open = scope;
    for (size_t i = 0; i < args_.size() && !open.empty(); i += 2) {
      const bool otherwise = i + 1 == args_.size();
      Scope taken = open;
      if (!otherwise) {
        STRAND_TRY(taken, args_[i]->filter(open));
        if (taken.empty()) continue;
      }
      STRAND_TRY(Value value, args_[otherwise ? i : i + 1]->eval(taken));
      if (taken.count() == scope.count()) return value;
      mark(choice, taken, std::move(value));
      if (!otherwise) open = without(open, taken, scratch_[i]);
    }
    return choose(choice, scope, type());
  }

  bool can_fail() const override {
    return std::any_of(args_.begin(), args_.end(), [](const NodePtr& arg) { return arg->can_fail(); });
  }

 private:
  Nodes args_;
  std::vector<columnar::Selection> scratch_;
};

class CoalesceNode final : public Node {
 public:
  CoalesceNode(TypePtr type, Nodes args)
      : Node(std::move(type)), args_(std::move(args)), scratch_(args_.size()) {}

  Result<Value> eval(const Scope& scope) override {
    if (scope.empty()) return null_value(type());
    Choice choice;
    choice.of_row.resize(static_cast<size_t>(scope.length));
    Scope open = scope;
    for (size_t i = 0; i < args_.size() && !open.empty(); ++i) {
      STRAND_TRY(Value value, args_[i]->eval(open));
      const Scope missing = rows_without_value(value, open, scratch_[i]);
      if (open.count() == scope.count() && missing.empty()) return value;
      if (missing.count() < open.count() || i + 1 == args_.size()) mark(choice, open, std::move(value));
      open = missing;
    }
    return choose(choice, scope, type());
  }

  bool can_fail() const override {
    return std::any_of(args_.begin(), args_.end(), [](const NodePtr& arg) { return arg->can_fail(); });
  }

 private:
  static Scope rows_without_value(const Value& value, const Scope& scope, columnar::Selection& out) {
    if (!value.column->has_nulls()) return scope.narrowed({});
    if (value.constant) return value.column->is_null(0) ? scope : scope.narrowed({});
    out.clear();
    scope.each([&](int64_t row) {
      if (value.column->is_null(row)) out.push_back(static_cast<uint32_t>(row));
      return true;
    });
    return scope.narrowed(out);
  }

  Nodes args_;
  std::vector<columnar::Selection> scratch_;
};

Result<NodePtr> build_case(const Expr& e, Nodes args, const Environment&) {
  return NodePtr(std::make_unique<CaseNode>(e.type, std::move(args)));
}

Result<NodePtr> build_coalesce(const Expr& e, Nodes args, const Environment&) {
  return NodePtr(std::make_unique<CoalesceNode>(e.type, std::move(args)));
}

Result<TypePtr> common_of(const Function& function, const Args& args, size_t first, size_t step) {
  std::vector<TypePtr> types;
  for (size_t i = first; i < args.size(); i += step) types.push_back(args[i]->type);
  if (args.size() % 2 == 1 && step == 2) types.push_back(args.back()->type);
  TypePtr type = common_type(types);
  if (type == nullptr) return does_not_take(function.name, args);
  return type;
}

Result<ExprPtr> resolve_case(const Function& function, Args args) {
  if (args.size() % 2 == 0) args.push_back(literal(std::monostate{}, columnar::make_type(TypeKind::kNull)));
  STRAND_TRY(const TypePtr type, common_of(function, args, 1, 2));
  if (type->kind == TypeKind::kNull) return literal(std::monostate{}, type);
  for (size_t i = 0; i < args.size(); ++i) {
    const bool condition = i % 2 == 0 && i + 1 < args.size();
    if (condition && args[i]->type->kind != TypeKind::kBoolean && !is_null_literal(*args[i])) {
      return does_not_take(function.name, args, "conditions must be BOOLEAN");
    }
    args[i] = coerce(args[i], condition ? columnar::make_type(TypeKind::kBoolean) : type);
  }
  return call("CASE", std::move(args), type);
}

Result<ExprPtr> resolve_if(const Function& function, Args args) {
  const bool nullable = any_nullable(args);
  STRAND_TRY(ExprPtr resolved, resolve_case(function, std::move(args)));
  if (resolved->kind == Expr::Kind::kLiteral) return resolved;
  return call("CASE", resolved->args, columnar::with_nullable(resolved->type, nullable));
}

Result<ExprPtr> resolve_coalesce(const Function& function, Args args) {
  STRAND_TRY(TypePtr type, common_of(function, args, 0, 1));
  if (type->kind == TypeKind::kNull) return literal(std::monostate{}, type);
  const bool nullable =
      std::all_of(args.begin(), args.end(), [](const ExprPtr& a) { return a->type->nullable; });
  for (ExprPtr& arg : args) arg = coerce(arg, type);
  return call("COALESCE", std::move(args), columnar::with_nullable(type, nullable));
}

/// NULL where both are equal, else the first.
Result<ExprPtr> resolve_null_if(const Function&, Args args) {
  STRAND_TRY(ExprPtr same, resolve_call("=", {args[0], args[1]}));
  const TypePtr type = columnar::with_nullable(args[0]->type, true);
  if (type->kind == TypeKind::kNull) return args[0];
  return call("CASE", {std::move(same), literal(std::monostate{}, type), args[0]}, type);
}

constexpr Function kFunctions[] = {
    {.name = "CASE", .params = "aa[a*", .build = build_case, .resolve = resolve_case},
    {.name = "IF", .params = "baa", .resolve = resolve_if},
    {.name = "COALESCE", .params = "a[a*", .build = build_coalesce, .resolve = resolve_coalesce},
    {.name = "IFNULL", .params = "aa", .resolve = resolve_coalesce},
    {.name = "NULLIF", .params = "aa", .resolve = resolve_null_if},
};

}  // namespace

std::span<const Function> conditional_functions() { return kFunctions; }

}  // namespace strand::expr
