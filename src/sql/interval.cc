#include "sql/interval.h"

#include <array>
#include <optional>
#include <vector>

#include "base/text.h"

namespace strand::sql {

namespace {

using columnar::TypeKind;

struct Unit {
  std::string_view name;
  int64_t size;  // milliseconds, or months
  TypeKind kind;
  int64_t modulus;  // how many make the next larger unit
};
constexpr std::array kUnits = {
    Unit{"YEAR", 12, TypeKind::kIntervalMonths, 0},
    Unit{"QUARTER", 3, TypeKind::kIntervalMonths, 0},
    Unit{"MONTH", 1, TypeKind::kIntervalMonths, 12},
    Unit{"WEEK", 604'800'000, TypeKind::kIntervalMillis, 0},
    Unit{"DAY", 86'400'000, TypeKind::kIntervalMillis, 0},
    Unit{"HOUR", 3'600'000, TypeKind::kIntervalMillis, 24},
    Unit{"MINUTE", 60'000, TypeKind::kIntervalMillis, 60},
    Unit{"SECOND", 1'000, TypeKind::kIntervalMillis, 60},
};
// The order of fields in a text with several of them.
constexpr std::array kDayTime = {"DAY", "HOUR", "MINUTE", "SECOND"};
constexpr std::array kYearMonth = {"YEAR", "MONTH"};

const Unit* unit_of(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// The units from first to last.
std::vector<const Unit*> fields_of(const IntervalUnits& units) {
  if (units.last.empty()) return {unit_of(units.first)};
  std::vector<const Unit*> fields;
  const auto collect = [&](const auto& order) {
    for (const char* name : order) {
      if (name == units.first || !fields.empty()) fields.push_back(unit_of(name));
      if (name == units.last) return;
    }
    fields.clear();
  };
  collect(kDayTime);
  if (fields.empty() || fields.back()->name != units.last) {
    fields.clear();
    collect(kYearMonth);
  }
  return !fields.empty() && fields.back()->name == units.last ? fields : std::vector<const Unit*>{};
}

std::string example_of(const IntervalUnits& units) {
  const std::string span = units.first + (units.last.empty() ? "" : " TO " + units.last);
  if (units.last.empty()) return "'5' " + span;
  if (units.first == "YEAR") return "'1-6' " + span;
  const char* texts[] = {"1 02:03:04.005", "02:03:04.005", "03:04.005"};
  const size_t from = units.first == "DAY" ? 0 : units.first == "HOUR" ? 1 : 2;
  std::string text = texts[from];
  if (units.last == "MINUTE") text = text.substr(0, text.rfind(':'));
  if (units.last == "HOUR") text = text.substr(0, text.find(':'));
  return "'" + text + "' " + span;
}

/// Reads the fields of a text one by one.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text) {}
  std::optional<int64_t> digits(size_t& count) {
    int64_t value = 0;
    count = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && count < 18) {
      value = value * 10 + (text_[at_++] - '0');
      ++count;
    }
    return count == 0 ? std::nullopt : std::optional(value);
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (take(' ')) {
    }
  }
  bool done() const { return at_ == text_.size(); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

std::string quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

std::string interval_unit(const std::string& word) {
  std::string singular = word;
  if (!unit_of(singular) && !singular.empty() && singular.back() == 'S') singular.pop_back();
  return unit_of(singular) ? singular : "";
}

std::string interval_literal(int64_t millis) {
  for (const std::string_view name : {"DAY", "HOUR", "MINUTE", "SECOND"}) {
    const int64_t size = unit_of(name)->size;
    if (millis % size == 0 && millis / size < 100) {
      return "INTERVAL '" + std::to_string(millis / size) + "' " + std::string(name);
    }
  }
  std::string digits = std::to_string(millis / 1000);
  std::string fraction = std::to_string(1000 + millis % 1000).substr(1);
  const std::string precision = digits.size() > 2 ? "(" + std::to_string(digits.size()) + ")" : "";
  return "INTERVAL '" + digits + (millis % 1000 == 0 ? "" : "." + fraction) + "' SECOND" + precision;
}

Result<IntervalValue> parse_interval(const std::string& text, const IntervalUnits& units) {
  const std::vector<const Unit*> fields = fields_of(units);
  if (fields.empty()) {
    return Status(ErrorCode::kSyntax, "an interval cannot go from " + units.first + " to " + units.last)
        .hint("DAY TO SECOND, HOUR TO MINUTE, MINUTE TO SECOND, YEAR TO MONTH and the like");
  }
  const auto bad = [&](const std::string& why) {
    return Status(ErrorCode::kSyntax, "INTERVAL " + quoted(text) + " does not fit its units" + why)
        .hint("write it as INTERVAL " + example_of(units));
  };
  FieldReader reader(text);
  reader.skip_blanks();
  const bool negative = reader.take('-') || (reader.take('+') && false);
  IntervalValue result{0, fields[0]->kind};
  for (size_t i = 0; i < fields.size(); ++i) {
    const Unit& unit = *fields[i];
    if (i > 0) {
      const bool blank = fields[i - 1]->name == "DAY";
      const char separator = blank ? ' ' : unit.kind == TypeKind::kIntervalMonths ? '-' : ':';
      if (!reader.take(separator)) return bad("");
    }
    size_t count = 0;
    const auto value = reader.digits(count);
    if (!value) return bad("");
    if (i == 0 && count > static_cast<size_t>(units.precision)) {
      const bool time = unit.kind == TypeKind::kIntervalMillis && fields.size() == 1;
      return Status(ErrorCode::kSyntax, "INTERVAL " + quoted(text) + " " + units.first + " has " +
                                            std::to_string(count) + " digits, but a first field has " +
                                            std::to_string(units.precision))
          .hint((time ? "write " + interval_literal(*value * unit.size) + " or " : "write ") + "INTERVAL " +
                quoted(text) + " " + units.first + "(" + std::to_string(count) + ")");
    }
    if (i > 0 && *value >= unit.modulus)
      return bad(": " + std::string(unit.name) + " goes to " + std::to_string(unit.modulus - 1));
    result.value += *value * unit.size;
  }
  if (fields.back()->name == "SECOND" && reader.take('.')) {
    size_t count = 0;
    auto fraction = reader.digits(count);
    if (!fraction) return bad("");
    if (count > 9) return bad(": a second has nine decimals at most");
    for (; count < 3; ++count) *fraction *= 10;
    for (; count > 3; --count) *fraction /= 10;
    result.value += *fraction;
  }
  reader.skip_blanks();
  if (!reader.done()) return bad("");
  if (negative) result.value = -result.value;
  return result;
}

}  // namespace strand::sql
