// Times from numbers and text, and text of times.
#include <limits>
#include <map>

#include "expr/civil.h"
#include "expr/date_pattern.h"
#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/temporal_text.h"

namespace strand::expr {

namespace {

using std::string_view;

constexpr const char* kDefaultPattern = "yyyy-MM-dd HH:mm:ss";
constexpr const char* kNoPattern = "this is no date pattern";
// Flink's TIMESTAMP_LTZ holds the years 0000 to 9999; what is outside gives NULL.
constexpr int64_t kMillisMin = days_of({0, 1, 1}) * kMillisPerDay;
constexpr int64_t kMillisMax = days_of({10'000, 1, 1}) * kMillisPerDay - 1;

NodePtr text_literal(const char* text) {
  return make_literal(std::string(text), columnar::make_type(TypeKind::kString, false));
}

/// The last pattern that was used, compiled; patterns are nearly always literals.
class LastPattern {
 public:
  /// Null if it is no pattern.
  const DatePattern* get(string_view text) {
    if (!known_ || text != text_) {
      text_ = text;
      known_ = true;
      Result<DatePattern> parsed = DatePattern::parse(text);
      pattern_ = parsed.ok() ? std::optional(*std::move(parsed)) : std::nullopt;
      format_ = pattern_ ? std::optional(CachedFormat(*pattern_)) : std::nullopt;
    }
    return pattern_ ? &*pattern_ : nullptr;
  }
  CachedFormat* format(string_view text) { return get(text) != nullptr ? &*format_ : nullptr; }

 private:
  bool known_ = false;
  std::string text_;
  std::optional<DatePattern> pattern_;
  std::optional<CachedFormat> format_;
};

/// A literal pattern that is none is refused when the expression is compiled.
Status check_pattern(const Node& pattern) {
  const Value* value = pattern.literal();
  if (value == nullptr || value->column->is_null(0)) return Status();
  Result<DatePattern> parsed = DatePattern::parse(value->column->string(0));
  return parsed.ok() ? Status() : std::move(parsed).status();
}

// --- TO_TIMESTAMP_LTZ
// ---------------------------------------------------------------------------------------------

/// Milliseconds are the stored form already: the column is handed on as it is, unless a value is out of
/// range.
NodePtr make_from_millis(const TypePtr& type, Nodes args) {
  return make_call(
      type, std::move(args), {}, [type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
        const int64_t* in = v[0].column->values<int64_t>();
        uint64_t outside = 0;
        for (int64_t i = 0; i < scope.length; ++i) {
          outside |= static_cast<uint64_t>(static_cast<uint64_t>(in[i]) - static_cast<uint64_t>(kMillisMin) >
                                           static_cast<uint64_t>(kMillisMax - kMillisMin));
        }
        if (outside == 0) return retyped(v[0], type);
        auto check = [](int64_t& out, int64_t millis) {
          out = millis;
          return millis >= kMillisMin && millis <= kMillisMax;
        };
        return map_rows<int64_t, int64_t>(scope, v, type, check, "TO_TIMESTAMP_LTZ", ErrorCode::kOverflow,
                                          "");
      });
}

Result<NodePtr> build_to_ltz(const Expr& e, Nodes args, const Environment&) {
  if (is_text(args[0]->type()->kind)) {
    return make_row_call<int64_t, string_view, string_view, string_view>(
        e.type, std::move(args),
        [last = LastPattern(), name = std::string(), zone = std::optional<Zone>(Zone())](
            int64_t& out, string_view text, string_view pattern, string_view zone_name) mutable {
          const DatePattern* compiled = last.get(pattern);
          if (zone_name != name) {
            name = zone_name;
            Result<Zone> loaded = Zone::load(name);
            zone = loaded.ok() ? std::optional(*std::move(loaded)) : std::nullopt;
          }
          if (compiled == nullptr || !zone) return false;
          const std::optional<int64_t> local = compiled->read(text);
          if (local) out = zone->utc_of(*local);
          return local.has_value();
        });
  }
  if (args.size() == 1) return make_from_millis(e.type, std::move(args));
  const bool seconds = *literal_integer(*e.args[1]) == 0;
  args.pop_back();
  if (!seconds) return make_from_millis(e.type, std::move(args));
  return make_row_call<int64_t, int64_t>(e.type, std::move(args), [](int64_t& out, int64_t n) {
    out = static_cast<int64_t>(static_cast<uint64_t>(n) * 1'000);
    return n >= kMillisMin / 1'000 && n <= kMillisMax / 1'000;
  });
}

Result<ExprPtr> resolve_to_ltz(const Function&, Args args) {
  const TypePtr type = columnar::timestamp_type(3, true);
  if (args[0]->type->kind == TypeKind::kString) {
    const TypePtr text = columnar::make_type(TypeKind::kString, false);
    if (args.size() < 2) args.push_back(literal(std::string(kDefaultPattern), text));
    if (args.size() < 3) args.push_back(literal(std::string("UTC"), text));
    if (args[1]->type->kind != TypeKind::kString || args[2]->type->kind != TypeKind::kString) {
      return does_not_take("TO_TIMESTAMP_LTZ", args);
    }
    return call("TO_TIMESTAMP_LTZ", std::move(args), type);
  }
  const bool number = columnar::is_numeric(args[0]->type->kind) || is_null_literal(*args[0]);
  if (!number || args.size() > 2) return does_not_take("TO_TIMESTAMP_LTZ", args);
  args[0] = coerce(args[0], columnar::make_type(TypeKind::kBigInt));
  if (args.size() == 2) {
    const int64_t* precision = literal_integer(*args[1]);
    if (precision == nullptr || (*precision != 0 && *precision != 3)) {
      return does_not_take("TO_TIMESTAMP_LTZ", args, "the precision is 0 for seconds or 3 for milliseconds");
    }
  }
  return call("TO_TIMESTAMP_LTZ", std::move(args), type);
}

// --- TO_TIMESTAMP, TO_DATE
// ----------------------------------------------------------------------------------------

Result<NodePtr> build_to_timestamp(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 1) {
    return make_row_call<int64_t, string_view>(e.type, std::move(args), [](int64_t& out, string_view text) {
      const std::optional<int64_t> value = parse_timestamp(text, 3);
      out = value.value_or(0);
      return value.has_value();
    });
  }
  STRAND_OK(check_pattern(*args[1]));
  return make_failing_call<int64_t, string_view, string_view>(
      e.type, std::move(args), "TO_TIMESTAMP", ErrorCode::kBadValue, kNoPattern,
      [last = LastPattern()](int64_t& out, string_view text, string_view pattern) mutable {
        const DatePattern* compiled = last.get(pattern);
        if (compiled == nullptr) return Row::kFailed;
        const std::optional<int64_t> local = compiled->read(text);
        out = local.value_or(0);
        return local ? Row::kValue : Row::kNull;
      });
}

Result<NodePtr> build_to_date(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 1) args.push_back(text_literal("yyyy-MM-dd"));
  STRAND_OK(check_pattern(*args[1]));
  return make_failing_call<int32_t, string_view, string_view>(
      e.type, std::move(args), "TO_DATE", ErrorCode::kBadValue, kNoPattern,
      [last = LastPattern()](int32_t& out, string_view text, string_view pattern) mutable {
        const DatePattern* compiled = last.get(pattern);
        if (compiled == nullptr) return Row::kFailed;
        const std::optional<int64_t> local = compiled->read(text);
        out = static_cast<int32_t>(floor_div(local.value_or(0), kMillisPerDay));
        return local ? Row::kValue : Row::kNull;
      });
}

// --- DATE_FORMAT, FROM_UNIXTIME
// -----------------------------------------------------------------------------------

/// Milliseconds to the local time that is printed.
class ToLocal {
 public:
  ToLocal(const columnar::Type& type, const Zone& zone)
      : ltz_(type.kind == TypeKind::kTimestampLtz),
        per_milli_(columnar::timestamp_units(type.precision) / 1'000),
        zone_(zone) {}
  int64_t operator()(int64_t value) const {
    const int64_t millis = per_milli_ == 1 ? value : floor_div(value, per_milli_);
    return ltz_ ? zone_.local_of(millis) : millis;
  }

 private:
  bool ltz_;
  int64_t per_milli_;
  Zone zone_;
};

Result<NodePtr> build_date_format(const Expr& e, Nodes args, const Environment& environment) {
  const ToLocal to_local(*args[0]->type(), environment.zone);
  if (const Value* literal = args[1]->literal(); literal != nullptr && !literal->column->is_null(0)) {
    Result<DatePattern> parsed = DatePattern::parse(literal->column->string(0));
    if (!parsed.ok()) {
      // What is wrong shows when the job runs, as in Flink.
      return make_failing_call<std::string, int64_t, string_view>(
          e.type, std::move(args), "DATE_FORMAT", ErrorCode::kBadValue, parsed.status().message(),
          [](TextWriter&, int64_t, string_view) { return Row::kFailed; });
    }
    DatePattern pattern = *std::move(parsed);
    args.pop_back();
    return make_row_call<std::string, int64_t>(
        e.type, std::move(args),
        [format = CachedFormat(std::move(pattern)), to_local](TextWriter& out, int64_t value) mutable {
          out.append(format.text(to_local(value)));
          return true;
        });
  }
  return make_failing_call<std::string, int64_t, string_view>(
      e.type, std::move(args), "DATE_FORMAT", ErrorCode::kBadValue, kNoPattern,
      [last = LastPattern(), to_local](TextWriter& out, int64_t value, string_view pattern) mutable {
        CachedFormat* format = last.format(pattern);
        if (format == nullptr) return Row::kFailed;
        out.append(format->text(to_local(value)));
        return Row::kValue;
      });
}

Result<ExprPtr> resolve_date_format(const Function&, Args args) {
  const TypePtr text = columnar::make_type(TypeKind::kString);
  if (args[0]->type->kind == TypeKind::kString) {
    STRAND_TRY(args[0],
               resolve_call("TO_TIMESTAMP", {args[0], literal(std::string(kDefaultPattern),
                                                              columnar::with_nullable(text, false))}));
  }
  if (is_null_literal(*args[0])) args[0] = coerce(args[0], columnar::timestamp_type(3, false));
  if (!is_timestamp(args[0]->type->kind)) {
    return does_not_take("DATE_FORMAT", args, "CAST the first argument to TIMESTAMP");
  }
  return call("DATE_FORMAT", std::move(args), text);
}

Result<NodePtr> build_from_unixtime(const Expr& e, Nodes args, const Environment& environment) {
  if (args.size() == 1) args.push_back(text_literal(kDefaultPattern));
  STRAND_OK(check_pattern(*args[1]));
  return make_failing_call<std::string, int64_t, string_view>(
      e.type, std::move(args), "FROM_UNIXTIME", ErrorCode::kBadValue, kNoPattern,
      [last = LastPattern(), zone = environment.zone](TextWriter& out, int64_t seconds,
                                                      string_view pattern) mutable {
        CachedFormat* format = last.format(pattern);
        if (format == nullptr) return Row::kFailed;
        if (seconds < kMillisMin / 1'000 || seconds > kMillisMax / 1'000) return Row::kNull;
        out.append(format->text(zone.local_of(seconds * 1'000)));
        return Row::kValue;
      });
}

// --- UNIX_TIMESTAMP, CONVERT_TZ
// -----------------------------------------------------------------------------------

/// Without arguments the clock; a text that cannot be read gives the lowest BIGINT, as in Flink.
Result<NodePtr> build_unix_timestamp(const Expr& e, Nodes args, const Environment& environment) {
  if (args.empty()) {
    return make_call(e.type, std::move(args), {},
                     [type = e.type](const Scope& scope, std::span<const Value>) {
                       const int64_t seconds = floor_div(scope.context->now.millis, kMillisPerSecond);
                       return Result<Value>(Value{scalar_to_column(seconds, type), true});
                     });
  }
  if (args.size() == 1) args.push_back(text_literal(kDefaultPattern));
  STRAND_OK(check_pattern(*args[1]));
  return make_failing_call<int64_t, string_view, string_view>(
      e.type, std::move(args), "UNIX_TIMESTAMP", ErrorCode::kBadValue, kNoPattern,
      [last = LastPattern(), zone = environment.zone](int64_t& out, string_view text,
                                                      string_view pattern) mutable {
        const DatePattern* compiled = last.get(pattern);
        if (compiled == nullptr) return Row::kFailed;
        const std::optional<int64_t> local = compiled->read(text);
        out = local ? floor_div(zone.utc_of(*local), kMillisPerSecond) : std::numeric_limits<int64_t>::min();
        return Row::kValue;
      });
}

/// Zones by name; one that is not known is GMT, as in Java.
class Zones {
 public:
  const Zone& get(string_view name) {
    const auto found = zones_.find(name);
    if (found != zones_.end()) return found->second;
    Result<Zone> zone = Zone::load(std::string(name));
    return zones_.emplace(std::string(name), zone.ok() ? *std::move(zone) : Zone()).first->second;
  }

 private:
  std::map<std::string, Zone, std::less<>> zones_;
};

Result<NodePtr> build_convert_tz(const Expr& e, Nodes args, const Environment&) {
  STRAND_TRY(const DatePattern pattern, DatePattern::parse(kDefaultPattern));
  return make_row_call<std::string, string_view, string_view, string_view>(
      e.type, std::move(args),
      [pattern, zones = Zones(), buffer = std::string()](TextWriter& out, string_view text, string_view from,
                                                         string_view to) mutable {
        const std::optional<int64_t> local = pattern.read(text);
        if (!local) return false;
        buffer.clear();
        const int64_t utc = zones.get(from).utc_of(*local);
        pattern.format(zones.get(to).local_of(utc), buffer);
        out.append(buffer);
        return true;
      });
}

Result<TypePtr> to_timestamp_type(const Args&) { return columnar::timestamp_type(3, false); }
constexpr auto kMaybeText = returns_nullable<TypeKind::kString>;

constexpr Function kFunctions[] = {
    {.name = "TO_TIMESTAMP_LTZ", .params = "a[aa", .build = build_to_ltz, .resolve = resolve_to_ltz},
    {.name = "TO_TIMESTAMP", .params = "t[t", .type = to_timestamp_type, .build = build_to_timestamp},
    {.name = "TO_DATE", .params = "t[t", .type = returns_nullable<TypeKind::kDate>, .build = build_to_date},
    {.name = "DATE_FORMAT", .params = "at", .build = build_date_format, .resolve = resolve_date_format},
    {.name = "FROM_UNIXTIME", .params = "l[t", .type = kMaybeText, .build = build_from_unixtime},
    {.name = "UNIX_TIMESTAMP",
     .params = "[tt",
     .type = returns<TypeKind::kBigInt>,
     .build = build_unix_timestamp},
    {.name = "CONVERT_TZ", .params = "ttt", .type = kMaybeText, .build = build_convert_tz},
};

}  // namespace

std::span<const Function> time_text_functions() { return kFunctions; }

}  // namespace strand::expr
