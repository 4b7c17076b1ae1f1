// Queries to plan nodes.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sql/ast.h"
#include "sql/bind_expression.h"
#include "sql/catalog.h"
#include "sql/hints.h"
#include "sql/inner_subqueries.h"
#include "sql/nodes.h"
#include "sql/relation.h"
#include "sql/session.h"

namespace strand::sql {

/// The sides of a join with the columns that hold its keys.
struct JoinSides {
  std::array<Relation, 2> relations;
  std::array<std::vector<size_t>, 2> keys;
  std::vector<bool> nulls_equal;  // of each key
};

/// Binds the queries of one script. Views and scans are bound once, when they are first read, so that all
/// INSERTs share them. The nodes may still change (early firing is asked for by a later statement) until the
/// plan is optimised.
class Binder {
 public:
  Binder(Session& session, Catalog& catalog, const TableChecks& checks)
      : session_(session), catalog_(catalog), checks_(checks) {}

  Result<Relation> bind_query(const ast::Query& query);
  /// The same where nothing around the query bounds a rank any more.
  Result<Relation> bind_result(const ast::Query& query);
  /// The columns of a table or view, without asking its connector.
  Result<std::vector<Column>> columns_of(const std::string& name, const Place& place);
  /// Binds a view now.
  Status check_view(const std::string& name);
  Nodes& nodes() { return nodes_; }
  std::string zone() const { return session_.get("table.local-time-zone"); }
  std::string setting(const std::string& key) const { return session_.get(key); }
  Duration duration(const std::string& key) const { return session_.duration(key); }
  const TableChecks& checks() const { return checks_; }

  /// A projection of `input`; no node is made where it would change nothing.
  Relation project(const Relation& input, const std::vector<ExprPtr>& expressions,
                   std::vector<Column> columns, const Place& place);
  /// `input` with more columns that SQL does not see, and where each of the expressions is.
  Relation with_hidden(const Relation& input, const std::vector<ExprPtr>& expressions,
                       std::vector<size_t>& at, const Place& place);

 private:
  struct Extras;
  static void set_ttl(Relation& input, SelectHints& hints);
  /// Of a relation's rows in a join or a GROUP BY; nothing: they are kept for ever.
  std::optional<Duration> ttl_of(const Relation& input) const;

  // FROM (bind_from.cc, bind_scan.cc).
  Result<Relation> bind_table(const ast::TableRef& ref);
  static Status name_columns(Relation& bound, const ast::TableRef& ref);
  Result<Relation> bind_named(const std::string& name, const std::vector<ast::Hint>& hints,
                              const Place& place);
  Result<Relation> bind_view(View& view, const std::vector<ast::Hint>& hints, const Place& place);
  Result<Relation> bind_window(const ast::WindowCall& call, const Place& place);
  void add_window(Relation& bound, PendingWindow window, const std::array<const char*, 3>& names) const;
  // Processing time (bind_processing_time.cc).
  /// `input` with the wall clock in `column` as its event time.
  Result<Relation> read_time(const Relation& input, size_t column, const Place& place);
  Result<Relation> read_time_over(const Relation& input, const ast::Over& written, const ast::Select& select);
  // GROUP BY TUMBLE(…) (group_window.cc).
  Result<PendingWindow> group_window(Relation& input, const ast::Expr& window);
  Result<std::optional<plan::WindowFire>> window_fire(const ast::Expr& window) const;
  Result<ast::Select> with_group_window(Relation& input, const ast::Select& select);
  Result<expr::WindowShape> window_shape(const ast::WindowCall& call) const;
  Result<Duration> interval_of(const ast::Expr& e, const std::string& what) const;
  Result<Relation> bind_scan(const std::shared_ptr<Table>& table, const std::vector<ast::Hint>& hints,
                             const Place& place);
  Result<Relation> make_scan(const Table& table);
  Status find_metadata(Table& table) const;
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

  // GROUPING SETS (grouping_sets.cc).
  Result<Relation> rows_of_set(const Relation& input, const std::vector<ExprPtr>& keys,
                               const std::vector<bool>& in_set, const Place& place);
  Result<ast::Select> with_grouping_sets(Relation& input, const ast::Select& select, const Place& place);
  // Windows without aggregation (expand_window.cc).
  Result<Relation> expand_window(const Relation& input);
  Relation session_rows(const Relation& input);
  bool groups_by_window(const Relation& input, const ast::Select& select) const;
  Result<Relation> attach_window(const Relation& input, const ast::Select& select);

