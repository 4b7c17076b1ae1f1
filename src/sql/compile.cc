#include "sql/compile.h"

#include <algorithm>

#include "sql/binder.h"
#include "sql/catalog.h"
#include "sql/coerce.h"
#include "sql/optimize.h"
#include "sql/parser.h"
#include "sql/session.h"
#include "sql/writers.h"

namespace strand::sql {

namespace {

/// Reads the statements of one script in order.
class Script {
 public:
  explicit Script(const SqlInput& input)
      : input_(input), binder_(session_, catalog_, input.checks), writers_(binder_, catalog_) {}

  Status fix_settings() { return session_.fix(input_.settings); }

  Status run(const ast::Statement& statement) {
    return std::visit([&](const auto& body) { return act(body, statement.place); }, statement.body);
  }

  Result<CompiledJob> finish() {
    for (const TableOverride& override : input_.tables) STRAND_OK(check_override(override));
    if (sinks_.empty()) {
      return Status(ErrorCode::kNothingToRun, "the file has no INSERT and no SELECT")
          .at(input_.file)
          .hint("add INSERT INTO table SELECT …");
    }
    CompiledJob job;
    job.plan.job = session_.get("pipeline.name");
    if (job.plan.job.empty()) job.plan.job = stem(input_.file);
    job.plan.sinks = optimize(sinks_, optimize_options());
    job.plan.settings = session_.all();
    job.warnings = std::move(session_.warnings);
    job.notes = std::move(session_.notes);
    return job;
  }

 private:
  Status act(const ast::SetStatement& set, const Place& place) {
    return session_.set(set.key, set.value, place);
  }
  Status act(const ast::ResetStatement& reset, const Place& place) {
    reset.key ? session_.reset(*reset.key, place) : session_.reset_all(place);
    return Status();
  }
  Status act(const ast::CreateTable& table, const Place& place) {
    return table.query ? create_from_query(table, place) : catalog_.add_table(table, input_.tables);
  }
  /// CREATE TABLE … AS query.
  Status create_from_query(const ast::CreateTable& table, const Place& place) {
    if (table.if_not_exists && catalog_.has(table.name)) return Status();
    ast::CreateTable declared = table;
    declared.query = nullptr;
    {
      const Nodes::Owner owner(binder_.nodes(), table.name + ".columns");  // only its columns are wanted
      STRAND_TRY(const Relation rows, binder_.bind_query(*table.query));
      for (const Column& column : rows.columns) {
        ast::ColumnDefinition definition;
        definition.name = column.name;
        definition.place = table.name_place;
        definition.type = column.type;
        declared.columns.push_back(std::move(definition));
      }
    }
    STRAND_OK(catalog_.add_table(declared, input_.tables));
    ast::Insert insert;
    insert.table = table.name;
    insert.table_place = table.name_place;
    insert.query = table.query;
    return act(insert, place);
  }
  Status act(const ast::Database&, const Place&) { return Status(); }
  Status act(const ast::AlterTable& change, const Place&) { return catalog_.alter(change, input_.tables); }
  Status act(const ast::CreateView& view, const Place&) {
    STRAND_OK(catalog_.add_view(view));
    return binder_.check_view(view.name);  // its mistakes show here, not where it is first read
  }
  Status act(const ast::Drop& drop, const Place&) { return catalog_.drop(drop); }
  Status act(const ast::Insert& insert, const Place& place) {
    STRAND_TRY(plan::NodePtr sink, writers_.insert(insert, place));
    sinks_.push_back(std::move(sink));
    return Status();
  }
  Status act(const ast::StatementSet& set, const Place&) {
    for (const auto& [place, insert] : set.inserts) STRAND_OK(act(insert, place));
    return Status();
  }
  Status act(const ast::Print& print, const Place& place) {
    STRAND_TRY(plan::NodePtr sink, writers_.print(*print.query, place));
    sinks_.push_back(std::move(sink));
    return Status();
  }

  Status check_override(const TableOverride& override) const {
    if (catalog_.ever_declared(override.table)) return Status();
    std::vector<std::string> tables;
    for (const std::string& name : catalog_.names()) {
      if (catalog_.table(name)) tables.push_back(name);
    }
    const std::string near = suggestion(override.table, tables);
    return Status(ErrorCode::kBadProfile, "the job has no table '" + override.table + "'")
        .at(override.origin)
        .hint(near.empty() ? "remove it" : "did you mean '" + near + "'?");
  }

  OptimizeOptions optimize_options() const {
    if (session_.get("table.optimizer.agg-phase-strategy") == "ONE_PHASE") return {};
    const bool wait = session_.get("table.exec.mini-batch.enabled") == "true";
    return {.pre_aggregate = wait ? session_.duration("table.exec.mini-batch.allow-latency") : Duration{0}};
  }

  static std::string stem(const std::string& file) {
    const size_t slash = file.rfind('/');
    std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
    if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
    return name.empty() ? "job" : name;
  }

  const SqlInput& input_;
  Session session_;
  Catalog catalog_;
  Binder binder_;
  Writers writers_;
  std::vector<plan::NodePtr> sinks_;
};

}  // namespace

Result<CompiledJob> compile(const SqlInput& input) {
  const SourceText source(input.text, input.file);
  STRAND_OK(check_text(source));
  STRAND_TRY(const std::vector<ast::Statement> statements, parse_script(source));
  Script script(input);
  STRAND_OK(script.fix_settings());
  for (const ast::Statement& statement : statements) STRAND_OK(script.run(statement));
  return script.finish();
}

}  // namespace strand::sql
