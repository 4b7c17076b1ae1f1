// x IN (a, b, ...): literals are looked up in a small table, anything else becomes = and OR.
#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "expr/compare.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// Up to this many items are compared one by one.
constexpr size_t kFew = 8;

/// The items of a list of numbers (or dates, times, decimals).
template <class T>
class NumberSet {
 public:
  void add(const Column& one) { items_.push_back(one.values<T>()[0]); }
  void seal() {
    std::sort(items_.begin(), items_.end());
    items_.erase(std::unique(items_.begin(), items_.end()), items_.end());
  }
  bool contains(T value) const {
    if (items_.size() > kFew) return std::binary_search(items_.begin(), items_.end(), value);
    bool found = false;
    for (const T item : items_) found |= item == value;
    return found;
  }

 private:
  std::vector<T> items_;
};

/// The items of a list of texts.
class TextSet {
 public:
  void add(const ColumnPtr& one) {
    kept_.push_back(one);
    items_.emplace_back(one->string(0));
  }
  void seal() {
    if (items_.size() <= kFew) return;
    for (const Needle& item : items_) table_.insert(item.text());
  }
  bool contains(const char* bytes, size_t size) const {
    if (!table_.empty()) return table_.contains(std::string_view(bytes, size));
    const uint64_t head = head_of(bytes, size);
    bool found = false;
    for (const Needle& item : items_) found |= item.equals(bytes, size, head);
    return found;
  }

 private:
  struct Hash {
    size_t operator()(std::string_view text) const { return hash64(text); }
  };
  std::vector<ColumnPtr> kept_;
  std::vector<Needle> items_;
  std::unordered_set<std::string_view, Hash> table_;
};

/// TRUE if found; else NULL if the list holds a NULL, FALSE if not.
Value finish(const Scope& scope, std::span<const Value> v, const TypePtr& type, Bits found,
             bool list_has_null) {
  BufferPtr validity = combined_validity(v, scope.length);
  if (list_has_null) {
    Bits known(scope.length);
    const WordReader present = validity ? WordReader(validity->data(), 0) : WordReader(true);
    for (int64_t w = 0; w < known.count(); ++w) known.words()[w] = present[w] & found.words()[w];
    validity = known.take();
  }
  return make_value(type, scope.length, std::move(validity), found.take());
}

template <class T>
NodePtr make_number_in(const TypePtr& type, Nodes args, const std::vector<ColumnPtr>& items,
                       bool list_has_null) {
  NumberSet<T> set;
  for (const ColumnPtr& item : items) set.add(*item);
  set.seal();
  return make_call(type, std::move(args), {},
                   [type, set, list_has_null](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const Reader<T> in(v[0]);
                     const Scope whole{scope.batch, scope.context, scope.length, true, {}};
                     Bits found = test_rows(whole, [&](int64_t row) { return set.contains(in[row]); });
                     return finish(scope, v, type, std::move(found), list_has_null);
                   });
}

NodePtr make_text_in(const TypePtr& type, Nodes args, const std::vector<ColumnPtr>& items,
                     bool list_has_null) {
  auto set = std::make_shared<TextSet>();
  for (const ColumnPtr& item : items) set->add(item);
  set->seal();
  return make_call(type, std::move(args), {},
                   [type, set, list_has_null](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const Reader<std::string_view> in(v[0]);
                     Bits found = test_rows(scope, [&](int64_t row) {
                       const std::string_view text = in[row];
                       return set->contains(text.data(), text.size());
                     });
                     return finish(scope, v, type, std::move(found), list_has_null);
                   });
}

Result<NodePtr> build_in(const Expr& e, Nodes args, const Environment&) {
  std::vector<ColumnPtr> items;
  bool list_has_null = false;
  for (size_t i = 1; i < args.size(); ++i) {
    STRAND_TRY(const Value item, constant_value(*args[i]));
    if (item.column->is_null(0)) {
      list_has_null = true;
    } else {
      items.push_back(item.column);
    }
  }
  args.resize(1);
  const TypeKind kind = args[0]->type()->kind;
  if (is_text(kind)) return make_text_in(e.type, std::move(args), items, list_has_null);
  return with_storage(kind, [&]<class T>(Storage<T>) -> Result<NodePtr> {
    return make_number_in<T>(e.type, std::move(args), items, list_has_null);
  });
}

/// `IN` keeps constants; with anything else in the list, and for types without a table, it is an OR of
/// equalities.
Result<ExprPtr> resolve_in(const Function&, Args args) {
  bool table = true;
  TypePtr type = args[0]->type;
  for (size_t i = 1; i < args.size(); ++i) {
    type = comparison_type(*type, *args[i]->type, true);
    if (type == nullptr) return does_not_take("IN", args);
    table = table && is_constant(*args[i]);
  }
  if (type->kind == TypeKind::kNull)
    return literal(std::monostate{}, columnar::make_type(TypeKind::kBoolean));
  for (ExprPtr& arg : args) arg = coerce(arg, type);
  if (table && !is_nested(type->kind) && type->kind != TypeKind::kBoolean) {
    TypePtr result = columnar::make_type(TypeKind::kBoolean, any_nullable(args));
    return call("IN", std::move(args), std::move(result));
  }
  ExprPtr any;
  for (size_t i = 1; i < args.size(); ++i) {
    STRAND_TRY(ExprPtr same, resolve_call("=", {args[0], args[i]}));
    if (any == nullptr) {
      any = std::move(same);
    } else {
      STRAND_TRY(any, resolve_call("OR", {any, same}));
    }
  }
  return any;
}

constexpr Function kFunctions[] = {
    {.name = "IN", .params = "aa[a*", .build = build_in, .resolve = resolve_in},
};

}  // namespace

std::span<const Function> in_functions() { return kFunctions; }

}  // namespace strand::expr