  // Rows of the query itself, WITH and DISTINCT (bind_values.cc).
  Relation bind_rows(size_t rows, const Place& place);
  Result<ExprPtr> values_column(const ast::Values& values, std::vector<ExprPtr> cells, const ExprPtr& row,
                                const Place& place) const;
  Result<Relation> bind_values(const ast::Values& values, const Place& place);
  Relation distinct(const Relation& input, const Place& place);
  Result<Relation> bind_with(const ast::Query& query, Extras& extras);
  std::shared_ptr<View> common_table(const std::string& name) const;
  // MATCH_RECOGNIZE (bind_match.cc).
  Result<Relation> bind_match(const ast::Match& match, const Place& place);
  Result<size_t> match_order(const Relation& input, const ast::Match& match, const Place& place,
                             bool& by_arrival) const;
  // Joins (bind_join.cc).
  Result<Relation> bind_join(const ast::Join& join, const Place& place);
  Result<Relation> with_common(const Relation& both, const std::vector<std::array<size_t, 2>>& pairs,
                               const Place& place);
  Status merge_columns(const ast::Join& join, size_t left_columns, Relation& both, std::vector<Condition>& on,
                       std::vector<std::array<size_t, 2>>& pairs) const;
  Result<std::shared_ptr<const Relation>> bind_join_side(const ast::TableRef& ref);
  static Result<std::vector<Condition>> bind_conditions(const ExpressionBinder& binder,
                                                        const std::vector<ast::ExprPtr>& conditions,
                                                        const std::string& clause);
  Result<Relation> make_joins(const Relation& relation, std::vector<Condition> where);
  Result<Relation> make_pending_join(const PendingJoin& join, std::vector<Condition> where);
  Result<JoinSides> join_sides(const Relation& left, const Relation& right,
                               std::vector<Condition>& conditions, const Place& place);
  Result<Relation> make_join(plan::JoinKind kind, const Relation& left, const Relation& right,
                             std::vector<Condition> on, const Place& place);
  Result<Relation> interval_join(plan::JoinKind kind, const Relation& left, const Relation& right,
                                 const TimeBounds& bounds, std::vector<Condition> on, const Place& place);
  struct JoinedHow {
    plan::JoinOn on;
    std::vector<size_t> visible;  // of the columns of both nodes, those of the two relations
  };
  static Result<JoinedHow> join_how(plan::JoinKind kind, const Relation& left, const Relation& right,
                                    const JoinSides& sides, std::vector<Condition> rest);
  Relation regular_join(const plan::JoinOn& how, const JoinSides& sides,
                        const std::array<std::optional<Duration>, 2>& ttl, const std::vector<size_t>& visible,
                        const Place& place);
  Relation joined(plan::Detail detail, plan::JoinKind kind, const JoinSides& sides,
                  const std::vector<size_t>& visible, const Place& place);
  /// A relation whose node has no more columns than SQL sees.
  std::optional<std::array<size_t, 2>> take_window_ends(const Relation& left, const Relation& right,
                                                        std::vector<Condition>& conditions) const;
  Relation without_hidden(const Relation& relation, const Place& place);
  // UNNEST and LATERAL (bind_unnest.cc).
  Result<PendingUnnest> bind_unnest(const ast::Unnest& unnest, const Relation& left) const;
  Relation unnest(const Relation& input, const PendingUnnest& pending, bool outer, const Place& place);
  Relation repeated(const Relation& input, size_t times, const Place& place);
  Result<Relation> bind_lateral(const ast::Join& join, const Relation& left, PendingJoin& pending);
  Result<Relation> make_unnest(const PendingJoin& join, const std::vector<Condition>& where);

  // FOR SYSTEM_TIME AS OF (bind_temporal.cc).
  Result<PendingVersion> bind_version(const ast::Join& join, const Relation& left) const;
  Result<Relation> looked_up_columns(const ast::TableRef& ref, PendingVersion& version) const;
  Result<Relation> make_versions(const PendingJoin& join, const std::vector<Condition>& where);
  Result<Relation> temporal_join(const PendingJoin& join, const Relation& left, const Relation& right);
  Result<Relation> lookup_join(const PendingJoin& join, const Relation& left);

