// V$late, V$early, V$duplicate, T$bad.
#include <array>
#include <set>

#include "base/text.h"
#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

using plan::NodePtr;

namespace {

constexpr std::array<const char*, 4> kSuffixes = {"late", "early", "duplicate", "bad"};

bool judges(const plan::Node& node, const std::string& suffix) {
  if (suffix == "duplicate") return std::holds_alternative<plan::Deduplicate>(node.detail);
  if (std::holds_alternative<plan::GroupAggregate>(node.detail)) return false;
  return plan::judges_lateness(node.detail) && node.side_outputs.contains(Port::kLate);
}

/// The operators that make the rows of a view: the first judging one on each way down through projections,
/// filters and unions, and those further down that belong to the view itself.
void find_judges(const NodePtr& node, const std::string& view, const std::string& suffix, bool below,
                 std::set<NodePtr>& found) {
  if (below && node->label != view) return;
  const bool judge = judges(*node, suffix);
  if (judge) found.insert(node);
  const bool passes = std::holds_alternative<plan::Project>(node->detail) ||
                      std::holds_alternative<plan::Filter>(node->detail) ||
                      std::holds_alternative<plan::Union>(node->detail);
  if (!judge && !passes) return;
  for (const plan::Input& input : node->inputs) find_judges(input.node, view, suffix, below || judge, found);
}

std::vector<Column> columns_of_schema(const columnar::Schema& schema) {
  std::vector<Column> columns;
  for (const columnar::Field& field : schema.fields()) columns.push_back({field.name, field.type});
  return columns;
}

}  // namespace

Result<Relation> Binder::bind_system_view(const std::string& name, const std::vector<ast::Hint>& hints,
                                          const Place& place) {
  const size_t dollar = name.rfind('$');
  const std::string base = name.substr(0, dollar);
  const std::string suffix = name.substr(dollar + 1);
  if (std::find(kSuffixes.begin(), kSuffixes.end(), suffix) == kSuffixes.end()) {
    const std::string near = suggestion(suffix, {kSuffixes.begin(), kSuffixes.end()});
    return error_at(ErrorCode::kUnknownTable, place, "there is no system view '" + name + "'")
        .hint(near.empty() ? "there are V$late, V$early, V$duplicate of views and T$bad of tables"
                           : "did you mean '" + base + "$" + near + "'?");
  }
  if (suffix != "early" && !hints.empty()) {
    return error_at(ErrorCode::kBadHint, hints[0].place, "'" + name + "' takes no hints")
        .hint("remove the hint");
  }
  if (suffix == "bad") return bind_bad(base, place);
  return suffix == "early" ? bind_early(base, hints, place) : bind_side_output(base, suffix, place);
}

Result<Relation> Binder::bind_bad(const std::string& table, const Place& place) {
  const auto found = catalog_.table(table);
  if (!found) {
    if (!catalog_.view(table)) return catalog_.unknown(table, place);
    return error_at(ErrorCode::kUnknownTable, place,
                    "'" + table + "' is a view: records that do not parse belong to tables")
        .hint("read T$bad of the table that it reads");
  }
  STRAND_TRY(const Relation scan, bind_scan(found, {}, place));
  Relation bad;
  bad.node = scan.node->inputs.empty() ? scan.node : scan.node->inputs[0].node;
  bad.port = Port::kBad;
  bad.name = table + "$bad";
  bad.columns = columns_of_schema(*bad_schema());
  return bad;
}

Result<Relation> Binder::base_view(const std::string& view, const std::string& suffix, const Place& place) {
  if (const auto found = catalog_.view(view)) return bind_view(*found, {}, place);
  if (!catalog_.table(view)) return catalog_.unknown(view, place);
  return error_at(ErrorCode::kNoLateRows, place,
                  "'" + view + "' is a table: " + view + "$" + suffix + " is there for views only")
      .hint("put the query into a view");
}

