#include "sql/lasting.h"

#include <algorithm>

#include "sql/full_name.h"
#include "sql/walk.h"

namespace strand::sql {

namespace {

/// Where a part calls a temporary function.
class TemporaryCalls {
 public:
  explicit TemporaryCalls(std::string name) : name_(std::move(name)) {}

  void look(const ast::QueryPtr& query) {
    if (query) walk(*query, visitor_);
  }
  void look(const ast::ExprPtr& e) {
    if (e) walk(*e, visitor_);
  }
  Status found() const { return found_; }

 private:
  void call(const ast::Expr& e) {
    if (!found_.ok() || !e.own || !e.own->temporary) return;
    found_ = error_at(ErrorCode::kUnknownFunction, e.place,
                      "function '" + e.own->name + "' is temporary, and '" + name_ + "' is kept")
                 .hint("create the function without TEMPORARY in that catalog, or make '" + last_part(name_) +
                       "' TEMPORARY");
  }

  const std::string name_;
  Status found_;
  const Visitor visitor_{[this](const ast::Expr& e) { call(e); }, [](const ast::TableRef&) {},
                         [](const std::vector<ast::Hint>&) {}};
};

Status check_table(const ast::CreateTable& table) {
  TemporaryCalls calls(table.name);
  for (const ast::ColumnDefinition& column : table.columns) calls.look(column.computed);
  calls.look(table.watermark);
  return calls.found();
}

Status check_view(const std::string& name, const ast::QueryPtr& query) {
  TemporaryCalls calls(name);
  calls.look(query);
  return calls.found();
}

}  // namespace

Status check_lasting(const std::vector<ast::Statement>& script) {
  std::vector<std::string> kept;  // what names in kept catalogs begin with
  const auto is_kept = [&](const std::string& name, bool temporary) {
    return !temporary &&
           std::ranges::any_of(kept, [&](const std::string& prefix) { return is_inside(name, prefix, 2); });
  };
  for (const ast::Statement& statement : script) {
    if (const auto* catalog = std::get_if<ast::OpenCatalog>(&statement.body))
      kept.push_back(part_of_name(catalog->name) + ".");
    const auto* table = std::get_if<ast::CreateTable>(&statement.body);
    if (table != nullptr && is_kept(table->name, table->temporary)) STRAND_OK(check_table(*table));
    const auto* view = std::get_if<ast::CreateView>(&statement.body);
    if (view != nullptr && is_kept(view->name, view->temporary))
      STRAND_OK(check_view(view->name, view->query));
    const auto* altered = std::get_if<ast::AlterView>(&statement.body);
    if (altered != nullptr && is_kept(altered->name, false))
      STRAND_OK(check_view(altered->name, altered->query));
  }
  return Status();
}

}  // namespace strand::sql
