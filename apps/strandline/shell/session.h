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
  /// `name` is that of the text in messages; `settings` are those of the command line.
  Session(const connect::Registry& registry, env::Env env, std::string name,
          std::map<std::string, plan::Setting> settings);

  /// The statements of a text, which stands behind those before it. Errors: kSyntax.
  Result<std::vector<Statement>> split(const std::string& text) const;
  /// What the statement asks for. What it declares holds from then on; an error changes nothing. Places in
  /// errors are those of its text.
  Result<sql::CompiledJob> next(const Statement& statement);

  /// Tables, views and their columns, each name once.
  std::vector<std::string> names() const;
  /// In capitals.
  std::vector<std::string> functions() const;

 private:
  Result<sql::CompiledJob> compile(const std::string& text) const;
  Status moved_up(Status error) const;
  std::vector<std::string> column_of(const std::string& question) const;

  const connect::Registry& registry_;
  env::Env env_;
  std::string name_;
  std::map<std::string, plan::Setting> settings_;
  std::string declared_;      // ends with a line end, if there is anything
  size_t warnings_told_ = 0;  // of the declarations
  size_t notes_told_ = 0;
};

/// Whether what was typed is whole: it ends with `;`, and no statement set is open.
bool is_whole(const std::string& text);

}  // namespace strand::app::shell
