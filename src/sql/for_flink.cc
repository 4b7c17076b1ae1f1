#include "sql/for_flink.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/overload.h"
#include "sql/full_name.h"
#include "sql/parser.h"
#include "sql/walk.h"

namespace strand::sql {

namespace {

using Kind = FlinkFinding::Kind;

constexpr std::string_view kOurs = "strand.";

/// `clicks$bad`: the table, and which of its system views; nothing for other names.
std::optional<std::pair<std::string, std::string>> system_view(const std::string& name) {
  const size_t dollar = name.find('$');
  if (dollar == std::string::npos) return std::nullopt;
  return std::pair(last_part(name.substr(0, dollar)), name.substr(dollar + 1));
}

std::string portable_view(const std::string& owner, const std::string& view) {
  if (view == "early")
    return "GROUP BY TUMBLE(…) with 'table.exec.emit.early-fire.enabled', or CUMULATE for totals every step";
  if (view == "duplicate")
    return "ROW_NUMBER() OVER (…) > 1 over the same rows, without a deduplication in between";
  if (view == "bad")
    return "'format' = 'raw' for a second table of the same records, and what of them JSON_VALUE cannot read";
  return "a column of the rows that '" + owner +
         "' reads, for minutes: CURRENT_WATERMARK(ts) >= FLOOR(ts TO MINUTE) + INTERVAL '59.999' SECOND AS "
         "late";
}

/// Goes through the statements in their order.
class FlinkCheck {
 public:
  explicit FlinkCheck(const SqlInput& input) : input_(input) {}

  void act(const ast::Statement& statement) {
    std::visit(Overload{[&](const ast::CreateTable& table) { create(table); },
                        [&](const ast::AlterTable& alter) { options(alter.elements.options); },
                        [&](const ast::SetStatement& set) { setting(set.key, sql::where(statement.place)); },
                        [&](const ast::CreateFunction& create) { function(create, statement.place); },
                        [&](const ast::OpenCatalog&) { catalog(statement.place); },
                        [&](const ast::Insert& insert) { write(insert); },
                        [&](const ast::StatementSet& set) { statement_set(set, statement.place); },
                        [&](const ast::Explain& explain) { act(*explain.statement); },
                        [&](const ast::CreateView& view) { query(view.query); },
                        [&](const ast::AlterView& view) { query(view.query); },
                        [&](const ast::Print& print) { query(print.query); }, [](const auto&) {}},
               statement.body);
  }

  std::vector<FlinkFinding> finish() {
    for (const auto& [key, given] : input_.settings) setting(key, given.origin);
    for (const TableOverride& table : input_.tables) {
      for (const auto& [key, value] : table.options) {
        if (value) option(key, *value, table.origin + " " + table.table + "." + key);
      }
    }
    return std::move(found_);
  }

 private:
  void add(int number, Kind kind, std::string where, std::string message, std::string explanation,
           std::string portable) {
    found_.push_back(
        {number, kind, std::move(where), std::move(message), std::move(explanation), std::move(portable)});
  }

  void create(const ast::CreateTable& table) {
    const bool replaced = std::ranges::any_of(input_.tables, [&](const TableOverride& override) {
      return override.replaces_all && override.table == table.name;
    });
    if (!replaced) options(table.options);
    tables_[table.name] = table;
    query(table.query);
    for (const ast::ColumnDefinition& column : table.columns) expression(column.computed);
    expression(table.watermark);
  }

  void options(const std::vector<ast::Option>& given) {
    for (const ast::Option& each : given) option(each.key, each.value, sql::where(each.place));
  }

  void option(const std::string& key, const std::string& value, const std::string& where) {
    if (key == "connector" && (value == "sqlite" || value == "valkey" || value == "redis")) {
      add(2201, Kind::kRefused, where, "Flink has no connector '" + value + "'",
          "the table cannot be created there: it finds no factory of that name",
          "'connector' = 'jdbc' with 'url' and 'table-name' for a table with a key, 'filesystem' for one "
          "without; a "
          "profile can say so (--profile)");
    } else if (key == "sink.mode" || key.starts_with(kOurs)) {
      add(2202, Kind::kRefused, where, "Flink's connectors have no option '" + key + "'",
          "a table with an option that its connector does not know is refused",
          "leave it to a profile of this side");
    }
  }

  void setting(const std::string& key, const std::string& where) {
    if (!key.starts_with(kOurs)) return;
    add(2203, Kind::kDiffers, where, "Flink has no setting '" + key + "'",
        "it is taken, and nothing comes of it", "give it outside the file: --set, or a profile of this side");
  }

  void function(const ast::CreateFunction& create, const Place& place) {
    add(2207, Kind::kRefused, sql::where(place),
        "function '" + last_part(create.name) + "' is in a library of C++",
        "Flink's parser does not know USING LIBRARY",
        "the same function in Java: AS 'class' LANGUAGE JAVA USING JAR 'path.jar'");
  }

  void catalog(const Place& place) {
    add(2208, Kind::kRefused, sql::where(place), "Flink has no catalog of type 'file'",
        "the catalog cannot be created there",
        "CREATE TABLE in the job's own file; SHOW CREATE TABLE prints it");
  }

