#include "expr/node.h"

#include "columnar/builder.h"
#include "expr/bits.h"
#include "expr/storage.h"

namespace strand::expr {

namespace {

class LiteralNode final : public Node {
 public:
  LiteralNode(TypePtr type, ColumnPtr one) : Node(std::move(type)), value_{std::move(one), true} {}
  Result<Value> eval(const Scope&) override { return value_; }
  const Value* literal() const override { return &value_; }

 private:
  Value value_;
};

class ColumnNode final : public Node {
 public:
  ColumnNode(size_t index, TypePtr type) : Node(std::move(type)), index_(index) {}
  Result<Value> eval(const Scope& scope) override { return Value{scope.batch->column_ptr(index_), false}; }

 private:
  size_t index_;
};

/// The positions of the set bits.
size_t positions(const WordReader& values, const WordReader& validity, int64_t length, uint32_t* out) {
  size_t n = 0;
  for (int64_t w = 0; w < word_count(length); ++w) {
    uint64_t bits = values[w] & validity[w];
    if (w == word_count(length) - 1) bits &= tail_mask(length);
    const auto base = static_cast<uint32_t>(w * 64);
    if (bits == ~0ull) {
      for (uint32_t i = 0; i < 64; ++i) out[n + i] = base + i;
      n += 64;
    } else {
      for (; bits != 0; bits &= bits - 1) out[n++] = base + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  return n;
}

bool all_true(const WordReader& values, const WordReader& validity, int64_t length) {
  const int64_t words = word_count(length);
  uint64_t missing = 0;
  for (int64_t w = 0; w + 1 < words; ++w) missing |= ~(values[w] & validity[w]);
  if (words > 0) missing |= ~(values[words - 1] & validity[words - 1]) & tail_mask(length);
  return missing == 0;
}

}  // namespace

Scope Node::rows_where_true(const Value& value, const Scope& scope, columnar::Selection& out) {
  if (value.constant) {
    const bool pass = !value.column->is_null(0) && value.column->boolean(0);
    return pass ? scope : scope.narrowed({});
  }
  const WordReader values = WordReader::of_values(*value.column, false);
  const WordReader validity = WordReader::of_validity(*value.column, false);
  size_t n = 0;
  if (scope.all) {
    if (all_true(values, validity, scope.length)) return scope;
    out.resize(static_cast<size_t>(scope.length));
    n = positions(values, validity, scope.length, out.data());
  } else {
    out.resize(scope.rows.size());
    for (const uint32_t row : scope.rows) {
      out[n] = row;
      n += ((values[row >> 6] & validity[row >> 6]) >> (row & 63)) & 1;
    }
    if (n == scope.rows.size()) return scope;
  }
  return scope.narrowed({out.data(), n});
}

Result<Scope> Node::filter(const Scope& scope) {
  if (scope.empty()) return scope;
  STRAND_TRY(const Value value, eval(scope));
  return rows_where_true(value, scope, passed_);
}

Scope without(const Scope& scope, const Scope& part, columnar::Selection& out) {
  if (part.all || part.count() == scope.count()) return scope.narrowed({});
  out.resize(static_cast<size_t>(scope.count() - part.count()));
  size_t n = 0;
  size_t next = 0;
  scope.each([&](int64_t row) {
    if (next < part.rows.size() && part.rows[next] == static_cast<uint32_t>(row)) {
      ++next;
    } else {
      out[n++] = static_cast<uint32_t>(row);
    }
    return true;
  });
  return scope.narrowed({out.data(), n});
}

NodePtr make_literal(const Scalar& value, const TypePtr& type) {
  return std::make_unique<LiteralNode>(type, scalar_to_column(value, type));
}

NodePtr make_column(size_t index, const TypePtr& type) { return std::make_unique<ColumnNode>(index, type); }

ColumnPtr scalar_to_column(const Scalar& value, const TypePtr& type) {
  if (std::holds_alternative<std::monostate>(value)) return Column::nulls(type, 1);
  columnar::ColumnBuilder builder(type);
  switch (type->kind) {
    case columnar::TypeKind::kBoolean:
      builder.append_boolean(std::get<bool>(value));
      break;
    case columnar::TypeKind::kString:
    case columnar::TypeKind::kBytes:
      builder.append_string(std::get<std::string>(value));
      break;
    default:
      with_storage(type->kind, [&]<class T>(Storage<T>) {
        if constexpr (std::is_same_v<T, Int128>) {
          builder.append<T>(std::get<Int128>(value));
        } else if constexpr (std::is_floating_point_v<T>) {
          builder.append<T>(static_cast<T>(std::get<double>(value)));
        } else {
          builder.append<T>(static_cast<T>(std::get<int64_t>(value)));
        }
      });
  }
  return builder.finish();
}

Scalar scalar_of(const Column& column, int64_t row) {
  if (column.is_null(row)) return std::monostate{};
  switch (column.type()->kind) {
    case columnar::TypeKind::kBoolean:
      return column.boolean(row);
    case columnar::TypeKind::kString:
    case columnar::TypeKind::kBytes:
      return std::string(column.string(row));
    default:
      return with_storage(column.type()->kind, [&]<class T>(Storage<T>) -> Scalar {
        const T value = column.values<T>()[row];
        if constexpr (std::is_same_v<T, Int128>) {
          return value;
        } else if constexpr (std::is_floating_point_v<T>) {
          return static_cast<double>(value);
        } else {
          return static_cast<int64_t>(value);
        }
      });
  }
}

ColumnPtr expand(const ColumnPtr& one, int64_t length) {
  if (one->is_null(0)) return Column::nulls(one->type(), length);
  const std::vector<uint32_t> rows(static_cast<size_t>(length), 0);
  return columnar::gather(*one, rows);
}

namespace {
std::string way_out(const std::string& function) {
  if (function == "CAST")
    return "write TRY_CAST, which gives NULL for such a value, or keep such rows out with WHERE";
  if (function == "/" || function == "%") {
    return "write CASE WHEN divisor <> 0 THEN … END, which gives NULL where it is 0, or keep such rows out "
           "with WHERE";
  }
  return "keep such rows out with WHERE, or compute it only where it can be: CASE WHEN … THEN … END";
}
}  // namespace

Status row_error(ErrorCode code, const std::string& what, const std::string& function,
                 std::span<const Value> args, int64_t row) {
  std::string message = what + ": " + function + "(";
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) message += ", ";
    const std::string text = columnar::value_to_string(*args[i].column, args[i].row(row));
    const bool quoted = args[i].column->type()->kind == columnar::TypeKind::kString && !args[i].is_null(row);
    message += quoted ? "'" + text + "'" : text;
  }
  return Status(code, message + ")").hint(way_out(function));
}

}  // namespace strand::expr
