// The compiled form of an expression: nodes that work on whole batches.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"
#include "expr/compile.h"
#include "expr/expr.h"

namespace strand::expr {

using columnar::Column;

/// The rows that an evaluation is for: all physical rows of a batch, or an ascending list of them. Whatever
/// lies in other rows must not be looked at by anything that can fail.
struct Scope {
  const Batch* batch = nullptr;
  const EvalContext* context = nullptr;
  int64_t length = 0;  // physical rows
  bool all = true;
  std::span<const uint32_t> rows = {};  // if not all

  int64_t count() const { return all ? length : static_cast<int64_t>(rows.size()); }
  bool empty() const { return count() == 0; }
  Scope narrowed(std::span<const uint32_t> to) const { return {batch, context, length, false, to}; }
  /// The scope of an expression of constants: one row.
  Scope single() const { return {batch, context, 1, true, {}}; }

  /// Calls f(row) until it returns false; whether it never did.
  template <class F>
  bool each(F&& f) const {
    if (all) {
      for (int64_t row = 0; row < length; ++row) {
        if (!f(row)) return false;
      }
    } else {
      for (const uint32_t row : rows) {
        if (!f(static_cast<int64_t>(row))) return false;
      }
    }
    return true;
  }
};

/// What a node gives: a column as long as the batch, or one row that stands for all of them.
struct Value {
  ColumnPtr column;
  bool constant = false;

  int64_t row(int64_t i) const { return constant ? 0 : i; }
  bool is_null(int64_t i) const { return column->is_null(row(i)); }
  bool always_null() const { return constant && column->is_null(0); }
};

/// One step of a compiled expression. Holds scratch memory, so it belongs to one thread.
class Node {
 public:
  explicit Node(TypePtr type) : type_(std::move(type)) {}
  virtual ~Node() = default;
  const TypePtr& type() const { return type_; }

  /// The values for the rows of the scope; other rows hold anything. May be longer in what it computes than
  /// the scope asks for, never in what it fails for.
  virtual Result<Value> eval(const Scope& scope) = 0;
  /// Of a BOOLEAN node: the rows of the scope for which it is TRUE. Valid until the node is called again. Has
  /// the same rows pointer as `scope` where all pass.
  virtual Result<Scope> filter(const Scope& scope);
  /// Whether eval can return an error, so that it must not see rows which do not need it.
  virtual bool can_fail() const { return false; }
  /// The value, if it is known when the expression is compiled.
  virtual const Value* literal() const { return nullptr; }

 protected:
  /// The rows of the scope where `value` is TRUE, written to `out`.
  static Scope rows_where_true(const Value& value, const Scope& scope, columnar::Selection& out);
  columnar::Selection passed_;

 private:
  TypePtr type_;
};
using NodePtr = std::unique_ptr<Node>;

/// The rows of `scope` that are not in `part`, which is a part of it, written to `out`.
Scope without(const Scope& scope, const Scope& part, columnar::Selection& out);

NodePtr make_literal(const Scalar& value, const TypePtr& type);
NodePtr make_column(size_t index, const TypePtr& type);

/// One row of a type.
ColumnPtr scalar_to_column(const Scalar& value, const TypePtr& type);
Scalar scalar_of(const Column& column, int64_t row);
/// The row repeated.
ColumnPtr expand(const ColumnPtr& one, int64_t length);
inline Value null_value(const TypePtr& type) { return {Column::nulls(type, 1), true}; }

/// The error of a row, with the values of the arguments: `division by zero in 4 / 0`.
Status row_error(ErrorCode code, const std::string& what, const std::string& function,
                 std::span<const Value> args, int64_t row);

struct CallTraits {
  bool strict = true;  // NULL if an argument is
  bool fails = false;  // may return an error
};

/// A node whose arguments are evaluated all, for the same rows, so that an error of one of them shows
/// whatever the others are and whichever rows come together. Arguments that are all constant give a constant,
/// a constant NULL among the arguments of a strict function gives NULL; `f(scope, args)` sees neither case in
/// full length.
template <class F>
class CallNode final : public Node {
 public:
  CallNode(TypePtr type, std::vector<NodePtr> args, CallTraits traits, F f)
      : Node(std::move(type)), args_(std::move(args)), traits_(traits), f_(std::move(f)) {
    can_fail_ = traits.fails;
    for (const NodePtr& arg : args_) can_fail_ = can_fail_ || arg->can_fail();
  }

  Result<Value> eval(const Scope& scope) override {
    bool constant = true;
    bool null = false;
    std::vector<Value> values(args_.size());
    for (size_t i = 0; i < args_.size(); ++i) {
      STRAND_TRY(values[i], args_[i]->eval(scope));
      null = null || (traits_.strict && values[i].always_null());
      constant = constant && values[i].constant;
    }
    if (null || scope.empty()) return null_value(type());
    if (!constant) return f_(scope, std::span<const Value>(values));
    STRAND_TRY(Value value, f_(scope.single(), std::span<const Value>(values)));
    value.constant = true;
    return value;
  }
  bool can_fail() const override { return can_fail_; }

 private:
  std::vector<NodePtr> args_;
  CallTraits traits_;
  F f_;
  bool can_fail_ = false;
};

template <class F>
NodePtr make_call(const TypePtr& type, std::vector<NodePtr> args, CallTraits traits, F f) {
  return std::make_unique<CallNode<F>>(type, std::move(args), traits, std::move(f));
}

}  // namespace strand::expr
