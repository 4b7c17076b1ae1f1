#include "sql/compile.h"

#include <algorithm>
#include <set>
#include <span>

#include "expr/library.h"
#include "plan/explain.h"
#include "sql/binder.h"
#include "sql/catalog.h"
#include "sql/coerce.h"
#include "sql/lasting.h"
#include "sql/optimize.h"
#include "sql/parser.h"
#include "sql/session.h"
#include "sql/show.h"
#include "sql/unparse.h"
#include "sql/writers.h"

namespace strand::sql {

namespace {

/// Reads the statements of one script in order.
class Script {
 public:
  explicit Script(const SqlInput& input)
      : input_(input), binder_(session_, catalog_, input.checks), writers_(binder_, catalog_) {}

  Status check_overrides() const {
    for (const TableOverride& override : input_.tables) STRAND_OK(check_override(override));
    return Status();
  }
  void forget_sinks() { sinks_.clear(); }
  Status fix_settings() { return session_.fix(input_.settings); }

  /// The plans of the EXPLAIN statements to come, in their order.
  void set_explained(std::vector<std::string> plans) { explained_ = std::move(plans); }
  Status run(const ast::Statement& statement) {
    return std::visit([&](const auto& body) { return act(body, statement.place); }, statement.body);
  }

  Result<CompiledJob> finish(const CatalogFiles& files = {}) {
    STRAND_TRY(std::vector<KeptCatalog> catalogs, kept_catalogs(files));
    if (sinks_.empty() && shown_.empty() && std::ranges::none_of(catalogs, &KeptCatalog::changed)) {
      return Status(ErrorCode::kNothingToRun, "the file has no INSERT and no SELECT")
          .at(input_.file)
          .hint("add INSERT INTO table SELECT …");
    }
    CompiledJob job;
    job.plan.job = session_.get("pipeline.name");
    if (job.plan.job.empty()) job.plan.job = stem(input_.file);
    job.plan.sinks = optimize(sinks_, optimize_options());
    job.plan.settings = session_.all();
    job.shown = std::move(shown_);
    job.warnings = std::move(session_.warnings);
    job.notes = std::move(session_.notes);
    job.catalogs = std::move(catalogs);
    return job;
  }

 private:
  Status act(const ast::SetStatement& set, const Place& place) {
    if (set.key.empty()) {
      shown_.push_back(show_settings(session_));
      return Status();
    }
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
    if (table.replace == ast::CreateTable::Replace::kOld && !catalog_.table(table.name))
      return catalog_.unknown(table.name, table.name_place);
    std::vector<Column> columns;
    {
      const Nodes::Owner owner(binder_.nodes(), table.name + ".columns");  // only its columns are wanted
      STRAND_TRY(const Relation rows, binder_.bind_query(*table.query));
      columns = rows.columns;
    }
    STRAND_TRY(const ast::CreateTable declared, declared_by_query(table, columns));
    if (table.replace != ast::CreateTable::Replace::kNo && catalog_.table(table.name)) {
      STRAND_OK(catalog_.drop(
          {.view = false, .name = table.name, .name_place = table.name_place, .temporary = table.temporary}));
    }
    STRAND_OK(catalog_.add_table(declared, input_.tables));
    ast::Insert insert;
    insert.table = table.name;
    insert.table_place = table.name_place;
    insert.query = table.query;
    for (const Column& column : columns) insert.columns.emplace_back(column.name, table.name_place);
    return act(insert, place);
  }
  Status act(const ast::OpenCatalog& opened, const Place&) {
    for (const auto& kept : opened.kept) {
      if (const auto* table = std::get_if<ast::CreateTable>(&kept->body))
        STRAND_OK(catalog_.add_table(*table, input_.tables));
      if (const auto* view = std::get_if<ast::CreateView>(&kept->body)) STRAND_OK(catalog_.add_view(*view));
    }
    return Status();
  }
  Status act(const ast::Database&, const Place&) { return Status(); }
  Status act(const ast::DropDatabase& drop, const Place&) { return catalog_.drop_database(drop); }
  Status act(const ast::AlterView& view, const Place&) {
    STRAND_OK(catalog_.alter_view(view));
    return binder_.check_view(view.query ? view.name : view.new_name);
  }
  Status act(const ast::Show& asked, const Place&) {
    STRAND_TRY(Shown answer, asked.kind == ast::Show::Kind::kColumns
                                 ? describe(asked.name, asked.name_place, asked.like, catalog_, binder_)
                                 : show(asked, catalog_));
    shown_.push_back(std::move(answer));
    return Status();
  }
  Status act(const ast::Describe& asked, const Place&) {
    STRAND_TRY(Shown answer, describe(asked.name, asked.name_place, {}, catalog_, binder_));
    shown_.push_back(std::move(answer));
    return Status();
  }
  Status act(const ast::Explain&, const Place&) {
    shown_.push_back({{"result"}, {{explained_.front()}}});
    explained_.erase(explained_.begin());
    return Status();
  }
  Status act(const ast::AlterTable& change, const Place&) { return catalog_.alter(change, input_.tables); }
  Status act(const ast::CreateView& view, const Place&) {
    STRAND_OK(catalog_.add_view(view));
    return binder_.check_view(view.name);  // its mistakes show here, not where it is first read
  }
  static Status act(const ast::CreateFunction& create, const Place&) {
    const ast::OwnFunction& function = create.function;
    return located(expr::check_library_function({function.name, function.path, function.entry}),
                   create.entry_place);
  }
  static Status act(const ast::DropFunction&, const Place&) { return Status(); }
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

