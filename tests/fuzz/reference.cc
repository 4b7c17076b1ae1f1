#include "tests/fuzz/reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/utf8.h"
#include "tests/fuzz/exact.h"
#include "tests/fuzz/reference_parts.h"

namespace strand::fuzz {

namespace {

using columnar::TypeKind;
using expr::Expr;
using expr::ExprPtr;
using expr::Scalar;

bool is_nothing(const Scalar& value) { return std::holds_alternative<std::monostate>(value); }
bool is_true(const Scalar& value) { return !is_nothing(value) && std::get<bool>(value); }
bool is_false(const Scalar& value) { return !is_nothing(value) && !std::get<bool>(value); }

class Evaluation {
 public:
  explicit Evaluation(const std::function<Reference(const ExprPtr&)>& engine) : engine_(engine) {}

  /// Nothing where the call is not known.
  std::optional<Reference> known(const Expr& e) const {
    if (e.kind != Expr::Kind::kCall || e.type->kind >= TypeKind::kArray) return std::nullopt;
    for (const ExprPtr& arg : e.args) {
      if (arg->type->kind >= TypeKind::kArray || arg->type->kind == TypeKind::kNull) return std::nullopt;
    }
    if (e.function == "AND" || e.function == "OR") return connected(e, e.function == "AND");
    if (e.function == "CASE") return chosen(e);
    if (e.function == "COALESCE") return first_present(e);
    if (e.function == "IN") return contained(e);
    if (e.function.starts_with("IS ")) return tested(e);
    return strict(e);
  }

 private:
  Reference value(const ExprPtr& e) const {
    if (e->kind == Expr::Kind::kLiteral) return {e->literal};
    if (const auto result = known(*e)) return *result;
    return engine_(e);
  }

  Reference connected(const Expr& e, bool all) const {
    bool unknown = false;
    for (const ExprPtr& arg : e.args) {
      const Reference part = value(arg);
      if (part.fails) return part;
      if (all ? is_false(part.value) : is_true(part.value)) return {!all};
      unknown = unknown || is_nothing(part.value);
    }
    return unknown ? Reference{} : Reference{all};
  }

  Reference chosen(const Expr& e) const {
    for (size_t i = 0; i + 1 < e.args.size(); i += 2) {
      const Reference condition = value(e.args[i]);
      if (condition.fails) return condition;
      if (is_true(condition.value)) return value(e.args[i + 1]);
    }
    return value(e.args.back());
  }

  Reference first_present(const Expr& e) const {
    for (const ExprPtr& arg : e.args) {
      Reference part = value(arg);
      if (part.fails || !is_nothing(part.value)) return part;
    }
    return {};
  }

  std::optional<Reference> contained(const Expr& e) const {
    const Reference wanted = value(e.args[0]);
    if (wanted.fails) return wanted;
    bool unknown = is_nothing(wanted.value);
    bool found = false;
    for (size_t i = 1; i < e.args.size(); ++i) {
      if (!comparable(*e.args[0]->type, *e.args[i]->type) || std::holds_alternative<double>(wanted.value))
        return std::nullopt;
      const Reference item = value(e.args[i]);
      if (item.fails) return item;
      if (is_nothing(item.value)) {
        unknown = true;
      } else {
        found = found || (!is_nothing(wanted.value) && order(wanted.value, item.value) == 0);
      }
    }
    if (found) return Reference{true};
    return unknown ? Reference{} : Reference{false};
  }

  std::optional<Reference> tested(const Expr& e) const {
    const Reference a = value(e.args[0]);
    if (a.fails) return a;
    if (e.args.size() == 1) {
      const bool negated = e.function.starts_with("IS NOT ");
      const std::string what = e.function.substr(negated ? 7 : 3);
      if (what == "NULL" || what == "UNKNOWN") return Reference{is_nothing(a.value) != negated};
      if (what == "TRUE") return Reference{is_true(a.value) != negated};
      if (what == "FALSE") return Reference{is_false(a.value) != negated};
      return std::nullopt;
    }
    if (e.function != "IS DISTINCT FROM" || !comparable(*e.args[0]->type, *e.args[1]->type))
      return std::nullopt;
    const Reference b = value(e.args[1]);
    if (b.fails) return b;
    if (is_nothing(a.value) || is_nothing(b.value))
      return Reference{is_nothing(a.value) != is_nothing(b.value)};
    return Reference{order(a.value, b.value) != 0};
  }

  std::optional<Reference> strict(const Expr& e) const {
    if (!is_known(e)) return std::nullopt;
    std::vector<Scalar> args;
    bool nothing = false;
    for (const ExprPtr& arg : e.args) {
      Reference part = value(arg);
      if (part.fails) return part;
      nothing = nothing || is_nothing(part.value);
      args.push_back(std::move(part.value));
    }
    if (nothing) return Reference{};
    for (const Scalar& arg : args) {
      const auto* text = std::get_if<std::string>(&arg);
      if (text != nullptr && !valid_utf8(*text))
        return std::nullopt;  // decoded bytes: whatever they are counted as
    }
    return computed(e, args);
  }

  const std::function<Reference(const ExprPtr&)>& engine_;
};

}  // namespace

std::optional<Reference> reference_value(const ExprPtr& e,
                                         const std::function<Reference(const ExprPtr&)>& engine) {
  return Evaluation(engine).known(*e);
}

}  // namespace strand::fuzz
