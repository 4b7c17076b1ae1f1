#include "sql/show.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "expr/catalogue.h"
#include "sql/coerce.h"
#include "sql/full_name.h"
#include "sql/text_width.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

using Kind = ast::Show::Kind;

/// Whether a name is what LIKE asks for: `_` stands for one character, `%` for any number.
bool is_like(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '%') {
    for (size_t i = 0; i <= name.size(); ++i) {
      if (is_like(name.substr(i), pattern.substr(1))) return true;
    }
    return false;
  }
  if (name.empty() || (pattern[0] != '_' && pattern[0] != name[0])) return false;
  return is_like(name.substr(1), pattern.substr(1));
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool passes(const std::optional<ast::NameFilter>& like, const std::string& name) {
  if (!like) return true;
  const bool fits =
      like->any_case ? is_like(lower_case(name), lower_case(like->pattern)) : is_like(name, like->pattern);
  return fits != like->negated;
}

std::vector<std::string> function_names(const std::vector<std::string>& own) {
  std::set<std::string> names(own.begin(), own.end());
  for (const expr::CatalogueEntry& entry : expr::catalogue()) {
    const bool word =
        std::ranges::all_of(entry.name, [](char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (word && expr::has_function(entry)) names.insert(lower_case(std::string(entry.name)));
  }
  return {names.begin(), names.end()};
}

/// The tables or views whose names are `prefix` and one more part.
std::vector<std::string> names_below(const Catalog& catalog, const std::string& prefix, bool views) {
  std::vector<std::string> names;
  for (const std::string& name : catalog.names()) {
    if (!name.starts_with(prefix) || name.find('.', prefix.size()) != std::string::npos) continue;
    if (!views || catalog.view(name)) names.push_back(last_part(name));
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> create_text(const ast::Show& show, const Catalog& catalog) {
  const auto table = catalog.statement(show.name);
  const auto view = catalog.view(show.name);
  if (!table && !view) return catalog.unknown(show.name, show.name_place);
  if ((show.kind == Kind::kCreateView) != (view != nullptr)) {
    return error_at(ErrorCode::kUnknownTable, show.name_place,
                    "'" + show.name + "' is a " + (view ? "view" : "table"))
        .hint(std::string("write SHOW CREATE ") + (view ? "VIEW" : "TABLE"));
  }
  if (table) return to_sql(ast::Statement{show.name_place, *table});
  ast::CreateView statement;
  statement.name = view->name;
  statement.columns = view->columns;
  statement.query = view->query;
  statement.temporary = view->temporary;
  return to_sql(ast::Statement{show.name_place, std::move(statement)});
}

Shown one_column(const std::string& name, const std::vector<std::string>& values,
                 const std::optional<ast::NameFilter>& like) {
  Shown shown{{name}, {}};
  for (const std::string& value : values) {
    if (passes(like, value)) shown.rows.push_back({value});
  }
  return shown;
}

/// How a column came to be, beside its type.
std::string extras_of(const Table& table, size_t i) {
  const TableColumn& column = table.columns[i];
  if (column.computed) return "AS " + to_sql(*column.computed);
  if (!column.metadata) return "";
  return "METADATA FROM '" + table.spec.metadata[*column.metadata].key + "'" +
         (column.is_virtual ? " VIRTUAL" : "");
}

}  // namespace

Result<Shown> show(const ast::Show& show, const Catalog& catalog) {
  switch (show.kind) {
    case Kind::kCatalogs:
      return one_column("catalog name", show.names, show.like);
    case Kind::kCurrentCatalog:
      return one_column("current catalog name", show.names, {});
    case Kind::kDatabases:
      return one_column("database name", show.names, show.like);
    case Kind::kCurrentDatabase:
      return one_column("current database name", show.names, {});
    case Kind::kTables:
      return one_column("table name", names_below(catalog, show.name, /*views=*/false), show.like);
    case Kind::kViews:
      return one_column("view name", names_below(catalog, show.name, /*views=*/true), show.like);
    case Kind::kFunctions:
      return one_column("function name", function_names(show.names), show.like);
    case Kind::kUserFunctions:
      return one_column("function name", show.names, show.like);
    case Kind::kModules:
      return one_column("module name", {"core"}, {});
    case Kind::kJars:
      return one_column("jars", {}, {});
    default: {
      STRAND_TRY(std::string text, create_text(show, catalog));
      return Shown{{"result"}, {{std::move(text)}}};
    }
  }
}

Result<Shown> describe(const std::string& name, const Place& place,
                       const std::optional<ast::NameFilter>& like, const Catalog& catalog, Binder& binder) {
  STRAND_TRY(const std::vector<Column> columns, binder.columns_of(name, place));
  const auto table = catalog.table(name);
  Shown shown{{"name", "type", "null", "key", "extras", "watermark"}, {}};
  std::string key;
  for (const std::string& each : table ? table->spec.primary_key : std::vector<std::string>())
    key += (key.empty() ? "" : ", ") + each;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (!passes(like, column.name) || column.hidden) continue;
    std::string type = columnar::to_string(*columnar::with_nullable(column.type, true));
    if (column.time == TimeAttribute::kRowtime) type += " *ROWTIME*";
    if (column.time == TimeAttribute::kProctime) type += " *PROCTIME*";
    const bool in_key =
        table && std::ranges::find(table->spec.primary_key, column.name) != table->spec.primary_key.end();
    const bool timed = table && table->time_column == i;
    shown.rows.push_back({column.name, type, column.type->nullable ? "TRUE" : "FALSE",
                          in_key ? "PRI(" + key + ")" : "", table ? extras_of(*table, i) : "",
                          timed ? to_sql(*table->watermark) : ""});
  }
  return shown;
}

Shown show_settings(const Session& session) {
  Shown shown{{"key", "value"}, {}};
  for (const auto& [key, setting] : session.all()) {
    if (setting.origin != "default") shown.rows.push_back({key, setting.value});
  }
  return shown;
}

std::string to_text(const Shown& shown) {
  std::string out;
  if (shown.columns.size() == 1 && shown.columns[0] == "result") {
    for (const auto& row : shown.rows) out += row[0] + (row[0].ends_with('\n') ? "" : "\n");
    return out;
  }
  std::vector<size_t> widths;
  for (size_t i = 0; i < shown.columns.size(); ++i) {
    widths.push_back(text_width(shown.columns[i]));
    for (const auto& row : shown.rows) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  std::string rule = "+";
  for (const size_t width : widths) rule += std::string(width + 2, '-') + "+";
  const auto line = [&](const std::vector<std::string>& cells) {
    out += "|";
    for (size_t i = 0; i < cells.size(); ++i)
      out += " " + std::string(widths[i] - text_width(cells[i]), ' ') + cells[i] + " |";
    out += "\n";
  };
  out += rule + "\n";
  line(shown.columns);
  out += rule + "\n";
  for (const auto& row : shown.rows) line(row);
  return shown.rows.empty() ? out : out + rule + "\n";
}

}  // namespace strand::sql