Result<Relation> Binder::bind_side_output(const std::string& view, const std::string& suffix,
                                          const Place& place) {
  STRAND_TRY(const Relation base, base_view(view, suffix, place));
  const std::string name = view + "$" + suffix;
  std::set<NodePtr> found;
  if (base.port == Port::kMain) find_judges(base.node, view, suffix, false, found);
  if (found.size() != 1) {
    const bool late = suffix == "late";
    Status error = error_at(
        ErrorCode::kNoLateRows, place,
        "view '" + view + "' has " +
            (found.empty() ? "no operator" : std::to_string(found.size()) + " operators") + " that " +
            (late ? "could judge rows late" : "could drop duplicates") + ", so there is no " + name);
    if (!found.empty()) return std::move(error).hint("put each into a view of its own, and read theirs");
    return std::move(error).hint(late ? "windows judge: name the view with the window. Interval and regular "
                                        "joins, filters and GROUP BY drop no late row"
                                      : "name the view with ROW_NUMBER() … = 1");
  }
  const NodePtr& node = *found.begin();
  Relation rows;
  rows.node = node;
  rows.port = suffix == "late" ? Port::kLate : Port::kDuplicate;
  rows.name = name;
  rows.columns = columns_of_schema(*node->schema(rows.port));
  return rows;
}

Result<Duration> Binder::early_delay(const std::vector<ast::Hint>& hints) const {
  STRAND_TRY(const auto options, options_of(hints, "V$early"));
  std::string text = session_.get("table.exec.emit.early-fire.delay");
  for (const auto& [key, value] : options) {
    if (key != "strand.early-fire.delay") {
      return error_at(ErrorCode::kUnknownOption, hints[0].place, "V$early has no option '" + key + "'")
          .hint("there is 'strand.early-fire.delay'");
    }
    text = value;
  }
  if (text.empty()) text = "1 s";
  const Result<Duration> delay = parse_duration(text);
  const Place place = hints.empty() ? Place() : hints[0].place;
  if (!delay.ok()) return located(delay.status(), place);
  if (delay->millis > 0) return *delay;
  return error_at(ErrorCode::kBadOption, place, "'strand.early-fire.delay' must be more than 0")
      .hint("such as '1 s'");
}

Result<Relation> Binder::bind_early(const std::string& view, const std::vector<ast::Hint>& hints,
                                    const Place& place) {
  STRAND_TRY(const Relation base, base_view(view, "early", place));
  STRAND_TRY(const Duration delay, early_delay(hints));
  std::vector<NodePtr> chain;  // from the view's rows down to above the window
  NodePtr node = base.node;
  Port port = base.port;
  while (port == Port::kMain && (std::holds_alternative<plan::Project>(node->detail) ||
                                 std::holds_alternative<plan::Filter>(node->detail))) {
    chain.push_back(node);
    port = node->inputs[0].port;
    node = node->inputs[0].node;
  }
  if (port != Port::kMain || !std::holds_alternative<plan::WindowAggregate>(node->detail)) {
    return error_at(ErrorCode::kNoLateRows, place,
                    "view '" + view + "' is no window aggregation, so there is no " + view + "$early")
        .hint("name the view with a window and GROUP BY");
  }
  auto& window = std::get<plan::WindowAggregate>(draft(node).detail);
  if (window.kind == expr::WindowKind::kSession) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "view '" + view + "' has sessions, so there is no " + view + "$early")
        .hint(
            "a session has its bounds when it is closed: what came early could not be told from another one");
  }
  if (plan::has_whole_windows(window)) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "there is no " + view + "$early: its rows are taken back, or its aggregates keep values")
        .hint("use COUNT, SUM, MIN, MAX and AVG without DISTINCT over rows that only come");
  }
  if (window.early_delay && *window.early_delay != delay) {
    return error_at(ErrorCode::kBadHint, place,
                    view + "$early fires every " + format_duration(*window.early_delay) +
                        " already, not every " + format_duration(delay))
        .hint("give both readers the same 'strand.early-fire.delay'");
  }
  window.early_delay = delay;
  Relation early = base;
  early.name = view + "$early";
  early.updating = true;
  for (Column& column : early.columns) column.time = TimeAttribute::kNone;
  plan::Input below{node, Port::kEarly};
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    below = {nodes_.make((*each)->detail, {below}, (*each)->output, place), Port::kMain};
  }
  early.node = below.node;
  early.port = below.port;
  return early;
}

}  // namespace strand::sql
