// RAND, RAND_INTEGER, UUID: another value for each row.
#include <random>

#include "base/random.h"
#include "columnar/builder.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// java.util.Random, so that a seed gives the sequence that it gives in Flink.
/// Source: its documentation, which defines the generator.
class JavaRandom {
 public:
  explicit JavaRandom(int64_t seed) : state_((static_cast<uint64_t>(seed) ^ kFactor) & kMask) {}
  double next_double() {
    const uint64_t high = next(26);
    return static_cast<double>((high << 27) + next(27)) * 0x1.0p-53;
  }
  /// Requires bound > 0.
  int32_t below(int32_t bound) {
    auto r = static_cast<int32_t>(next(31));
    if ((bound & (bound - 1)) == 0) return static_cast<int32_t>((int64_t{bound} * r) >> 31);
    int32_t value = r % bound;
    while (int64_t{r} - value + (bound - 1) > INT32_MAX) {
      r = static_cast<int32_t>(next(31));
      value = r % bound;
    }
    return value;
  }

 private:
  static constexpr uint64_t kFactor = 0x5DEECE66D;
  static constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  uint64_t next(int bits) {
    state_ = (state_ * kFactor + 0xB) & kMask;
    return state_ >> (48 - bits);
  }
  uint64_t state_;
};

uint64_t entropy() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

std::string uuid_text(Random& random) {
  std::string text = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
  for (char& c : text) {
    const uint64_t digit = random.below(16);
    if (c == 'x') c = "0123456789abcdef"[digit];
    if (c == 'y') c = "89ab"[digit & 3];
  }
  return text;
}

/// Never constant, although it has no arguments: `append(builder, args, row)` adds a value for each row.
template <class Append>
class VaryingNode final : public Node {
 public:
  VaryingNode(TypePtr type, Nodes args, Append append)
      : Node(std::move(type)), args_(std::move(args)), append_(std::move(append)) {}
  Result<Value> eval(const Scope& scope) override {
    std::vector<Value> values;
    for (const NodePtr& arg : args_) {
      STRAND_TRY(Value value, arg->eval(scope));
      values.push_back(std::move(value));
    }
    columnar::ColumnBuilder out(type());
    for (int64_t row = 0; row < scope.length; ++row) append_(out, values, row);
    return Value{out.finish(), false};
  }

 private:
  Nodes args_;
  Append append_;
};

template <class Append>
Result<NodePtr> varying(const Expr& e, Nodes args, Append append) {
  return NodePtr(std::make_unique<VaryingNode<Append>>(e.type, std::move(args), std::move(append)));
}

Result<NodePtr> build_uuid(const Expr& e, Nodes args, const Environment&) {
  return varying(e, std::move(args),
                 [random = Random(entropy())](columnar::ColumnBuilder& out, const auto&, int64_t) mutable {
                   out.append_string(uuid_text(random));
                 });
}

/// A generator with the literal seed, else one that nobody can foresee.
JavaRandom generator(const Expr& e, bool seeded) {
  const int64_t* seed = seeded ? literal_integer(*e.args[0]) : nullptr;
  return JavaRandom(seed != nullptr ? *seed : static_cast<int64_t>(entropy()));
}

Result<NodePtr> build_rand(const Expr& e, Nodes args, const Environment&) {
  return varying(
      e, std::move(args),
      [random = generator(e, !e.args.empty())](columnar::ColumnBuilder& out, const auto&, int64_t) mutable {
        out.append<double>(random.next_double());
      });
}

/// The bound is the last argument; NULL where it is NULL or not above 0.
Result<NodePtr> build_rand_integer(const Expr& e, Nodes args, const Environment&) {
  return varying(e, std::move(args),
                 [random = generator(e, e.args.size() > 1)](
                     columnar::ColumnBuilder& out, const std::vector<Value>& v, int64_t row) mutable {
                   const Value& bound = v.back();
                   const bool usable =
                       !bound.is_null(row) && bound.column->values<int32_t>()[bound.row(row)] > 0;
                   if (!usable) return out.append_null();
                   out.append<int32_t>(random.below(bound.column->values<int32_t>()[bound.row(row)]));
                 });
}

Result<TypePtr> uuid_type(const Args&) { return columnar::text_type(TypeKind::kString, 36, true, false); }

constexpr Function kFunctions[] = {
    {.name = "UUID", .params = "", .type = uuid_type, .build = build_uuid, .varies = true},
    {.name = "RAND",
     .params = "[i",
     .type = returns_not_null<TypeKind::kDouble>,
     .build = build_rand,
     .varies = true},
    {.name = "RAND_INTEGER",
     .params = "i[i",
     .type = returns<TypeKind::kInt>,
     .build = build_rand_integer,
     .varies = true},
};

}  // namespace

std::span<const Function> random_functions() { return kFunctions; }

}  // namespace strand::expr
