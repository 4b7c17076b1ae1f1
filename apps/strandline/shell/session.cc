#include "session.h"

#include <algorithm>
#include <cctype>

#include "engine/catalogs.h"
#include "sql/full_name.h"
#include "sql/lexer.h"
#include "sql/parser.h"
#include "sql/unparse.h"

namespace strand::app::shell {

namespace {

using Kind = Statement::Kind;

Kind kind_of(const sql::ast::Statement& statement) {
  namespace ast = sql::ast;
  if (const auto* table = std::get_if<ast::CreateTable>(&statement.body))
    return table->query ? Kind::kStores : Kind::kDeclares;
  if (std::holds_alternative<ast::Print>(statement.body)) return Kind::kShows;
  if (std::holds_alternative<ast::Insert>(statement.body)) return Kind::kWrites;
  if (std::holds_alternative<ast::StatementSet>(statement.body)) return Kind::kWrites;
  const auto* set = std::get_if<ast::SetStatement>(&statement.body);
  const bool asks = (set != nullptr && set->key.empty()) ||
                    std::holds_alternative<ast::Show>(statement.body) ||
                    std::holds_alternative<ast::Describe>(statement.body) ||
                    std::holds_alternative<ast::Explain>(statement.body);
  return asks ? Kind::kAnswers : Kind::kDeclares;
}

/// The text with blanks instead of everything but line ends.
std::string blanks(std::string text) {
  for (char& c : text) {
    if (c != '\n') c = ' ';
  }
  return text;
}

}  // namespace

Session::Session(const connect::Registry& registry, env::Env env, sql::SqlInput outside)
    : registry_(registry), env_(env), outside_(std::move(outside)) {
  outside_.unfinished = true;  // tables may be declared later
  outside_.read_catalog = [this](const std::string& path) { return catalog_before(path); };
}

/// What the file held before this shell wrote to it: all that was declared since is compiled behind it again.
Result<std::optional<std::string>> Session::catalog_before(const std::string& path) const {
  const auto known = catalogs_before_.find(path);
  if (known != catalogs_before_.end()) return known->second;
  return engine::read_catalog(*env_.files, path);
}

/// Writes the catalogs that are something else now than this shell has found or left in their files.
Status Session::keep(const std::vector<sql::KeptCatalog>& catalogs) {
  for (const sql::KeptCatalog& catalog : catalogs) {
    sql::KeptCatalog change = catalog;
    const auto now = catalogs_now_.find(catalog.path);
    if (now != catalogs_now_.end()) change.before = now->second;
    Status kept = engine::keep_catalog(*env_.files, change);
    if (!kept.ok())
      return kept.code() == ErrorCode::kBadCatalog ? after_conflict(std::move(kept), catalog.path) : kept;
    catalogs_before_.try_emplace(catalog.path, catalog.before);
    if (change.changed()) catalogs_now_[catalog.path] = catalog.text;
  }
  return Status();
}

/// Somebody else has written the file. What this shell has not written to is read again for the next
/// statement; what it has written would be declared twice.
Status Session::after_conflict(Status refused, const std::string& path) {
  if (!catalogs_now_.contains(path)) {
    catalogs_before_.erase(path);
    return refused;
  }
  return Status(refused.code(), refused.message())
      .at(refused.where())
      .hint(
          "leave the shell and open the catalog in a new one: this one has written to it, too, and writes no "
          "more");
}

/// Warnings of the command line come first with each compilation, and are told once.
void Session::count_warnings_of_settings() {
  if (warnings_of_settings_) return;
  const auto nothing = compile("SHOW CURRENT CATALOG;");
  warnings_of_settings_ = nothing.ok() && declared_.empty() ? nothing->warnings.size() : 0;
}

Result<std::vector<Statement>> Session::split(const std::string& text) const {
  const sql::SourceText source(declared_ + text, outside_.file);
  if (Status checked = check_text(source); !checked.ok()) return moved_up(checked);
  sql::CatalogFiles files{.read = outside_.read_catalog};
  auto parsed = sql::parse_script(source, files);
  if (!parsed.ok()) return moved_up(parsed.status());
  std::vector<Statement> statements;
  std::vector<size_t> begins;
  for (const sql::ast::Statement& each : *parsed) {
    if (each.place.offset < declared_.size()) continue;
    const auto* table = std::get_if<sql::ast::CreateTable>(&each.body);
    statements.push_back({kind_of(each), {}, table == nullptr ? "" : table->name});
    begins.push_back(each.place.offset - declared_.size());
  }
  for (size_t i = 0; i < statements.size(); ++i) {
    const size_t end = i + 1 < begins.size() ? begins[i + 1] : text.size();
    statements[i].text = blanks(text.substr(0, begins[i])) + text.substr(begins[i], end - begins[i]);
  }
  return statements;
}

/// A text that names places of `declared_` and of what stands behind it (`FILE:LINE:COLUMN`), with those of
/// the texts that the user has given.
std::string Session::with_given_places(const std::string& text) const {
  const std::string prefix = outside_.file + ":";
  const int64_t above = std::ranges::count(declared_, '\n');
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
    const char* digits = text.c_str() + at + prefix.size();
    char* end = nullptr;
    int64_t line = std::strtoll(digits, &end, 10);
    if (end == digits || *end != ':') continue;
    const char* column_digits = end + 1;
    int64_t column = std::strtoll(column_digits, &end, 10);
    if (end == column_digits) continue;
    if (line > above) {
      line -= above;
    } else if (const auto part = std::ranges::upper_bound(given_, line, {}, &Given::line);
               part != given_.begin()) {
      const Given& given = *(part - 1);
      if (line == given.line) column += given.column;
      line = given.given_line + line - given.line;
    }
    out += text.substr(copied, at - copied) + prefix + std::to_string(line) + ":" + std::to_string(column);
    copied = static_cast<size_t>(end - text.c_str());
  }
  return out + text.substr(copied);
}

