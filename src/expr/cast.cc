// CAST and TRY_CAST: which exist, and which family does them.
#include "expr/cast.h"

namespace strand::expr {

namespace {

bool is_value(TypeKind kind) { return columnar::is_numeric(kind) || kind == TypeKind::kBoolean; }
bool is_temporal(TypeKind kind) {
  return is_timestamp(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
}

bool can_cast_temporal(TypeKind from, TypeKind to) {
  if (from == to || (is_timestamp(from) && is_temporal(to))) return true;
  return is_timestamp(to) && (from == TypeKind::kDate || from == TypeKind::kTime);
}

/// The same bytes serve as the other type.
bool same_layout(const Type& from, const Type& to) {
  if (*columnar::with_nullable(std::make_shared<const Type>(from), true) ==
      *columnar::with_nullable(std::make_shared<const Type>(to), true)) {
    return true;
  }
  if (from.kind == to.kind && is_timestamp(to.kind)) {
    return to.precision >= from.precision &&
           columnar::timestamp_units(to.precision) == columnar::timestamp_units(from.precision);
  }
  if (from.kind == TypeKind::kTime && to.kind == TypeKind::kTime) return to.precision >= from.precision;
  if (!is_text(from.kind) || !is_text(to.kind)) return false;
  if (to.precision == 0) return true;
  return from.kind == to.kind && !to.fixed && from.precision > 0 && from.precision <= to.precision;
}

Result<NodePtr> build_cast(const Expr& e, Nodes args, const Environment& environment) {
  const TypePtr from = args[0]->type();
  return build_cast_of(from, e.type, e.function == "TRY_CAST", std::move(args), environment);
}

constexpr Function kFunctions[] = {
    {.name = "CAST",
     .params = "a",
     .build = build_cast,
     .resolve = [](const Function&, Args args) -> Result<ExprPtr> {
       return does_not_take("CAST without AS", args);
     }},
    {.name = "TRY_CAST",
     .params = "a",
     .build = build_cast,
     .resolve = [](const Function&, Args args) -> Result<ExprPtr> {
       return does_not_take("TRY_CAST without AS", args);
     }},
};

}  // namespace

Result<NodePtr> build_cast_of(const TypePtr& from, const TypePtr& to, bool try_cast, Nodes args,
                              const Environment& environment) {
  const CastCall cast{from, to, try_cast};
  if (from->kind == TypeKind::kNull) return make_literal(std::monostate{}, to);
  if (same_layout(*cast.from, *cast.to)) {
    return make_call(to, std::move(args), {}, [type = to](const Scope&, std::span<const Value> v) {
      return Result<Value>(retyped(v[0], type));
    });
  }
  if (is_nested(cast.from->kind) && is_nested(cast.to->kind))
    return cast_nested(cast, std::move(args), environment);
  if (is_text(cast.to->kind)) return cast_to_text(cast, std::move(args), environment);
  if (is_text(cast.from->kind)) return cast_from_text(cast, std::move(args), environment);
  if (is_value(cast.to->kind)) return cast_number(cast, std::move(args));
  return cast_temporal(cast, std::move(args), environment);
}

bool can_cast(const Type& from, const Type& to) {
  if (from.kind == TypeKind::kNull) return true;
  if (is_value(from.kind) && is_value(to.kind)) return true;
  if (is_temporal(from.kind) && is_temporal(to.kind)) return can_cast_temporal(from.kind, to.kind);
  if (to.kind == TypeKind::kString) return from.kind != TypeKind::kMap || !from.children.empty();
  if (to.kind == TypeKind::kBytes) return is_text(from.kind);
  if (is_nested(from.kind) && is_nested(to.kind)) return can_cast_nested(from, to);
  if (from.kind == TypeKind::kString) {
    return is_value(to.kind) || is_temporal(to.kind);
  }
  return same_layout(from, to);
}

Result<ExprPtr> resolve_cast(ExprPtr value, TypePtr target, bool try_cast) {
  const TypePtr type = columnar::with_nullable(target, try_cast || value->type->nullable);
  if (is_null_literal(*value)) return literal(std::monostate{}, columnar::with_nullable(target, true));
  if (!can_cast(*value->type, *type)) {
    Status status(ErrorCode::kTypeMismatch, to_string(*columnar::with_nullable(value->type, true)) +
                                                " cannot be cast to " +
                                                to_string(*columnar::with_nullable(target, true)));
    if (columnar::is_numeric(value->type->kind) && is_timestamp(type->kind)) {
      return std::move(status).hint("use TO_TIMESTAMP_LTZ(milliseconds, 3)");
    }
    if (is_timestamp(value->type->kind) && columnar::is_numeric(type->kind)) {
      return std::move(status).hint("use EXTRACT(EPOCH FROM ...) or UNIX_TIMESTAMP(CAST(... AS STRING))");
    }
    return status;
  }
  if (*value->type == *type) return value;
  return call(try_cast ? "TRY_CAST" : "CAST", {std::move(value)}, type);
}

std::span<const Function> cast_functions() { return kFunctions; }

}  // namespace strand::expr
