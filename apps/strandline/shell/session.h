// What a shell has declared so far, and what its next statement asks for.
#pragma once

#include <string>
#include <vector>

#include "engine/load.h"

namespace strand::app::shell {

/// One statement of a text.
struct Statement {
  enum class Kind : uint8_t {
    kDeclares,  // holds for the statements behind it: CREATE, ALTER, DROP, SET, USE
    kAnswers,   // SHOW, DESCRIBE, EXPLAIN
    kShows,     // a bare SELECT
    kWrites,    // INSERT, a statement set
    kStores,    // CREATE TABLE … AS: declares and writes
  };
  Kind kind = Kind::kDeclares;
  std::string text;   // with blanks in place of what stands before it in its text
  std::string table;  // of kStores
};

/// Declarations of a shell, as one growing text: each statement is compiled behind those that hold.
class Session {
 public:
  /// `outside`: the name of the text in messages, and what the command line says of settings and tables.
  Session(const connect::Registry& registry, env::Env env, sql::SqlInput outside);

  /// The statements of a text, which stands behind those before it. Errors: kSyntax.
  Result<std::vector<Statement>> split(const std::string& text) const;
  /// What the statement asks for. What it declares holds from then on, and stands in the file of its catalog
  /// if that has one; an error changes nothing. Places in errors are those of its text.
  Result<sql::CompiledJob> next(const Statement& statement);

  /// Tables, views and their columns, each name once.
  std::vector<std::string> names() const;
  /// In capitals.
  std::vector<std::string> functions() const;

 private:
  Result<sql::CompiledJob> compile(const std::string& text) const;
  Result<std::optional<std::string>> catalog_before(const std::string& path) const;
  Status keep(const std::vector<sql::KeptCatalog>& catalogs);
  Status after_conflict(Status refused, const std::string& path);
  void count_warnings_of_settings();
  Status moved_up(const Status& error) const;
  std::string with_given_places(const std::string& text) const;
  void declare(const std::string& text, const std::string& given);
  std::vector<std::string> column_of(const std::string& question) const;

  const connect::Registry& registry_;
  env::Env env_;
  sql::SqlInput outside_;
  std::string declared_;  // ends with a line end, if there is anything
  /// Where a part of `declared_` stood in the text that the user has given.
  struct Given {
    int64_t line;        // of `declared_`, from 1
    int64_t given_line;  // from 1
    int64_t column;      // what stood before it in that line
  };
  std::vector<Given> given_;
  /// Files of catalogs as they were when they were opened: what was declared since stands in `declared_`.
  std::map<std::string, std::optional<std::string>> catalogs_before_;
  std::map<std::string, std::string> catalogs_now_;  // as this shell has written them
  std::optional<size_t> warnings_of_settings_;
  size_t warnings_told_ = 0;  // of the command line and the declarations
  size_t notes_told_ = 0;
};

/// Whether what was typed is whole: it ends with `;`, and no statement set is open.
bool is_whole(const std::string& text);

}  // namespace strand::app::shell
