// Queries to plan nodes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sql/ast.h"
#include "sql/bind_expression.h"
#include "sql/catalog.h"
#include "sql/hints.h"
#include "sql/nodes.h"
#include "sql/relation.h"
#include "sql/session.h"

namespace strand::sql {

/// Binds the queries of one script. Views and scans are bound once, when they are first read, so that all
/// INSERTs share them. The nodes may still change (early firing is asked for by a later statement) until the
/// plan is optimised.
class Binder {
 public:
  Binder(Session& session, Catalog& catalog, const TableChecks& checks)
      : session_(session), catalog_(catalog), checks_(checks) {}

  Result<Relation> bind_query(const ast::Query& query);
  /// Binds a view now.
  Status check_view(const std::string& name);
  Nodes& nodes() { return nodes_; }
  std::string zone() const { return session_.get("table.local-time-zone"); }
  const TableChecks& checks() const { return checks_; }

  /// A projection of `input`; no node is made where it would change nothing.
  Relation project(const Relation& input, const std::vector<ExprPtr>& expressions,
                   std::vector<Column> columns, const Place& place);
  /// `input` with more columns that SQL does not see, and where each of the expressions is.
  Relation with_hidden(const Relation& input, const std::vector<ExprPtr>& expressions,
                       std::vector<size_t>& at, const Place& place);

 private:
  struct SelectParts;  // one SELECT while it is bound

  // FROM (bind_from.cc, bind_scan.cc).
  Result<Relation> bind_table(const ast::TableRef& ref);
  Result<Relation> bind_named(const std::string& name, const std::vector<ast::Hint>& hints,
                              const Place& place);
  Result<Relation> bind_view(View& view, const std::vector<ast::Hint>& hints, const Place& place);
  Result<Relation> bind_window(const ast::WindowCall& call, const Place& place);
  Result<expr::WindowShape> window_shape(const ast::WindowCall& call) const;
  Result<Duration> interval_of(const ast::Expr& e, const std::string& what) const;
  Result<Relation> bind_scan(const std::shared_ptr<Table>& table, const std::vector<ast::Hint>& hints,
                             const Place& place);
  Result<Relation> make_scan(const Table& table);
  Result<std::vector<ExprPtr>> scan_expressions(const Table& table);
  Result<plan::WatermarkSpec> scan_watermark(const Table& table, const Relation& scan);

  // System views (bind_system_view.cc).
  Result<Relation> bind_system_view(const std::string& name, const std::vector<ast::Hint>& hints,
                                    const Place& place);
  Result<Relation> bind_bad(const std::string& table, const Place& place);
  Result<Relation> bind_side_output(const std::string& view, const std::string& suffix, const Place& place);
  Result<Relation> bind_early(const std::string& view, const std::vector<ast::Hint>& hints,
                              const Place& place);
  Result<Duration> early_delay(const std::vector<ast::Hint>& hints) const;
  Result<Relation> base_view(const std::string& view, const std::string& suffix, const Place& place);

  // SELECT (bind_query.cc, bind_rank.cc, bind_aggregate.cc).
  Result<Relation> bind_select(const ast::Select& select, const Place& place);
  Result<Relation> bind_union(const std::vector<ast::QueryPtr>& branches, const Place& place);
  Result<Relation> bind_where(Relation input, const ast::ExprPtr& where, SelectHints& hints);
  Result<Relation> bind_qualify(Relation input, const ast::Select& select, SelectHints& hints);
  Result<Relation> bind_items(const Relation& input, const ast::Select& select, SelectHints& hints,
                              const Place& place);
  Result<Relation> bind_aggregate(const Relation& input, const ast::Select& select, SelectHints& hints,
                                  const Place& place);
  Result<Relation> filter(const Relation& input, const std::vector<ast::ExprPtr>& conditions,
                          const std::string& clause);
  Result<std::vector<ast::SelectItem>> expand_stars(const Relation& input,
                                                    const std::vector<ast::SelectItem>& items) const;
  Result<std::vector<ExprPtr>> partition_keys(const Relation& input, const ast::Expr& row_number);
  Result<Relation> deduplicate(const Relation& input, std::vector<size_t> keys,
                               std::optional<plan::Retention> retention, const Place& place);
  Result<std::optional<ExprPtr>> retention_instant(const Relation& input, SelectHints& hints,
                                                   Duration& after);

  Session& session_;
  Catalog& catalog_;
  const TableChecks& checks_;
  Nodes nodes_;
  std::map<std::string, Relation> scans_;
  int depth_ = 0;
};

/// The name that a select item gives its column.
std::string item_name(const ast::SelectItem& item, size_t index);
/// The columns of T$bad.
columnar::SchemaPtr bad_schema();

}  // namespace strand::sql