  /// The columns that CREATE TABLE … AS declares, and those of its query: first the declared ones that the
  /// query lacks; the query's have the declared type where there is one. Source: Flink SchemaBuilderUtil.
  static Result<ast::CreateTable> declared_by_query(const ast::CreateTable& table,
                                                    const std::vector<Column>& columns) {
    ast::CreateTable declared = table;
    declared.query = nullptr;
    declared.order.clear();
    declared.replace = ast::CreateTable::Replace::kNo;
    const auto of_query = [&](const std::string& name) {
      return std::ranges::find_if(columns, [&](const Column& column) { return column.name == name; });
    };
    const auto add = [&](const Column& column, const Place& place) {
      ast::ColumnDefinition definition;
      const auto own = std::ranges::find_if(
          table.columns, [&](const ast::ColumnDefinition& each) { return each.name == column.name; });
      if (own != table.columns.end()) definition = *own;
      if (own == table.columns.end()) definition.place = place;
      definition.name = column.name;
      if (!definition.type) definition.type = column.type;
      declared.columns.push_back(std::move(definition));
    };
    std::erase_if(declared.columns, [&](const ast::ColumnDefinition& each) {
      return each.kind == ast::ColumnDefinition::Kind::kPhysical && of_query(each.name) != columns.end();
    });
    if (table.order.empty()) {
      for (const Column& column : columns) add(column, table.name_place);
      return declared;
    }
    for (const auto& [name, place] : table.order) {
      const auto column = of_query(name);
      if (column == columns.end()) {
        return error_at(ErrorCode::kUnknownColumn, place, "the query has no column '" + name + "'")
            .hint("name the columns of the query");
      }
      add(*column, place);
    }
    if (table.order.size() == columns.size()) return declared;
    return error_at(ErrorCode::kTypeMismatch, table.order[0].second,
                    std::to_string(table.order.size()) + " columns are named, the query has " +
                        std::to_string(columns.size()))
        .hint("name each column of the query once");
  }

  /// Whether what CREATE CATALOG has read are these statements of tables and views.
  static Status reads_as(const std::vector<std::string>& texts,
                         const Result<std::vector<ast::Statement>>& read) {
    if (!read.ok()) return read.status();
    size_t next = 0;
    for (const auto& kept : std::get<ast::OpenCatalog>(read->front().body).kept) {
      if (!std::holds_alternative<ast::CreateTable>(kept->body) &&
          !std::holds_alternative<ast::CreateView>(kept->body))
        continue;
      const std::string text = to_sql(*kept);
      if (next == texts.size() || text != texts[next]) {
        return Status(ErrorCode::kUnsupportedSql, "it would be read as " + text);
      }
      ++next;
    }
    return Status();
  }

  /// What the catalogs of files hold now. Each that has changed is read again at once: nothing is kept that
  /// the next run could not read, or would read as something else.
  Result<std::vector<KeptCatalog>> kept_catalogs(const CatalogFiles& files) const {
    std::vector<KeptCatalog> kept;
    for (const OpenCatalog& file : files.open) {
      std::string statements;
      for (const std::string& text : file.statements) statements += text + ";\n";
      const std::vector<std::string> tables = catalog_.kept_in(file.name);
      for (const std::string& text : tables) statements += text + ";\n";
      kept.push_back({file.name, file.path, file.before, catalog_file(file.name, statements)});
      if (!kept.back().changed()) continue;
      CatalogFiles again{.read = [&](const std::string&) { return Result(std::optional(kept.back().text)); }};
      const SourceText source(
          "CREATE CATALOG " + identifier_to_sql(file.name) + " WITH ('type' = 'file', 'path' = 'p')",
          file.path);
      const Status same = reads_as(tables, parse_script(source, again));
      if (same.ok()) continue;
      return Status(ErrorCode::kUnsupportedSql,
                    "catalog '" + file.name + "' cannot keep this: " + same.message())
          .at(input_.file)
          .hint("what it keeps may name databases and functions of its own only; or make it TEMPORARY");
    }
    return kept;
  }

