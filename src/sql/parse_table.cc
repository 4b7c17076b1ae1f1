#include "sql/parser_core.h"

namespace strand::sql {

Result<ast::CreateTable> Parser::create_table() {
  ast::CreateTable table;
  STRAND_TRY(table.if_not_exists, if_not_exists());
  table.name_place = here();
  STRAND_TRY(table.name, table_name("the table's name"));
  if (is_word("WITH") || is_word("AS") || is_word("LIKE")) {
    if (is_word("WITH")) STRAND_OK(with_options(table));
    if (is_word("LIKE")) {
      STRAND_TRY(table.like, table_like());
      return table;
    }
    STRAND_OK(expect_word("AS"));
    STRAND_TRY(table.query, query());
    return table;
  }
  STRAND_OK(expect_symbol("(", "before the columns"));
  do {
    const bool name_alone = at_identifier() && (is_symbol(",", 1) || is_symbol(")", 1));
    if (!name_alone) {
      STRAND_OK(table_element(table));
      continue;
    }
    const Place place = here();
    STRAND_TRY(std::string name, identifier("a column name"));
    table.order.emplace_back(std::move(name), place);
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ',' behind a column"));
  STRAND_OK(skip_comment());
  if (is_word("DISTRIBUTED"))
    return unsupported(here(), "DISTRIBUTED is not supported in CREATE TABLE", "leave the clause out");
  if (is_word("PARTITIONED")) STRAND_OK(partitioned_by(table));
  if (!is_word("LIKE") && !is_word("AS")) STRAND_OK(with_options(table));
  if (is_word("LIKE")) {
    STRAND_TRY(table.like, table_like());
  } else if (take_word("AS")) {
    STRAND_TRY(table.query, query());
  }
  if (table.order.empty() || (table.query && table.columns.empty())) return table;
  return error_at(ErrorCode::kSyntax, table.order[0].second,
                  "column '" + table.order[0].first + "' has no type")
      .hint(table.query
                ? "declare the columns with types, or name those of the query alone, in their new order"
                : "write " + table.order[0].first + " STRING");
}

/// PARTITIONED BY (names).
Status Parser::partitioned_by(ast::CreateTable& table) {
  take();
  STRAND_OK(expect_word("BY"));
  STRAND_OK(expect_symbol("(", "behind PARTITIONED BY"));
  do {
    const Place place = here();
    Result<std::string> name = identifier("a column name");
    if (!name.ok()) return std::move(name).status();
    table.partitioned_by.emplace_back(*std::move(name), place);
  } while (take_symbol(","));
  return expect_symbol(")", "or ',' behind a column");
}

Status Parser::table_element(ast::CreateTable& table) {
  if (is_word("WATERMARK") && is_word("FOR", 1)) return table_watermark(table);
  if (take_word("CONSTRAINT")) {
    Result<std::string> name = identifier("the constraint's name");
    if (!name.ok()) return std::move(name).status();
    return primary_key(table);
  }
  if (is_word("PRIMARY") && is_word("KEY", 1)) return primary_key(table);
  if (is_word("UNIQUE"))
    return unsupported(here(), "UNIQUE is not supported", "use PRIMARY KEY (…) NOT ENFORCED");
  return column_definition(table);
}

Status Parser::column_definition(ast::CreateTable& table) {
  ast::ColumnDefinition column;
  column.place = here();
  STRAND_TRY(column.name, identifier("a column name"));
  if (take_word("AS")) {
    column.kind = ast::ColumnDefinition::Kind::kComputed;
    STRAND_TRY(column.computed, expression());
  } else {
    STRAND_TRY(column.type, type());
    if (take_word("METADATA")) {
      column.kind = ast::ColumnDefinition::Kind::kMetadata;
      column.metadata_key = column.name;
      if (take_word("FROM")) {
        STRAND_TRY(column.metadata_key, string_literal("the metadata key in single quotes"));
      }
      column.is_virtual = take_word("VIRTUAL");
    }
    if (is_word("PRIMARY") && is_word("KEY", 1)) {
      if (!table.primary_key.empty()) {
        return error_at(ErrorCode::kSyntax, here(), "the table has a primary key already")
            .hint("keep one of them");
      }
      table.primary_key_place = here();
      take_words({"PRIMARY", "KEY"});
      STRAND_OK(expect_word("NOT"));
      STRAND_OK(expect_word("ENFORCED"));
      table.primary_key = {column.name};
    }
  }
  STRAND_OK(skip_comment());
  table.columns.push_back(std::move(column));
  return Status();
}

Status Parser::table_watermark(ast::CreateTable& table) {
  const Place place = here();
  if (table.watermark) {
    return error_at(ErrorCode::kSyntax, place, "the table has a watermark already").hint("keep one of them");
  }
  take_words({"WATERMARK", "FOR"});
  table.watermark_place = here();
  STRAND_TRY(std::string column, identifier("a column name"));
  table.watermark_column = std::move(column);
  STRAND_OK(expect_word("AS"));
  STRAND_TRY(table.watermark, expression());
  return Status();
}

Status Parser::primary_key(ast::CreateTable& table) {
  const Place place = here();
  if (!table.primary_key.empty()) {
    return error_at(ErrorCode::kSyntax, place, "the table has a primary key already")
        .hint("keep one of them");
  }
  STRAND_OK(expect_word("PRIMARY"));
  STRAND_OK(expect_word("KEY"));
  table.primary_key_place = here();
  STRAND_TRY(table.primary_key, name_list("a column name"));
  if (!take_words({"NOT", "ENFORCED"})) {
    return error_at(ErrorCode::kUnsupportedSql, here(), "a primary key is declared, not enforced")
        .hint("write PRIMARY KEY (…) NOT ENFORCED");
  }
  return Status();
}

Status Parser::with_options(ast::CreateTable& table) {
  if (!is_word("WITH")) return expected("WITH ('connector' = '…', …)");
  take();
  STRAND_OK(expect_symbol("(", "behind WITH"));
  do {
    ast::Option option;
    option.place = here();
    STRAND_TRY(option.key, string_literal("an option such as 'connector' = 'filesystem'"));
    STRAND_OK(expect_symbol("=", "behind the option's name"));
    STRAND_TRY(option.value, string_literal("the option's value in single quotes"));
    for (const ast::Option& other : table.options) {
      if (other.key == option.key) {
        return error_at(ErrorCode::kDuplicateName, option.place, "option '" + option.key + "' is given twice")
            .hint("keep one of them");
      }
    }
    table.options.push_back(std::move(option));
  } while (take_symbol(","));
  return expect_symbol(")", "or ',' behind an option");
}

}  // namespace strand::sql
