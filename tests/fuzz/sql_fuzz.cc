#include "tests/fuzz/sql_fuzz.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/utf8.h"
#include "lint/lint.h"
#include "plan/explain.h"
#include "sql/compile.h"
#include "sql/parser.h"
#include "sql/unparse.h"
#include "tests/fuzz/seeds.h"

namespace strand::fuzz {

namespace {

constexpr const char* kFile = "case.sql";

/// Whether `where` is `case.sql:line:column` with a character of the text there, or its end.
bool is_inside(const std::string& where, const std::string& text) {
  size_t line = 0;
  size_t column = 0;
  int used = 0;
  if (std::sscanf(where.c_str(), "case.sql:%zu:%zu%n", &line, &column, &used) != 2) return false;
  if (static_cast<size_t>(used) != where.size() || line == 0 || column == 0) return false;
  size_t begin = 0;
  for (size_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return false;
    ++begin;
  }
  const size_t end = std::min(text.find('\n', begin), text.size());
  const auto starts = std::count_if(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                    text.begin() + static_cast<std::ptrdiff_t>(end),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return column <= static_cast<size_t>(starts) + 1;
}

std::string wrong_with_refusal(const Status& error, const std::string& text) {
  if (error.message().empty()) return "a message without words";
  if (!valid_utf8(error.to_string())) return "a message that is no text: " + error.to_string();
  if (error.code() == ErrorCode::kNothingToRun)
    return error.where() == kFile ? "" : "its place is not the file";
  if (error.code() == ErrorCode::kInternal) return error.to_string();
  return is_inside(error.where(), text) ? "" : "a refusal without a place in the text: " + error.to_string();
}

/// What the statements say when they are written out and read again.
std::string wrong_with_writing(const std::string& text) {
  const sql::SourceText source(text, kFile);
  if (!sql::check_text(source).ok()) return "";
  const auto statements = sql::parse_script(source);
  if (!statements.ok()) return "";
  // The parser knows the names of catalogs and databases, and gives tables their full ones.
  for (const auto& statement : *statements) {
    if (std::holds_alternative<sql::ast::Database>(statement.body) ||
        std::holds_alternative<sql::ast::DropDatabase>(statement.body))
      return "";
  }
  const auto written = [](const std::vector<sql::ast::Statement>& all) {
    std::string out;
    for (const auto& statement : all) out += sql::to_sql(statement) + ";\n";
    return out;
  };
  const std::string once = written(*statements);
  const sql::SourceText again(once, kFile);
  const auto read = sql::parse_script(again);
  if (!read.ok()) {
    // Brackets around everything may reach the limit of nesting.
    if (read.status().code() == ErrorCode::kLimitExceeded) return "";
    return "what is written out does not parse: " + read.status().to_string();
  }
  if (const std::string twice = written(*read); twice != once)
    return "what is written out reads as another statement:\n" + once + "\n" + twice;
  return "";
}

}  // namespace

std::string wrong_with_sql(const std::string& text) try {
  const Result<sql::CompiledJob> job = sql::compile({.text = text, .file = kFile});
  if (!job.ok()) {
    if (const std::string wrong = wrong_with_refusal(job.status(), text); !wrong.empty()) return wrong;
  } else if (!job->plan.sinks.empty()) {
    if (plan::explain(job->plan).empty() || plan::explain_json(job->plan).empty())
      return "nothing is explained";
    for (const lint::Finding& finding : lint::lint(job->plan)) {
      if (finding.message.empty()) return "lint has found something and does not say what";
    }
  }
  return wrong_with_writing(text);
} catch (const std::exception& error) {
  return std::string("an exception: ") + error.what();
}

std::string sql_case(const std::vector<std::string>& seeds, uint64_t number) {
  Random random(number);
  return mutated(seeds, random);
}

}  // namespace strand::fuzz
