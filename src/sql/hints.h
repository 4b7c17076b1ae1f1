// Hints behind SELECT and behind tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "sql/ast.h"

namespace strand::sql {

/// STATE_RETENTION('input' = 'D [after column]').
struct RetentionHint {
  std::string input;
  Duration after;
  std::optional<std::string> column;  // nothing: the event time
  Place place;
  bool used = false;
};

/// STATE_TTL('input' = 'D'): of a regular join or a GROUP BY, instead of table.exec.state.ttl.
struct TtlHint {
  std::string input;
  Duration ttl;
  Place place;
  bool used = false;
};

/// The hints of one SELECT.
struct SelectHints {
  std::optional<RetentionHint> retention;
  std::vector<TtlHint> ttls;
};

/// Errors: kBadHint for hints that do not stand behind SELECT, kUnsupportedSql for those not built.
Result<SelectHints> select_hints(const std::vector<ast::Hint>& hints);
/// The options of OPTIONS(…) hints. Errors: kBadHint for any other hint.
Result<std::map<std::string, std::string>> options_of(const std::vector<ast::Hint>& hints,
                                                      const std::string& where);

}  // namespace strand::sql