  // Subqueries (bind_subquery.cc, correlation.cc).
  Result<Relation> bind_subquery(const ast::Query& query, Extras& extras, bool by_equality = false);
  Result<Relation> semi_join(const Relation& input, const ast::ExprPtr& test);
  Result<std::vector<ExprPtr>> sought_values(const ast::Expr& test, const Relation& outer,
                                             size_t items) const;
  static Relation beside(const Relation& left, Relation rows, std::vector<Condition> on, const Place& place);
  Result<Relation> with_inner(Relation input, const std::vector<ast::ExprPtr>& expressions, bool conditions,
                              Values& values);
  Result<Relation> with_inner(Relation input, const std::vector<Inner>& found, Values& values);
  // Subqueries beside a GROUP BY (bind_around_groups.cc).
  static bool has_subqueries(const ast::Select& select);
  Result<Relation> bind_around_groups(const Relation& input, const ast::Select& select, SelectHints& hints,
                                      const Place& place, Extras& extras);
  // EXISTS and IN as values (bind_mark.cc).
  Result<Relation> with_mark(const Relation& left, const ast::Expr& test, bool condition, Values& values);
  Result<Relation> with_counts(const Relation& left, const Relation& rows, Extras extras, const Place& place);
  Result<Relation> one_row(const Relation& rows, const Extras& extras, const Place& place);
  Result<Relation> correlate(const Relation& input, const std::vector<Condition>& conditions, Extras& extras);
  Result<Relation> with_outer_values(const Relation& input, const std::vector<Condition>& conditions,
                                     Extras& extras);
  Result<Relation> keep_where(const Relation& input, const std::vector<ast::ExprPtr>& written,
                              const Values& values, Extras& extras);
  Result<Relation> with_value(const Relation& left, const ast::Expr& subquery, Values& values);
  Relation with_true(const Relation& rows, const Place& place);
  // Subqueries in ON and in aggregates (bind_inner.cc).
  Status with_inner_of_on(const ast::Join& join, PendingJoin& pending, Values& values);
  Result<Relation> with_inner_of_groups(const Relation& input, const ast::Select& select, Values& values);
  static std::vector<Condition> join_conditions_of(const Extras& extras, size_t outer_columns);
  Relation show_extras(const Relation& result, const std::vector<size_t>& keys_at,
                       const std::vector<size_t>& order_at, Extras& extras, const Place& place);

  // ORDER BY and LIMIT (bind_order.cc).
  Result<Relation> bind_ordered(const ast::Query& query, Extras& extras);
  Result<Relation> limited(const Relation& rows, const ast::Limit& limit,
                           const std::vector<columnar::SortColumn>& order, const Extras& extras);
  Result<Relation> sorted(const Relation& rows, const std::vector<columnar::SortColumn>& order,
                          const Place& place);
  using BindOrder = std::function<Result<ExprPtr>(const ast::Expr&)>;
  static Result<std::vector<size_t>> order_columns(const Extras& extras, const std::vector<Column>& columns,
                                                   std::vector<ExprPtr>& expressions, const BindOrder& bind);
  static Status check_distinct_order(const Extras& extras);

  // UNION, INTERSECT, EXCEPT (bind_set_operation.cc).
  Result<std::vector<Relation>> set_branches(const std::vector<ast::QueryPtr>& branches,
                                             const std::string& operation);
  Result<Relation> bind_set_operation(const ast::SetOperation& set, const Place& place);
  Result<Relation> counted_rows(const Relation& left, const Relation& right, bool intersect,
                                const Place& place);
  Relation unite(const std::vector<Relation>& branches, const Place& place);

