#include "shell.h"

#include <csignal>
#include <cstdio>

#include "base/hash.h"
#include "interrupt.h"
#include "keywords.h"
#include "query.h"

namespace strand::app::shell {

namespace {

constexpr const char* kPrompt = "sql> ";
constexpr const char* kMore = "  -> ";
constexpr const char* kHelp =
    "  statement;            runs it; it may have many lines and ends with ;\n"
    "  SHOW TABLES;          what has been declared: also VIEWS, FUNCTIONS, COLUMNS FROM t, CREATE TABLE t\n"
    "  DESCRIBE t;           its columns; EXPLAIN SELECT …; the plan\n"
    "  SET 'key' = 'value';  a setting for what follows; SET; shows all\n"
    "  .format table|csv|json  how rows are written\n"
    "  .help, .exit          this; the end (also Ctrl-D)\n"
    "  Tab completes, the up arrow and Ctrl-R go back in history, Ctrl-C ends the query that runs, or the "
    "line\n";

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\n") == std::string::npos; }

/// So that another INSERT, or the same between other tables, is another job.
std::string job_name(const std::string& statement, const plan::Plan& plan) {
  std::string text = statement;
  const auto add = [&](const plan::TableSpec& table) {
    text += "\n" + table.name;
    for (const auto& [key, value] : table.options) text += "\n" + key + "=" + value;
  };
  for (const plan::NodePtr& node : plan.nodes()) {
    if (const auto* scan = std::get_if<plan::Scan>(&node->detail)) add(scan->table);
    if (const auto* sink = std::get_if<plan::SinkWrite>(&node->detail)) add(sink->table);
  }
  char name[24];
  std::snprintf(name, sizeof name, "sql-%08x", static_cast<unsigned>(hash64(text, 0)));
  return name;
}

}  // namespace

Shell::Shell(Context& context, OutputOptions output, sql::SqlInput outside)
    : context_(context),
      output_(output),
      session_(context.registry, context.real.env(), std::move(outside)) {}

engine::Exit Shell::run(const std::string& text) {
  const auto statements = session_.split(text);
  if (!statements.ok()) return engine::report(statements.status());
  for (const Statement& statement : *statements) {
    if (const engine::Exit exit = run(statement); exit != engine::kDone) return exit;
  }
  return engine::kDone;
}

engine::Exit Shell::run(const Statement& statement) {
  auto job = session_.next(statement);
  if (!job.ok()) return engine::report(job.status());
  if (statement.kind == Statement::Kind::kDeclares || statement.kind == Statement::Kind::kStores)
    words_known_ = false;
  if (statement.kind == Statement::Kind::kWrites || statement.kind == Statement::Kind::kStores)
    return write(*std::move(job), statement);
  for (const Status& warning : job->warnings)
    std::fprintf(stderr, "warning %s\n", warning.to_string().c_str());
  for (const std::string& note : job->notes) std::fprintf(stderr, "note %s\n", note.c_str());
  for (const sql::Shown& answer : job->shown) {
    if (const Status told = put_answer(output_, answer); !told.ok()) return engine::report(told);
  }
  if (statement.kind != Statement::Kind::kShows) return engine::kDone;
  const Status ended = run_query(context_, job->plan, output_);
  end_if_terminated();
  return ended.ok() ? engine::kDone : engine::report(ended);
}

engine::Exit Shell::write(sql::CompiledJob job, const Statement& statement) {
  if (job.plan.setting("pipeline.name", "").empty()) {
    const size_t begin = statement.text.find_first_not_of(" \n");
    job.plan.job = job_name(statement.text.substr(begin), job.plan);
  }
  return run_insert(context_, std::move(job));
}

bool Shell::obey(const std::string& line) {
  const std::string word = line.substr(0, line.find_last_not_of(" \t\n") + 1);
  if (word == ".exit" || word == ".quit") return false;
  if (word == ".format table" || word == ".format csv" || word == ".format json") {
    output_.format = word.ends_with("table") ? Format::kTable
                     : word.ends_with("csv") ? Format::kCsv
                                             : Format::kJson;
  } else if (word == ".help") {
    std::fputs(kHelp, stdout);
  } else {
    engine::report(Status(ErrorCode::kBadUsage, "expected a command of the shell, found '" + word + "'")
                       .hint("known: .help, .format table|csv|json, .exit"));
  }
  return true;
}

const Vocabulary& Shell::words() {
  if (!std::exchange(words_known_, true)) {
    words_ = {session_.names(), session_.functions()};
    words_.capitals.insert(words_.capitals.end(), keywords().begin(), keywords().end());
  }
  return words_;
}

engine::Exit Shell::talk() {
  const std::string root = state_root(context_);
  const Status made = context_.real.files.make_dirs(root);
  LineReader reader(made.ok() ? root + "/sql_history" : "",
                    [this]() -> const Vocabulary& { return words(); });
  const Interrupts interrupts{SIGINT};  // between statements Ctrl-C has nothing to end
  std::fputs("Strandline SQL; .help tells what there is\n", stdout);
  std::string text;
  while (true) {
    const Line line = reader.read(text.empty() ? kPrompt : kMore);
    if (line.end == Line::End::kEndOfInput) break;
    if (line.end == Line::End::kCancelled) text.clear();
    if (line.end == Line::End::kCancelled || (text.empty() && is_blank(line.text))) continue;
    if (text.empty() && line.text[line.text.find_first_not_of(" \t")] == '.') {
      if (!obey(line.text)) break;
      continue;
    }
    text += line.text;
    if (!is_whole(text)) continue;
    run(text);
    text.clear();
  }
  std::fputs("\n", stdout);
  return engine::kDone;
}

}  // namespace strand::app::shell
