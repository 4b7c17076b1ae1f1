#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "columnar/type.h"
#include "plan/explain.h"

namespace strand::plan {

namespace {

// Predicted bytes of state, as the memory account counts them.
constexpr int64_t kSliceKeyBytes = 64;   // a key in an open window
constexpr int64_t kSessionBytes = 16;    // more for a session
constexpr int64_t kAggregateBytes = 16;  // each aggregate beyond the first
constexpr size_t kLabelWidth = 11;
constexpr std::string_view kOwnColumns = "attached$";  // bounds that no query can name

template <class List, class Name>
std::string join(const List& list, Name&& name) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + std::string(name(item));
  return text;
}

std::string names(const columnar::Schema& schema, const std::vector<size_t>& columns) {
  return join(columns, [&](size_t column) { return schema[column].name; });
}

const char* port_name(Port port) {
  switch (port) {
    case Port::kMain:
      return "";
    case Port::kLate:
      return "$late";
    case Port::kDuplicate:
      return "$duplicate";
    case Port::kEarly:
      return "$early";
    case Port::kBad:
      return "$bad";
    case Port::kLateRight:
      return "$late_right";
  }
  return "$side";
}

std::string signed_text(Duration d) {
  return (d.millis < 0 ? "- " : "+ ") + format_duration(Duration{std::abs(d.millis)});
}
Duration positive(Duration d) { return std::max(d, Duration{0}); }

std::string aggregate_text(const Aggregate& aggregate, const columnar::Schema& input) {
  std::string text = expr::aggregate_name(aggregate.kind);
  if (aggregate.kind != Aggregate::Kind::kCountStar)
    text += std::string(aggregate.distinct ? "(DISTINCT " : "(") + input[aggregate.column].name + ")";
  if (aggregate.filter) text += " FILTER (WHERE " + input[*aggregate.filter].name + ")";
  return text + " AS " + aggregate.name;
}

/// What is to be said about one node: facts with their labels.
class NodeText {
 public:
  explicit NodeText(const Node& node) : node_(node) {}

  Facts facts() {
    for (const Input& input : node_.inputs) line("input", input_text(input));
    std::visit([this](const auto& detail) { describe(detail); }, node_.detail);
    if (node_.output) line("output", schema_text(*node_.output, node_.rowtime));
    for (const auto& [port, schema] : node_.side_outputs)
      line(port_name(port), schema_text(*schema, std::nullopt));
    return std::move(facts_);
  }

 private:
  void line(const std::string& label, const std::string& text) { facts_.emplace_back(label, text); }
  const columnar::Schema& input() const { return *node_.inputs[0].node->schema(node_.inputs[0].port); }