  // SELECT (bind_query.cc, bind_rank.cc, bind_top_n.cc, bind_over.cc, bind_aggregate.cc).
  Result<Relation> bind_query(const ast::Query& query, Extras& extras);
  Result<Relation> bind_body(const ast::Query& query, Extras& extras);
  Result<Relation> bind_plain(const ast::Query& query, Extras& extras);
  Result<Relation> bind_select(const ast::Select& asked, const Place& place, Extras& extras);
  Result<Relation> bind_where(Relation input, const ast::Select& select, SelectHints& hints, Extras& extras);
  Result<Relation> where_rank(Relation input, const ast::Select& select, std::vector<ast::ExprPtr>& rest,
                              SelectHints& hints);
  Result<Relation> bind_qualify(Relation input, const ast::Select& select, SelectHints& hints);
  Result<Relation> bind_items(const Relation& input, const ast::Select& select, SelectHints& hints,
                              const Place& place, Values values, Extras& extras);
  Result<Relation> bind_aggregate(const Relation& input, const ast::Select& select, SelectHints& hints,
                                  const Place& place, Extras& extras);
  Result<Relation> group_rows(const Relation& input, const ast::Select& select, const Values& values,
                              SelectHints& hints, const Place& place, Extras& extras);
  static Status check_readable(const Relation& input, const std::vector<Condition>& conditions,
                               const std::string& clause);
  static Status refuse_rank(const Relation& input);
  Result<Relation> filter_by(const Relation& input, const std::vector<Condition>& conditions);
  Result<Relation> filter(const Relation& input, const std::vector<ast::ExprPtr>& conditions,
                          const std::string& clause);
  Result<std::vector<ast::SelectItem>> expand_stars(const Relation& input,
                                                    const std::vector<ast::SelectItem>& items) const;
  struct RankSpec;
  struct RankRange;
  Result<RankSpec> rank_spec(const Relation& input, const ast::Expr& row_number, const ast::Select& select,
                             SelectHints& hints);
  /// The rows of a rank in `range`; with the rank itself behind them where it is `read`.
  Result<Relation> ranked_rows(const Relation& input, const PendingRank& rank, const RankRange& range,
                               bool read);
  Result<Relation> deduplicate(const Relation& input, const PendingRank& rank);
  Result<Relation> top_n(const Relation& input, const PendingRank& rank, const RankRange& range, bool read);
  Result<Relation> window_top_n(const Relation& input, const PendingRank& rank, const RankRange& range,
                                bool read);
  /// `input` with the OVER aggregates of the items, and where each call's result is.
  Result<Relation> bind_over(const Relation& input, const std::vector<ast::SelectItem>& items,
                             const ast::Select& select, Values& results);
  struct OverNeeds {
    std::vector<ExprPtr> keys;
    std::vector<ExprPtr> order;
  };
  Result<plan::OverAggregate> over_window(const Relation& input, const ast::Over& over,
                                          OverNeeds& needs) const;
  Relation over_node(const Relation& rows, plan::OverAggregate over, const Place& place);
  static Status check_over_input(const Relation& input, bool ordered, const Place& place);
  /// The rows of a pending rank that no condition bounds, with their numbers.
  Result<Relation> number_rows(const Relation& input);
  Result<int64_t> frame_bound(const ast::Frame& frame) const;
  Result<std::optional<ExprPtr>> retention_instant(const Relation& input, SelectHints& hints,
                                                   Duration& after);

  Session& session_;
  Catalog& catalog_;
  const TableChecks& checks_;
  Nodes nodes_;
  std::map<std::string, Relation> scans_;
  std::vector<std::map<std::string, std::shared_ptr<View>>> common_tables_;  // of the WITH clauses around
  int view_depth_ = 0;
  int query_depth_ = 0;
};

/// Counts nesting while it lives.
class Depth {
 public:
  explicit Depth(int& depth) : depth_(++depth) {}
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& depth_;
};

/// What the rows of a query have behind its own columns, because the query around it needs them, and what a
/// subquery says about the rows of that query.
struct Binder::Extras {
  /// Of a subquery: where names are looked up that its own tables lack.
  const Relation* outer = nullptr;
  bool one_value = false;                // it stands for a value
  std::vector<ExprPtr> keys = {};        // over the rows that the SELECT reads; hidden columns of its result
  std::vector<Column> key_columns = {};  // as which columns they are seen there
  /// Over the columns of `outer`, then the keys.
  std::vector<Condition> conditions = {};
  size_t around = 0;       // columns of `outer`
  bool only_equal = true;  // each condition makes a key equal to something of `outer`
  /// The rows of `outer`: each subquery row stands beside those values of theirs that it is a partner of, and
  /// the keys are these values.
  std::shared_ptr<const Relation> values_of = {};
  ExprPtr of_nothing = {};  // of an aggregate over all rows: what it is where there is none
  size_t items = 0;         // columns of the result before the keys
  /// What the rows are ordered by, and the columns of the result that hold it: of its own, or hidden ones
  /// behind the keys.
  const std::vector<ast::OrderItem>* order = nullptr;
  std::vector<size_t> order_at = {};
};

/// What ROW_NUMBER() OVER (…) ranks by, as expressions over its input.
struct Binder::RankSpec {
  std::vector<ExprPtr> keys;
  std::vector<ExprPtr> order;
  std::optional<ExprPtr> instant;  // of the retention
  PendingRank rank;                // its columns are not known yet

  /// All expressions, keys first; and the rank once it is known where they are.
  std::vector<ExprPtr> needed() const;
  PendingRank at(const std::vector<size_t>& columns) const;
};

inline constexpr int64_t kRankMax = 10'000;  // rows of a key that are looked through for each new one

/// Ranks from 1, both included.
struct Binder::RankRange {
  int64_t from = 1;
  std::optional<int64_t> to;
};

/// The window of OVER; a name is looked up in the WINDOW clause.
Result<const ast::Over*> window_of(const ast::Over& over, const ast::Select& select);
/// The name that a select item gives its column.
std::string item_name(const ast::SelectItem& item, size_t index);
/// The columns of T$bad.
columnar::SchemaPtr bad_schema();

}  // namespace strand::sql