  void statement_set(const ast::StatementSet& set, const Place& place) {
    std::string word(place.source->text().substr(place.offset, 5));
    std::ranges::transform(word, word.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    if (word == "BEGIN") {
      add(2209, Kind::kRefused, sql::where(place), "BEGIN STATEMENT SET is a command of Flink's shell",
          "sent as a statement, or in a file that a cluster runs, it does not parse",
          "EXECUTE STATEMENT SET BEGIN … END");
    }
    for (const auto& [at, insert] : set.inserts) write(insert);
  }

  /// A table with a key whose store leaves alone what a writer does not name.
  bool keeps_other_columns(const ast::CreateTable& table) const {
    std::string connector;
    for (const ast::Option& each : table.options) {
      if (each.key == "connector") connector = each.value;
    }
    for (const TableOverride& override : input_.tables) {
      const auto given = override.options.find("connector");
      if (override.table == table.name && given != override.options.end())
        connector = given->second.value_or("");
    }
    return !table.primary_key.empty() &&
           (connector == "sqlite" || connector == "jdbc" || connector == "valkey" || connector == "redis");
  }

  void write(const ast::Insert& insert) {
    for (const ast::Hint& hint : insert.hints) {
      for (const ast::HintOption& each : hint.options) option(each.key, each.value, sql::where(each.place));
    }
    const auto table = tables_.find(insert.table);
    if (table != tables_.end() && !insert.columns.empty() && keeps_other_columns(table->second)) {
      const auto is_set = [&](const ast::ColumnDefinition& column) {
        return column.kind != ast::ColumnDefinition::Kind::kPhysical ||
               std::ranges::any_of(insert.columns, [&](const auto& set) { return set.first == column.name; });
      };
      const auto& columns = table->second.columns;
      const auto left = std::ranges::find_if_not(columns, is_set);
      if (left != columns.end()) {
        add(2205, Kind::kDiffers, sql::where(insert.table_place),
            "the INSERT leaves '" + left->name + "' of '" + last_part(insert.table) + "' to another writer",
            "Flink writes NULL into each column that an INSERT does not name, unless its connector takes "
            "target columns",
            "a table for each writer, joined by whoever reads them; or one INSERT that has all columns");
      }
    }
    query(insert.query);
  }

  void query(const ast::QueryPtr& body) {
    if (body)
      walk(*body, {[&](const ast::Expr& e) { call(e); }, [&](const ast::TableRef& from) { table(from); },
                   [&](const std::vector<ast::Hint>& hints) { select_hints_of(hints); }});
  }
  void expression(const ast::ExprPtr& e) {
    if (e)
      walk(*e, {[&](const ast::Expr& each) { call(each); }, [&](const ast::TableRef& from) { table(from); },
                [&](const std::vector<ast::Hint>& hints) { select_hints_of(hints); }});
  }

  void table(const ast::TableRef& from) {
    for (const ast::Hint& hint : from.hints) {
      for (const ast::HintOption& each : hint.options) option(each.key, each.value, sql::where(each.place));
    }
    if (std::holds_alternative<ast::WindowCall>(from.source)) window(from.place);
    const auto* name = std::get_if<std::string>(&from.source);
    const auto view = name == nullptr ? std::nullopt : system_view(*name);
    if (!view) return;
    const auto& [owner, which] = *view;
    add(2204, Kind::kRefused, sql::where(from.place),
        "'" + owner + "$" + which + "' is a system view, and Flink has none",
        "it finds no table of that name", portable_view(owner, which));
  }

  void select_hints_of(const std::vector<ast::Hint>& hints) {
    for (const ast::Hint& hint : hints) {
      if (hint.name != "STATE_RETENTION" && hint.name != "ALLOWED_LATENESS") continue;
      add(2206, Kind::kDiffers, sql::where(hint.place), "Flink has no hint " + hint.name,
          "state is kept there by the wall clock alone",
          "'table.exec.state.ttl', or STATE_TTL, long enough for every replay");
    }
  }

  void call(const ast::Expr& e) {
    if (e.kind != ast::Expr::Kind::kCall || e.text != "CURRENT_WATERMARK") return;
    add(2210, Kind::kRestart, sql::where(e.place), "CURRENT_WATERMARK is NULL after each restore on Flink",
        "until the first watermark comes, a condition on it lets through what it had refused before; here it "
        "is the floor "
        "at least",
        "no form has both; keep the NULL branch of the condition in mind");
  }

  /// Once: it holds for every window of the script.
  void window(const Place& place) {
    if (std::exchange(told_of_windows_, true)) return;
    add(2211, Kind::kRestart, sql::where(place),
        "windows forget on Flink, at each restore, how far event time had come",
        "until watermarks come back, rows of closed windows are on time there, and such a window comes out "
        "again; here the "
        "floor stands",
        "none is needed for sources whose shards are read again from the same positions in order");
  }

  const SqlInput& input_;
  std::map<std::string, ast::CreateTable> tables_;
  std::vector<FlinkFinding> found_;
  bool told_of_windows_ = false;
};

}  // namespace

std::vector<FlinkFinding> for_flink(const SqlInput& input) {
  const SourceText source(input.text, input.file);
  CatalogFiles files{.read = input.read_catalog};
  const auto statements = parse_script(source, files);
  if (!statements.ok()) return {};
  FlinkCheck check(input);
  for (const ast::Statement& statement : *statements) check.act(statement);
  return check.finish();
}

}  // namespace strand::sql
