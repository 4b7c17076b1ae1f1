// LIKE in CREATE TABLE.
#include <algorithm>
#include <array>

#include "sql/parser_core.h"

namespace strand::sql {

namespace {

using Take = ast::TableLike::Take;

/// A part of a table; PARTITIONS and DISTRIBUTION are taken of no table, since none has them.
struct Part {
  std::string_view name;
  Take ast::TableLike::* take;
  bool overwritten;  // OVERWRITING may stand in front of it
};
constexpr std::array kParts = {
    Part{"CONSTRAINTS", &ast::TableLike::constraints, false},
    Part{"GENERATED", &ast::TableLike::generated, true},
    Part{"METADATA", &ast::TableLike::metadata, true},
    Part{"WATERMARKS", &ast::TableLike::watermarks, true},
    Part{"OPTIONS", &ast::TableLike::options, true},
    Part{"PARTITIONS", nullptr, false},
    Part{"DISTRIBUTION", nullptr, false},
};

}  // namespace

Result<ast::TableLike> Parser::table_like() {
  take();
  ast::TableLike like;
  like.place = here();
  STRAND_TRY(like.table, table_name("the table that this one is like"));
  if (!take_symbol("(")) return like;
  ast::TableLike parts = like;  // what is said of parts, over what is said of all
  std::vector<Take ast::TableLike::*> named;
  while (!take_symbol(")")) {
    const bool overwrites = is_word("OVERWRITING");
    if (!overwrites && !is_word("INCLUDING") && !is_word("EXCLUDING"))
      return expected("INCLUDING, EXCLUDING, OVERWRITING or ')'");
    const Take how = overwrites             ? Take::kOverwriting
                     : is_word("EXCLUDING") ? Take::kExcluding
                                            : Take::kIncluding;
    take();
    if (!overwrites && take_word("ALL")) {
      for (const Part& part : kParts) {
        if (part.take != nullptr) like.*part.take = how;
      }
      continue;
    }
    const auto part = std::ranges::find_if(
        kParts, [&](const Part& each) { return is_word(each.name) && (each.overwritten || !overwrites); });
    if (part == kParts.end())
      return expected(overwrites ? "GENERATED, METADATA, WATERMARKS or OPTIONS"
                                 : "ALL, CONSTRAINTS, GENERATED, METADATA, WATERMARKS or OPTIONS");
    take();
    if (part->take == nullptr) continue;
    parts.*part->take = how;
    named.push_back(part->take);
  }
  for (const auto take : named) like.*take = parts.*take;
  return like;
}

}  // namespace strand::sql
