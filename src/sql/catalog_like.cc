// CREATE TABLE ... LIKE: the other table's declaration, and what stands here behind it.
#include <algorithm>

#include "sql/catalog.h"

namespace strand::sql {

namespace {

using Kind = ast::ColumnDefinition::Kind;
using LikeTake = ast::TableLike::Take;

LikeTake take_of(const ast::TableLike& like, Kind kind) {
  return kind == Kind::kComputed   ? like.generated
         : kind == Kind::kMetadata ? like.metadata
                                   : LikeTake::kIncluding;
}

Status has_it(const std::string& what, const ast::TableLike& like, const Place& place,
              const std::string& way_out) {
  return error_at(ErrorCode::kDuplicateName, place, what + " is taken over from '" + like.table + "'")
      .hint(way_out);
}

Status like_column(ast::CreateTable& whole, const ast::ColumnDefinition& column, const ast::TableLike& like) {
  const auto same = std::ranges::find(whole.columns, column.name, &ast::ColumnDefinition::name);
  if (same == whole.columns.end()) {
    whole.columns.push_back(column);
    return Status();
  }
  if (same->kind != column.kind || take_of(like, column.kind) != LikeTake::kOverwriting) {
    const bool may = same->kind == column.kind && column.kind != Kind::kPhysical;
    return has_it("column '" + column.name + "'", like, column.place,
                  may ? std::string("leave it out, or write OVERWRITING ") +
                            (column.kind == Kind::kComputed ? "GENERATED" : "METADATA")
                      : "leave it out");
  }
  *same = column;
  return Status();
}

Status like_key_and_watermark(ast::CreateTable& whole, const ast::CreateTable& own,
                              const ast::TableLike& like) {
  if (!own.primary_key.empty()) {
    if (!whole.primary_key.empty())
      return has_it("the primary key", like, own.primary_key_place,
                    "leave it out, or write EXCLUDING CONSTRAINTS");
    whole.primary_key = own.primary_key;
    whole.primary_key_place = own.primary_key_place;
  }
  if (!own.watermark) return Status();
  if (whole.watermark && like.watermarks != LikeTake::kOverwriting)
    return has_it("the watermark", like, own.watermark_place,
                  "leave it out, or write OVERWRITING WATERMARKS");
  whole.watermark = own.watermark;
  whole.watermark_column = own.watermark_column;
  whole.watermark_place = own.watermark_place;
  return Status();
}

Status like_options(ast::CreateTable& whole, const ast::CreateTable& own, const ast::TableLike& like) {
  for (const ast::Option& option : own.options) {
    const auto same = std::ranges::find(whole.options, option.key, &ast::Option::key);
    if (same == whole.options.end()) {
      whole.options.push_back(option);
    } else if (like.options == LikeTake::kOverwriting) {
      *same = option;
    } else {
      return has_it("option '" + option.key + "'", like, option.place,
                    "leave it out, or write OVERWRITING OPTIONS");
    }
  }
  return Status();
}

}  // namespace

Result<ast::CreateTable> Catalog::like_another(const ast::CreateTable& own) const {
  const ast::TableLike& like = *own.like;
  const auto other = statements_.find(like.table);
  if (other == statements_.end()) {
    if (!view(like.table)) return unknown(like.table, like.place);
    return error_at(ErrorCode::kUnknownTable, like.place,
                    "'" + like.table + "' is a view, and LIKE takes tables")
        .hint("declare the columns, or write CREATE VIEW");
  }
  ast::CreateTable whole = other->second;
  whole.temporary = own.temporary;
  whole.name = own.name;
  whole.name_place = own.name_place;
  whole.if_not_exists = own.if_not_exists;
  std::erase_if(whole.columns,
                [&](const auto& column) { return take_of(like, column.kind) == LikeTake::kExcluding; });
  if (like.constraints == LikeTake::kExcluding) whole.primary_key.clear();
  if (like.watermarks == LikeTake::kExcluding) {
    whole.watermark = nullptr;
    whole.watermark_column.reset();
  }
  if (like.options == LikeTake::kExcluding) whole.options.clear();
  for (const ast::ColumnDefinition& column : own.columns) STRAND_OK(like_column(whole, column, like));
  STRAND_OK(like_key_and_watermark(whole, own, like));
  STRAND_OK(like_options(whole, own, like));
  return whole;
}

}  // namespace strand::sql
