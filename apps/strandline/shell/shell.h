// `strandline sql`: statements one after the other.
#pragma once

#include "../command.h"
#include "line_reader.h"
#include "output.h"
#include "session.h"

namespace strand::app::shell {

/// Owns what has been declared. One thread.
class Shell {
 public:
  Shell(Context& context, OutputOptions output, sql::SqlInput outside);

  /// The statements of a text in their order, until one fails.
  engine::Exit run(const std::string& text);
  /// Statements that are typed, until the input ends: an error ends none but its own.
  engine::Exit talk();

 private:
  engine::Exit run(const Statement& statement);
  engine::Exit write(sql::CompiledJob job, const Statement& statement);
  /// A line that begins with a dot. False: it ends the shell.
  bool obey(const std::string& line);
  const Vocabulary& words();

  Context& context_;
  OutputOptions output_;
  Session session_;
  Vocabulary words_;
  bool words_known_ = false;
};

}  // namespace strand::app::shell
