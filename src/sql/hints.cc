#include "sql/hints.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "sql/coerce.h"

namespace strand::sql {

namespace {

constexpr std::string_view kAfter = " after ";

Result<RetentionHint> retention(const ast::Hint& hint) {
  const std::string form = "write STATE_RETENTION('input' = '2 h after column')";
  if (hint.options.size() != 1 || hint.options[0].value.empty()) {
    return error_at(ErrorCode::kBadHint, hint.place, "STATE_RETENTION takes one input and its retention")
        .hint(form);
  }
  const ast::HintOption& option = hint.options[0];
  RetentionHint parsed{.input = option.key, .after = {}, .column = {}, .place = option.place};
  std::string duration = option.value;
  if (const size_t after = option.value.find(kAfter); after != std::string::npos) {
    duration = option.value.substr(0, after);
    std::string column = option.value.substr(after + kAfter.size());
    if (column.size() > 2 && column.front() == '`' && column.back() == '`')
      column = column.substr(1, column.size() - 2);
    parsed.column = std::move(column);
  }
  const Result<Duration> time = parse_duration(duration);
  if (!time.ok()) {
    return error_at(ErrorCode::kBadHint, option.place,
                    "'" + option.value + "' is not a retention: " + time.status().message())
        .hint(form);
  }
  parsed.after = *time;
  return parsed;
}

/// Ways to run a join, of which none changes its answer.
bool is_for_the_planner(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kNames = {"BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE",
                                                             "NEST_LOOP", "MULTI_JOIN",   "LOOKUP"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

Result<SelectHints> select_hints(const std::vector<ast::Hint>& hints) {
  SelectHints found;
  for (const ast::Hint& hint : hints) {
    if (hint.name == "STATE_RETENTION") {
      if (found.retention)
        return error_at(ErrorCode::kBadHint, hint.place, "STATE_RETENTION is given twice").hint("keep one");
      STRAND_TRY(found.retention, retention(hint));
    } else if (hint.name == "ALLOWED_LATENESS") {
      return error_at(ErrorCode::kUnsupportedSql, hint.place, "ALLOWED_LATENESS is not supported yet")
          .hint("read the rows that come too late from the system view V$late");
    } else if (hint.name == "STATE_TTL") {
      for (const ast::HintOption& option : hint.options) {
        const Result<Duration> ttl = parse_duration(option.value);
        if (!ttl.ok()) {
          return error_at(ErrorCode::kBadHint, option.place,
                          "STATE_TTL expects a duration such as '1 d', found '" + option.value + "'")
              .hint("write STATE_TTL('input' = '1 d')");
        }
        std::erase_if(found.ttls, [&](const TtlHint& other) { return other.input == option.key; });
        found.ttls.push_back({option.key, *ttl, option.place});
      }
    } else if (is_for_the_planner(hint.name)) {
      continue;
    } else if (hint.name == "OPTIONS") {
      return error_at(ErrorCode::kBadHint, hint.place, "OPTIONS cannot stand behind SELECT")
          .hint("put it behind a table's name");
    } else {
      const std::string near = suggestion(hint.name, {"STATE_RETENTION", "STATE_TTL"});
      return error_at(ErrorCode::kBadHint, hint.place, "hint " + hint.name + " is not known")
          .hint(near.empty() ? "there are STATE_RETENTION and STATE_TTL behind SELECT, OPTIONS behind a table"
                             : "did you mean " + near + "?");
    }
  }
  return found;
}

Result<std::map<std::string, std::string>> options_of(const std::vector<ast::Hint>& hints,
                                                      const std::string& where) {
  std::map<std::string, std::string> options;
  for (const ast::Hint& hint : hints) {
    if (hint.name != "OPTIONS") {
      return error_at(ErrorCode::kBadHint, hint.place, "hint " + hint.name + " cannot stand behind " + where)
          .hint("only OPTIONS('key' = 'value') can");
    }
    for (const ast::HintOption& option : hint.options) options[option.key] = option.value;
  }
  return options;
}

}  // namespace strand::sql
