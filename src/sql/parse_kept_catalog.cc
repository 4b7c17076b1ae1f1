// CREATE CATALOG of a file: its statements are read as if they stood there.
#include <algorithm>

#include "sql/full_name.h"
#include "sql/parser_core.h"
#include "sql/unparse.h"

namespace strand::sql {

bool Parser::is_open(const std::string& catalog) const {
  return files_ != nullptr &&
         std::ranges::find(files_->open, catalog, &OpenCatalog::name) != files_->open.end();
}

Result<ast::Statement> Parser::open_catalog(const std::string& name, const std::string& path,
                                            const Place& place) {
  if (files_ == nullptr || !files_->read) {
    return unsupported(place, "a catalog in a file cannot be opened here",
                       "open it in a job file or in the shell");
  }
  if (std::ranges::find(files_->open, path, &OpenCatalog::path) != files_->open.end()) {
    return error_at(ErrorCode::kDuplicateName, place,
                    "the file '" + path + "' is that of another catalog here")
        .hint("open it once");
  }
  OpenCatalog file{.name = name, .path = path, .before = {}};
  Result<std::optional<std::string>> before = files_->read(path);
  if (!before.ok()) return located(std::move(before).status(), place);
  file.before = *std::move(before);
  ast::OpenCatalog opened{.name = name, .path = path, .kept = {}};
  if (file.before) {
    Result<std::vector<ast::Statement>> kept = read_catalog(file);
    if (!kept.ok()) return std::move(kept).status();
    for (ast::Statement& each : *kept)
      opened.kept.push_back(std::make_shared<const ast::Statement>(std::move(each)));
  }
  files_->open.push_back(std::move(file));
  return ast::Statement{place, std::move(opened)};
}

/// Names in the file are whole ones, so it is read as a script that has named no catalog.
Result<std::vector<ast::Statement>> Parser::read_catalog(OpenCatalog& file) {
  STRAND_TRY(std::string statements, statements_of(*file.before, file.path, file.name));
  file.text = std::make_unique<SourceText>(std::move(statements), file.path);
  STRAND_OK(check_text(*file.text));
  STRAND_TRY(std::vector<Token> tokens, tokenize(*file.text));
  Parser inside(*file.text, std::move(tokens), nullptr);
  inside.catalogs_ = catalogs_;
  inside.catalogs_[file.name].clear();
  inside.functions_ = functions_;
  STRAND_TRY(std::vector<ast::Statement> kept, inside.script());
  catalogs_ = std::move(inside.catalogs_);
  functions_ = std::move(inside.functions_);
  return kept;
}

void Parser::keep_names() {
  if (files_ == nullptr) return;
  for (OpenCatalog& file : files_->open) {
    for (const std::string& database : catalogs_[file.name])
      file.statements.push_back("CREATE DATABASE " + identifier_to_sql(file.name) + "." +
                                identifier_to_sql(database));
    const std::string prefix = part_of_name(file.name) + ".";
    for (const auto& [key, function] : functions_) {
      if (!is_inside(key, prefix, 2) || function->temporary) continue;
      ast::CreateFunction create{
          .words = "CREATE FUNCTION ", .name = key, .entry_place = {}, .function = *function};
      file.statements.push_back(to_sql(ast::Statement{{}, std::move(create)}));
    }
  }
}

}  // namespace strand::sql