Status Session::moved_up(const Status& error) const {
  return Status(error.code(), with_given_places(error.message()))
      .at(with_given_places(error.where()))
      .hint(with_given_places(error.hint()));
}

/// `text` holds from now on; it is, or stands for, what begins behind the blanks of `given`.
void Session::declare(const std::string& text, const std::string& given) {
  const std::string before = given.substr(0, given.find_first_not_of(" \n"));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  given_.push_back({std::ranges::count(declared_, '\n') + 1, std::ranges::count(before, '\n') + 1,
                    static_cast<int64_t>(before.size() - line_start)});
  declared_ += text + "\n";
}

Result<sql::CompiledJob> Session::compile(const std::string& text) const {
  sql::SqlInput input = outside_;
  input.text = declared_ + text;
  auto job = engine::compile_job(std::move(input), registry_, env_);
  if (!job.ok()) return moved_up(job.status());
  job->warnings.erase(job->warnings.begin(), job->warnings.begin() + static_cast<int64_t>(warnings_told_));
  job->notes.erase(job->notes.begin(), job->notes.begin() + static_cast<int64_t>(notes_told_));
  for (sql::Shown& shown : job->shown) {
    for (auto& row : shown.rows) {
      for (std::string& cell : row) cell = with_given_places(cell);
    }
  }
  return job;
}

Result<sql::CompiledJob> Session::next(const Statement& statement) {
  std::string text = statement.text.substr(0, statement.text.find_last_not_of(" \n") + 1);
  if (!text.ends_with(';')) text += "\n;";  // a comment may stand last
  // A text without an answer is refused.
  const std::string asked = statement.kind == Kind::kDeclares ? text + " SHOW CURRENT CATALOG;" : text;
  count_warnings_of_settings();
  STRAND_TRY(sql::CompiledJob job, compile(asked));
  STRAND_OK(keep(job.catalogs));
  if (statement.kind == Kind::kDeclares) {
    job.shown.clear();
    declare(text.substr(text.find_first_not_of(" \n")), text);
  } else if (statement.kind == Kind::kStores) {
    STRAND_TRY(const sql::CompiledJob stored,
               compile(text + " SHOW CREATE TABLE " + sql::name_to_sql(statement.table) + ";"));
    declare(stored.shown.back().rows[0][0] + "\n;", text);
  } else {
    warnings_told_ = std::max(warnings_told_, *warnings_of_settings_);
    return job;
  }
  warnings_told_ += job.warnings.size();
  notes_told_ += job.notes.size();
  return job;
}

std::vector<std::string> Session::column_of(const std::string& question) const {
  const auto answer = compile(question);
  std::vector<std::string> cells;
  if (!answer.ok() || answer->shown.empty()) return cells;
  for (const auto& row : answer->shown.back().rows) cells.push_back(row[0]);
  return cells;
}

std::vector<std::string> Session::names() const {
  std::vector<std::string> names;
  for (const char* question : {"SHOW TABLES;", "SHOW VIEWS;"}) {
    for (const std::string& table : column_of(question)) {
      names.push_back(table);
      for (std::string& column : column_of("DESCRIBE " + sql::identifier_to_sql(table) + ";"))
        names.push_back(std::move(column));
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::vector<std::string> Session::functions() const {
  std::vector<std::string> names = column_of("SHOW FUNCTIONS;");
  for (std::string& name : names)
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return names;
}

bool is_whole(const std::string& text) {
  const sql::SourceText source(text, "sql");
  const auto tokens = sql::tokenize(source);
  if (!tokens.ok()) {  // a text or comment may be open; it ends with the statement at the latest
    const size_t last = text.find_last_not_of(" \n\t");
    return last != std::string::npos && text[last] == ';';
  }
  const size_t n = tokens->size() - 1;  // without kEnd
  if (n == 0) return true;
  int cases = 0;
  bool in_set = false;
  for (size_t i = 0; i < n; ++i) {
    const std::string& word = (*tokens)[i].upper;
    if (word == "CASE") ++cases;
    if (word == "BEGIN") in_set = true;
    if (word != "END") continue;
    if (cases == 0) in_set = false;
    cases = std::max(0, cases - 1);
  }
  return (*tokens)[n - 1].text == ";" && !in_set;
}

}  // namespace strand::app::shell