  Status check_override(const TableOverride& override) const {
    if (input_.unfinished || catalog_.ever_declared(override.table)) return Status();
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
  std::vector<Shown> shown_;
  std::vector<std::string> explained_;
};

/// `--with shop.t.path` may mean a table of a database: the longest name of a table that the script declares
/// decides which part of it is the table.
std::vector<TableOverride> with_whole_names(const std::vector<TableOverride>& overrides,
                                            const std::vector<ast::Statement>& statements) {
  std::set<std::string> declared;
  const auto note = [&](const ast::Statement& statement) {
    if (const auto* table = std::get_if<ast::CreateTable>(&statement.body)) declared.insert(table->name);
  };
  for (const ast::Statement& statement : statements) {
    note(statement);
    const auto* catalog = std::get_if<ast::OpenCatalog>(&statement.body);
    for (const auto& kept :
         catalog == nullptr ? std::vector<std::shared_ptr<const ast::Statement>>() : catalog->kept)
      note(*kept);
  }
  std::vector<TableOverride> whole;
  for (const TableOverride& override : overrides) {
    TableOverride rest = override;
    bool moved = false;
    for (const auto& [key, value] : override.options) {
      const std::string path = override.table + "." + key;
      std::string table = override.table;
      for (const std::string& name : declared) {
        if (name.size() > table.size() && path.starts_with(name + ".")) table = name;
      }
      if (table == override.table) continue;
      rest.options.erase(key);
      moved = true;
      whole.push_back({.table = table,
                       .options = {{path.substr(table.size() + 1), value}},
                       .replaces_all = false,
                       .watermark = {},
                       .origin = override.origin});
    }
    if (!moved || !rest.options.empty()) whole.push_back(std::move(rest));
  }
  return whole;
}

/// The plan of one statement, as if it were the only one behind what the file has declared up to there.
Result<std::string> explain_one(const SqlInput& input, std::span<const ast::Statement> before,
                                const ast::Explain& explain) {
  Script script(input);
  STRAND_OK(script.fix_settings());
  for (const ast::Statement& statement : before) {
    const auto* table = std::get_if<ast::CreateTable>(&statement.body);
    const bool declares = std::holds_alternative<ast::SetStatement>(statement.body) ||
                          std::holds_alternative<ast::ResetStatement>(statement.body) ||
                          std::holds_alternative<ast::CreateView>(statement.body) ||
                          std::holds_alternative<ast::AlterTable>(statement.body) ||
                          std::holds_alternative<ast::AlterView>(statement.body) ||
                          std::holds_alternative<ast::OpenCatalog>(statement.body) ||
                          std::holds_alternative<ast::Drop>(statement.body) ||
                          std::holds_alternative<ast::DropDatabase>(statement.body);
    if (declares || (table != nullptr && !table->query)) STRAND_OK(script.run(statement));
    if (table == nullptr || !table->query) continue;
    STRAND_OK(script.run(statement));
    script.forget_sinks();
  }
  STRAND_OK(script.run(*explain.statement));
  STRAND_TRY(const CompiledJob job, script.finish());
  return explain.json ? plan::explain_json(job.plan) : plan::explain(job.plan);
}

/// Of every EXPLAIN of a script.
Result<std::vector<std::string>> explain_all(const SqlInput& input,
                                             const std::vector<ast::Statement>& statements) {
  std::vector<std::string> plans;
  for (size_t i = 0; i < statements.size(); ++i) {
    const auto* explain = std::get_if<ast::Explain>(&statements[i].body);
    if (explain == nullptr) continue;
    STRAND_TRY(std::string text, explain_one(input, std::span(statements).subspan(0, i), *explain));
    plans.push_back(std::move(text));
  }
  return plans;
}

}  // namespace

Result<CompiledJob> compile(const SqlInput& given) {
  SqlInput input = given;
  const SourceText source(input.text, input.file);
  STRAND_OK(check_text(source));
  CatalogFiles files{.read = input.read_catalog};
  STRAND_TRY(const std::vector<ast::Statement> statements, parse_script(source, files));
  STRAND_OK(check_lasting(statements));
  input.tables = with_whole_names(given.tables, statements);
  Script script(input);
  STRAND_OK(script.fix_settings());
  STRAND_TRY(std::vector<std::string> plans, explain_all(input, statements));
  script.set_explained(std::move(plans));
  for (const ast::Statement& statement : statements) STRAND_OK(script.run(statement));
  STRAND_OK(script.check_overrides());
  return script.finish(files);
}

}  // namespace strand::sql