  std::string input_text(const Input& input) const {
    const columnar::Schema& schema = *input.node->schema(input.port);
    std::string text = input.node->id + port_name(input.port);
    if (input.single) return text + ", all rows to one subtask";
    if (input.broadcast) return text + ", all rows to every subtask";
    if (input.groups) return text + ", by key group";
    if (!input.hash_keys.empty()) text += ", by hash of " + names(schema, input.hash_keys);
    return text;
  }
  static std::string schema_text(const columnar::Schema& schema, std::optional<size_t> rowtime) {
    std::string text;
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].name.starts_with(kOwnColumns)) continue;
      text += (text.empty() ? "" : ", ") + schema[i].name + " " + columnar::to_string(*schema[i].type);
      if (rowtime == i) text += " *rowtime*";
    }
    return text;
  }
  std::string options_text(const TableSpec& table) const {
    return join(table.options, [](const auto& option) {
      return option.first + " = " + (is_secret(option.first) ? "****" : option.second);
    });
  }
  std::string retention_text(const std::optional<Retention>& retention) const {
    if (!retention) return "never forgotten by event time";
    return "forgotten when event time reaches " + input()[retention->column].name +
           (retention->after.millis == 0 ? "" : " + " + format_duration(retention->after));
  }
  void expressions(const std::vector<ExprPtr>& list, const columnar::Schema& from) {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string text = expr::to_string(*list[i], &from);
      if (text != (*node_.output)[i].name) line("compute", (*node_.output)[i].name + " = " + text);
    }
  }

  void describe(const Scan& scan) {
    std::vector<columnar::Field> fields;
    const size_t physical = scan.table.schema->size();
    for (const size_t column : scan.read) {
      if (column < physical)
        fields.push_back((*scan.table.schema)[column]);
      else
        fields.push_back(
            {scan.table.metadata[column - physical].name, scan.table.metadata[column - physical].type});
    }
    const columnar::Schema read(fields);
    line("table", scan.table.name + ": " + options_text(scan.table));
    line("read", join(read.fields(), [](const auto& field) { return field.name; }) + "; " +
                     std::to_string(read.size()) + " of " +
                     std::to_string(physical + scan.table.metadata.size()) + " columns");
    if (scan.wanted) {
      std::vector<columnar::Field> keys;
      for (const std::string& key : scan.table.partitions)
        keys.push_back((*scan.table.schema)[*scan.table.schema->find(key)]);
      const columnar::Schema partitions(std::move(keys));
      line("partitions", "those with " + expr::to_string(*scan.wanted, &partitions));
    }
    expressions(scan.project, read);
    if (!scan.watermark) {
      line("watermark", "none: event time stands still until the end of the input");
      return;
    }
    const WatermarkSpec& watermark = *scan.watermark;
    line("watermark",
         (watermark.expression ? expr::to_string(*watermark.expression, node_.output.get())
                               : (*node_.output)[watermark.time_column].name) +
             ", highest of each shard" +
             (watermark.trail ? ", " + format_duration(*watermark.trail) + " behind the newest" : "") +
             (watermark.idle_timeout ? "; idle after " + format_duration(*watermark.idle_timeout)
                                     : "; no idle timeout: a silent shard holds it"));
    line("state", "position and watermark of each shard");
  }
  void describe(const Filter& filter) {
    line("condition", expr::to_string(*filter.condition, node_.output.get()));
    if (expr::reads_watermark(*filter.condition)) line("state", "floor: judges by event time");
  }
  void describe(const Project& project) { expressions(project.expressions, input()); }
  void describe(const Union&) {}
  void describe(const ReadTime& read) {
    const std::string& time = input()[read.time_column].name;
    line("time", time + " is the wall clock when a row comes by, and the event time of what reads it");
    line("depends", "on how fast rows are read: read again, they count at other times");
  }
  void describe(const Unnest& unnest) {
    line("elements",
         "of " + input()[unnest.column].name + (unnest.outer ? "; a row without elements comes once" : ""));
  }
  void describe(const Deduplicate& dedup) {
    line("keys", names(input(), dedup.keys) + ": the " + (dedup.last ? "last" : "first") + " row of each" +
                     (dedup.time_column ? " by " + input()[*dedup.time_column].name : ""));
    if (dedup.time_column && !dedup.last) line("rows", "emitted once, when the watermark reaches them");
    line("state", (dedup.time_column || dedup.last
                       ? "the kept row of each key"
                       : "about " + std::to_string(kIdBytes) + " B an id of 36 characters") +
                      "; " +
                      (dedup.ttl ? "kept for " + format_duration(*dedup.ttl) + " of wall clock"
                                 : retention_text(dedup.retention)) +
                      (dedup.time_column && !dedup.last ? "; floor of each key group" : ""));
    if (dedup.last)
      line("changes",
           std::string(dedup.update_before ? "+I, -U, +U" : "+I, +U") + (dedup.upserts ? ", -D" : ""));
  }
  std::string frame_text(const OverAggregate& over) const {
    const std::string order = !over.order.empty() ? order_text(over.order)
                              : over.time_column  ? input()[*over.time_column].name
                                                  : "arrival";
    if (!over.preceding) return std::string(over.range ? "range" : "rows") + " from the first, by " + order;
    return (over.range ? "range of " + format_duration(Duration{*over.preceding})
                       : std::to_string(*over.preceding) + " rows") +
           " before the row, by " + order;
  }
  /// Of a key.
  static std::string until_idle(const std::optional<Duration>& ttl) {
    return ttl ? "a key is forgotten when no row of it came for " + format_duration(*ttl) + " of wall clock"
               : std::string("never forgotten by event time");
  }
  void describe(const OverAggregate& over) {
    line("frame", frame_text(over));
    line("keys", over.keys.empty() ? "none" : names(input(), over.keys));
    if (!over.aggregates.empty())
      line("aggregates",
           join(over.aggregates, [&](const Aggregate& a) { return aggregate_text(a, input()); }));
    if (!over.ranks.empty())
      line("ranks", join(over.ranks, [](expr::RankKind kind) { return std::string(expr::rank_name(kind)); }));
    if (!over.order.empty()) {
      line("state", "every row of the input; " + until_idle(over.ttl));
      line("changes", over.update_before ? "+I, -U, +U, -D" : "+I, +U, -D");
      return;
    }
    line("state", std::string(over.time_column ? "rows until the watermark reaches them, " : "") +
                      "totals of each key" + (over.preceding ? ", the rows of its frame" : "") +
                      (over.range && over.preceding ? "; a key is forgotten when its frame is empty"
                                                    : "; " + until_idle(over.ttl)) +
                      (over.time_column && !over.preceding ? "; floor of each key group" : ""));
  }
  /// A value with names for what it reads: LAST(A.v, 1).
  std::string value_text(const expr::MatchValue& value, const Match& match) const {
    std::vector<columnar::Field> fields;
    for (const expr::MatchReference& reference : value.references) {
      const std::string variable = reference.variable ? match.pattern[*reference.variable].name + "." : "";
      const std::string column = variable + input()[reference.column].name;
      const std::string offset = reference.offset == 0 ? "" : ", " + std::to_string(reference.offset);
      const bool first = reference.kind == expr::MatchReference::Kind::kFirst;
      fields.push_back({reference.aggregate             ? variable + reference.aggregate->name
                        : first || reference.offset > 0 ? (first ? "FIRST(" : "LAST(") + column + offset + ")"
                                                        : column,
                        input()[reference.column].type});
    }
    const columnar::Schema names(std::move(fields));
    return expr::to_string(*value.value, &names);
  }
  std::string after_match(const Match& match) const {
    switch (match.skip) {
      case expr::MatchSkip::kPastLastRow:
        return "past the last row";
      case expr::MatchSkip::kToNextRow:
        return "at the next row";
      case expr::MatchSkip::kToFirst:
        return "at the first row of " + match.pattern[match.skip_to].name;
      case expr::MatchSkip::kToLast:
        return "at the last row of " + match.pattern[match.skip_to].name;
    }
    return {};
  }
  void describe(const Match& match) {
    line("pattern", pattern_text(match.pattern) +
                        (match.within ? " within " + format_duration(*match.within) : "") + ", by " +
                        (match.time_column ? input()[*match.time_column].name : "arrival"));
    for (const expr::MatchVariable& variable : match.pattern) {
      if (variable.condition) line("define", variable.name + " AS " + value_text(*variable.condition, match));
    }
    line("measures",
         join(match.measures, [&](const expr::MatchValue& measure) { return value_text(measure, match); }));
    line("next match", after_match(match));
    line("keys", match.keys.empty() ? "none" : names(input(), match.keys));
    line("state", std::string(match.time_column ? "rows until the watermark reaches them, " : "") +
                      "of each key the rows from its oldest open match on" +
                      (match.within ? "" : "; without WITHIN a match may stay open for ever") +
                      (match.time_column ? "; floor of each key group" : ""));
  }
  void describe(const TopN& top) {
    line("ranks", top.from == top.to ? std::to_string(top.to)
                                     : std::to_string(top.from) + " to " + std::to_string(top.to));
    line("keys", top.keys.empty() ? "none" : names(input(), top.keys));
    line("order", order_text(top.order));
    line("state",
         (top.changes ? "every row of the input; "
                      : "the first " + std::to_string(top.to) + " rows of each key; ") +
             (top.ttl ? "a row is forgotten " + format_duration(*top.ttl) + " of wall clock after it came"
                      : std::string("never forgotten by event time")));
    line("changes", !top.rank && top.from == 1 ? "+I, -D"
                    : top.update_before        ? "+I, -U, +U, -D"
                                               : "+I, +U, -D");
  }
  std::string order_text(const std::vector<columnar::SortColumn>& order) const {
    return order.empty() ? "arrival" : join(order, [&](const columnar::SortColumn& sort) {
      return input()[sort.column].name + (sort.descending ? " DESC" : "") +
             (sort.nulls_last == sort.descending ? ""
              : sort.nulls_last                  ? " NULLS LAST"
                                                 : " NULLS FIRST");
    });
  }
  void describe(const WindowTopN& top) {
    line("ranks", top.from == top.to ? std::to_string(top.to)
                                     : std::to_string(top.from) + " to " + std::to_string(top.to));
    line("keys", top.keys.empty() ? "none" : names(input(), top.keys));
    line("window",
         input()[top.window_start].name + " to " + input()[top.window_end].name + ", zone " + top.zone);
    line("order", order_text(top.order));
    line("state", "the first " + std::to_string(top.to) +
                      " rows of each key and open window; dropped when event time reaches the window's last "
                      "millisecond; floor of each key group");
  }
  void describe(const SessionRows& session) {
    line("window", "session with gap " + format_duration(session.gap) + " over " +
                       input()[session.time_column].name + ", zone " + session.zone);
    line("keys", session.keys.empty() ? "none" : names(input(), session.keys));
    line("state",
         "the rows of open sessions; dropped when event time reaches the last millisecond; floor of each key "
         "group");
  }
  void describe(const TimeSort& sort) {
    line("order", input()[sort.time_column].name + (sort.order.empty() ? "" : ", " + order_text(sort.order)));
    line("state", "rows until event time reaches them; all rows meet in one subtask; floor");
  }
  void describe(const Materialize& materialize) {
    line("key", names(input(), materialize.keys));
    line("state", "every row of the input; never forgotten by event time");
    line("changes", "+I, +U, -D");
  }
  std::string window_text(const expr::WindowShape& window, size_t time_column,
                          const std::string& zone) const {
    std::string text;
    const int64_t windows = window.step.millis == 0 ? 1 : window.size.millis / window.step.millis;
    switch (window.kind) {
      case expr::WindowKind::kTumble:
        text = "tumbling " + format_duration(window.size);
        break;
      case expr::WindowKind::kHop:
        text = "hopping " + format_duration(window.size) + " every " + format_duration(window.step) +
               ", a row in up to " +
               std::to_string(windows + (window.size.millis % window.step.millis != 0)) +
               ", summed by slices of " + format_duration(window.slice());
        break;
      case expr::WindowKind::kCumulate:
        text = "cumulating to " + format_duration(window.size) + " by " + format_duration(window.step) +
               ", a row in up to " + std::to_string(windows);
        break;
      case expr::WindowKind::kSession:
        text = "session with gap " + format_duration(window.size);
        break;
    }
    return text + (window.offset.millis == 0 ? "" : ", offset " + format_duration(window.offset)) + " over " +
           input()[time_column].name + ", zone " + zone;
  }
  static std::string window_state(const WindowAggregate& window, int64_t key_bytes) {
    if (window.kind == expr::WindowKind::kSession) {
      return "about " + std::to_string(key_bytes + kSessionBytes) +
             " B an open session; dropped when event time reaches its last millisecond; floor of each key "
             "group";
    }
    const bool tumbles = window.kind == expr::WindowKind::kTumble;
    return "about " + std::to_string(key_bytes) + " B a key and open " +
           (tumbles || window.early_delay || has_whole_windows(window)
                ? "window; dropped when event time reaches the window's last millisecond"
                : "slice; dropped with the last window that reads it") +
           "; floor of each key group";
  }
  static std::string fire_text(const WindowFire& fire) {
    const auto often = [](const Duration& delay) {
      return delay.millis == 0 ? std::string("with each row") : "every " + format_duration(delay);
    };
    std::string text = fire.early ? "before the end " + often(*fire.early) + ", " : "";
    text += "at the end";
    if (fire.late || fire.lateness.millis > 0)
      text += ", behind it " + often(fire.late.value_or(Duration{0}));
    if (fire.lateness.millis > 0) text += " for " + format_duration(fire.lateness);
    return text + (fire.update_before ? "; +I, -U, +U" : "; +I, +U");
  }
  void describe(const WindowAggregate& window) {
    if (window.attached) {
      const auto bound = [&](size_t i) { return input()[window.keys[(*window.attached)[i]]].name; };
      line("window", "that of the rows, from " + bound(0) + " to " + bound(1));
    } else {
      line("window", window_text(window.shape(), window.time_column, window.zone));
    }
    line("keys", window.keys.empty() ? "none" : names(input(), window.keys));
    line("aggregates",
         join(window.aggregates, [&](const Aggregate& a) { return aggregate_text(a, input()); }));
    const auto more = std::max<int64_t>(0, static_cast<int64_t>(window.aggregates.size()) - 1);
    line("state", window_state(window, kSliceKeyBytes + more * kAggregateBytes));
    if (window.fire) line("fire", fire_text(*window.fire));
    if (window.early_delay) line("early", "changed totals every " + format_duration(*window.early_delay));
    if (window.pre_aggregate) {
      line("partials",
           "summed before the exchange, " + (window.pre_aggregate->millis == 0
                                                 ? std::string("per batch")
                                                 : "at most " + format_duration(*window.pre_aggregate)));
    }
  }
  void describe(const GroupAggregate& group) {
    line("keys", group.keys.empty() ? "none" : names(input(), group.keys));
    line("aggregates",
         join(group.aggregates, [&](const Aggregate& a) { return aggregate_text(a, input()); }));
    const auto more = std::max<int64_t>(0, static_cast<int64_t>(group.aggregates.size()) - 1);
    line("state", "about " + std::to_string(kSliceKeyBytes + more * kAggregateBytes) + " B a key; " +
                      (group.ttl ? "forgotten when no row of it came for " + format_duration(*group.ttl) +
                                       " of wall clock"
                                 : retention_text(group.retention)));
    line("changes",
         std::string(group.update_before ? "+I, -U, +U" : "+I, +U") + (group.changes ? ", -D" : ""));
  }
  void describe_join(const JoinOn& on) {
    std::string keys;
    for (size_t i = 0; i < on.keys[0].size(); ++i) {
      const bool nulls_equal = i < on.nulls_equal.size() && on.nulls_equal[i];
      keys += (i == 0 ? "" : ", ") + node_.input(0)[on.keys[0][i]].name +
              (nulls_equal ? " IS NOT DISTINCT FROM " : " = ") + node_.input(1)[on.keys[1][i]].name;
    }
    line("join", std::string(join_name(on.kind)) + " on " +
                     (keys.empty() ? "no keys: all rows meet in one subtask" : keys));
    if (!on.condition) return;
    std::vector<columnar::Field> both = node_.input(0).fields();
    for (const columnar::Field& field : node_.input(1).fields()) both.push_back(field);
    const columnar::Schema columns(std::move(both));
    line("condition", expr::to_string(*on.condition, &columns));
  }
  void describe(const IntervalJoin& join) {
    describe_join(join.on);
    const std::string& left = node_.input(0)[join.time_columns[0]].name;
    const std::string& right = node_.input(1)[join.time_columns[1]].name;
    line("within", right + " from " + left + " " + signed_text(join.lower) + " to " + left + " " +
                       signed_text(join.upper));
    line("state", "rows of both sides until event time is " + format_duration(positive(join.upper)) +
                      " (left) and " + format_duration(positive(Duration{-join.lower.millis})) +
                      " (right) behind them; floor of each key group");
    const Duration delay{std::max<int64_t>({join.upper.millis, -join.lower.millis, 0})};
    if (delay.millis > 0) line("time", "goes on " + format_duration(delay) + " later than it comes in");
  }
  void describe(const WindowJoin& join) {
    describe_join(join.on);
    line("window", node_.input(0)[join.window_ends[0]].name + " = " +
                       node_.input(1)[join.window_ends[1]].name + ", zone " + join.zone);
    line("state",
         "rows of both sides until event time reaches the last millisecond of their window; floor of each "
         "key group");
  }
  void describe(const RegularJoin& join) {
    describe_join(join.on);
    const auto kept = [](const std::optional<Duration>& ttl) {
      return ttl ? "until it was not written for " + format_duration(*ttl) + " of wall clock"
                 : std::string("for ever: SET 'table.exec.state.ttl' bounds it");
    };
    line("state", join.ttl[0] == join.ttl[1] ? "every row of both sides, " + kept(join.ttl[0])
                                             : "every row of the left side, " + kept(join.ttl[0]) +
                                                   "; of the right side, " + kept(join.ttl[1]));
    line("changes", join.update_kinds ? "+I, -U, +U, -D" : "+I, -D");
  }
  void describe(const Function& function) {
    for (const auto& [label, text] : function.facts) line(label, text);
  }
  void describe(const TemporalJoin& join) {
    describe_join(join.on);
    line("as of", node_.input(0)[join.time_columns[0]].name + ", versions by " +
                      node_.input(1)[join.time_columns[1]].name);
    line("state",
         "rows of the left side until event time reaches them; of each key the newest version that it has "
         "reached, and later ones; floor of each key group");
  }
  void describe(const LookupJoin& lookup) {
    std::string keys;
    for (size_t i = 0; i < lookup.keys.size(); ++i)
      keys += (i == 0 ? "" : ", ") + input()[lookup.keys[i]].name + " = " + lookup.key_columns[i];
    line("table", lookup.table.name + ": " + options_text(lookup.table));
    line("join", std::string(lookup.outer ? "left join" : "inner join") + " on " + keys +
                     ", as the table is when the row comes");
    if (lookup.condition) line("condition", expr::to_string(*lookup.condition, node_.output.get()));
  }
  void describe(const SinkWrite& sink) {
    line("table", sink.table.name + ": " + options_text(sink.table));
    line("writer",
         sink.writer + ", sets " + join(sink.columns, [](const std::string& name) { return name; }));
    if (!sink.table.primary_key.empty()) {
      line("key", join(sink.table.primary_key, [](const std::string& name) { return name; }));
    }
    line("rows", sink.provisional   ? "provisional: restored to the totals of state after a restart"
                 : sink.closed_rows ? "written once, when closed"
                                    : "inserts and updates as they come");
  }

  const Node& node_;
  Facts facts_;
};

}  // namespace

bool is_secret(const std::string& key) {
  for (const char* word : {"password", "secret", "token", "credential", "access-key", "sasl.jaas"}) {
    if (key.find(word) != std::string::npos) return true;
  }
  return false;
}

Facts facts_of(const Node& node) { return NodeText(node).facts(); }

std::string explain(const Plan& plan) {
  std::string out = "job " + plan.job + "\n\noperators\n";
  for (const NodePtr& node : plan.nodes()) {
    out += "  " + node->id + "  (" + kind_name(node->detail) +
           (node->where.empty() ? "" : ", " + node->where) + ")\n";
    for (const auto& [label, text] : facts_of(*node)) {
      const size_t blanks = std::max(kLabelWidth, label.size() + 1) - label.size();
      out += "    " + label + std::string(blanks, ' ') + text + "\n";
    }
  }
  out += "\nsettings\n";
  for (const auto& [key, setting] : plan.settings) {
    if (setting.origin == "default") continue;
    out += "  " + key + " = " + (is_secret(key) ? "****" : setting.value) + "  (" + setting.origin + ")\n";
  }
  return out;
}

std::string explain_json(const Plan& plan) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const NodePtr& node : plan.nodes()) {
    nlohmann::ordered_json each = {
        {"id", node->id}, {"type", kind_name(node->detail)}, {"where", node->where}};
    for (const Input& input : node->inputs) each["predecessors"].push_back({{"id", input.node->id}});
    for (const auto& [label, text] : facts_of(*node)) {
      nlohmann::ordered_json& fact = each["facts"][label];
      if (fact.is_null()) {
        fact = text;
      } else {
        if (!fact.is_array()) fact = nlohmann::ordered_json::array({fact});
        fact.push_back(text);
      }
    }
    nodes.push_back(std::move(each));
  }
  return nlohmann::ordered_json{{"job", plan.job}, {"nodes", std::move(nodes)}}.dump(2);
}

}  // namespace strand::plan
