#include "sql/upsert_keys.h"

#include <algorithm>
#include <array>
#include <optional>

namespace strand::sql {

namespace {

using KeyColumns = std::set<size_t>;
using KeySets = std::vector<KeyColumns>;

KeyColumns first_columns(size_t count) {
  KeyColumns columns;
  for (size_t i = 0; i < count; ++i) columns.insert(i);
  return columns;
}

bool includes(const KeyColumns& all, const KeyColumns& part) {
  return std::includes(all.begin(), all.end(), part.begin(), part.end());
}

struct UpsertKeysOf {
  const plan::Node& node;
  Port port;

  KeySets of_input(size_t i) const { return upsert_keys(node.inputs[i]); }

  KeySets operator()(const plan::Scan& scan) const {
    KeyColumns key;
    for (const std::string& name : scan.table.primary_key) {
      const auto physical = scan.table.schema->find(name);
      for (size_t i = 0; physical && i < scan.project.size(); ++i) {
        const expr::Expr& e = *scan.project[i];
        if (e.kind == expr::Expr::Kind::kColumn && scan.read[e.column] == *physical) key.insert(i);
      }
    }
    if (key.empty() || key.size() != scan.table.primary_key.size()) return {};
    return {key};
  }
  KeySets operator()(const plan::Filter&) const { return of_input(0); }
  KeySets operator()(const plan::ReadTime&) const { return of_input(0); }
  KeySets operator()(const plan::Project& project) const {
    KeySets passed;
    for (const KeyColumns& below : of_input(0)) {
      KeyColumns key;
      for (const size_t column : below) {
        for (size_t i = 0; i < project.expressions.size(); ++i) {
          const expr::Expr& e = *project.expressions[i];
          if (e.kind != expr::Expr::Kind::kColumn || e.column != column) continue;
          key.insert(i);
          break;
        }
      }
      if (key.size() == below.size()) passed.push_back(std::move(key));
    }
    return passed;
  }
  KeySets operator()(const plan::Deduplicate& dedup) const {
    if (port != Port::kMain) return {};
    return {KeyColumns(dedup.keys.begin(), dedup.keys.end())};
  }
  KeySets operator()(const plan::OverAggregate&) const {
    return port == Port::kMain ? of_input(0) : KeySets();
  }
  KeySets operator()(const plan::GroupAggregate& group) const {
    if (port != Port::kMain) return {};
    return {first_columns(group.keys.size())};
  }
  KeySets operator()(const plan::WindowAggregate& window) const {
    if (port == Port::kLate) return {};
    return {first_columns(window.keys.size() + 2)};  // keys, window_start, window_end
  }
  KeySets operator()(const plan::WindowTopN& top) const {
    if (port != Port::kMain) return {};
    KeyColumns key(top.keys.begin(), top.keys.end());
    key.insert({top.window_start, top.window_end});
    if (top.from == top.to) return {key};
    if (!top.rank) return {};
    key.insert(node.output->size() - 1);
    return {key};
  }
  KeySets operator()(const plan::Materialize& materialize) const {
    return {KeyColumns(materialize.keys.begin(), materialize.keys.end())};
  }
  /// A row of the left side comes once: its key is that of the output.
  KeySets operator()(const plan::TemporalJoin&) const { return of_input(0); }
  /// A row changes its subtask when its join key changes: only a key that holds the join key keeps its order.
  KeySets operator()(const plan::RegularJoin& join) const {
    const size_t left_columns = node.input(0).size();
    const KeyColumns on[2] = {KeyColumns(join.on.keys[0].begin(), join.on.keys[0].end()),
                              KeyColumns(join.on.keys[1].begin(), join.on.keys[1].end())};
    const KeySets of[2] = {of_input(0), of_input(1)};
    KeySets sets;
    for (size_t side = 0; side < 2; ++side) {
      if (side == 1 && !plan::gives_pairs(join.on.kind)) break;
      const bool one_partner =
          !plan::gives_pairs(join.on.kind) || (!plan::is_outer(join.on.kind, 1 - side) &&
                                               std::ranges::any_of(of[1 - side], [&](const KeyColumns& key) {
                                                 return includes(on[1 - side], key);
                                               }));
      for (const KeyColumns& key : of[side]) {
        if (one_partner && includes(key, on[side])) sets.push_back(moved(key, side == 0 ? 0 : left_columns));
      }
    }
    for (const KeyColumns& left : plan::gives_pairs(join.on.kind) ? of[0] : KeySets()) {
      for (const KeyColumns& right : of[1]) {
        if (!includes(left, on[0]) && !includes(right, on[1])) continue;
        KeyColumns both = moved(right, left_columns);
        both.insert(left.begin(), left.end());
        sets.push_back(std::move(both));
      }
    }
    return sets;
  }
  template <class Other>
  KeySets operator()(const Other&) const {
    return {};
  }

  static KeyColumns moved(const KeyColumns& key, size_t by) {
    KeyColumns columns;
    for (const size_t column : key) columns.insert(column + by);
    return columns;
  }
};

}  // namespace

std::vector<std::set<size_t>> upsert_keys(const plan::Input& rows) {
  return std::visit(UpsertKeysOf{*rows.node, rows.port}, rows.node->detail);
}

namespace {

/// Follows columns of rows down to what tells the rows apart.
struct TellsRowsApart {
  const plan::Input& rows;
  const KeyColumns& columns;

  const plan::Node& node() const { return *rows.node; }
  bool below(KeyColumns read) const { return tells_rows_apart(node().inputs[0], std::move(read)); }
  /// Below an operator that gives its input's columns and others behind them.
  bool below_own() const {
    KeyColumns read = columns;
    read.erase(read.lower_bound(node().input(0).size()), read.end());
    return below(std::move(read));
  }

  bool operator()(const plan::Project& project) const {
    KeyColumns read;
    for (const size_t column : columns) {
      const auto of = expr::columns_of(*project.expressions[column]);
      read.insert(of.begin(), of.end());
    }
    return below(std::move(read));
  }
  /// The rows of VALUES are numbered.
  bool operator()(const plan::Scan& scan) const {
    if (scan.table.option("connector") == "strandline-values")
      return columns.contains(0) || scan.table.option("rows") == "1";
    return has_upsert_key();
  }
  bool operator()(const plan::Filter&) const { return below(columns); }
  bool operator()(const plan::TimeSort&) const { return below(columns); }
  bool operator()(const plan::ReadTime&) const { return below(columns); }
  bool operator()(const plan::OverAggregate&) const { return below_own(); }
  bool operator()(const plan::SessionRows&) const { return below_own(); }
  bool operator()(const plan::LookupJoin&) const { return below_own(); }
  bool operator()(const plan::TemporalJoin&) const { return below_own(); }
  bool operator()(const plan::Union&) const {
    return std::ranges::all_of(node().inputs,
                               [&](const plan::Input& input) { return tells_rows_apart(input, columns); });
  }
  bool operator()(const plan::WindowAggregate& window) const {
    const size_t keys = window.keys.size();
    const bool start = columns.contains(keys) && window.kind != expr::WindowKind::kCumulate;
    return includes(columns, first_columns(keys)) &&
           (start || columns.contains(keys + 1) || columns.contains(keys + 2));
  }
  bool operator()(const plan::IntervalJoin& join) const {
    auto equal = join.on.keys;
    for (size_t side = 0; side < 2 && join.lower == join.upper; ++side)
      equal[side].push_back(join.time_columns[side]);
    return pairs(join.on, equal);
  }
  bool operator()(const plan::RegularJoin& join) const { return pairs(join.on, join.on.keys); }
  bool operator()(const plan::WindowJoin& join) const {
    auto equal = join.on.keys;
    for (size_t side = 0; side < 2; ++side) equal[side].push_back(join.window_ends[side]);
    return pairs(join.on, equal);
  }
  template <class Other>
  bool operator()(const Other&) const {
    return has_upsert_key();
  }
  bool has_upsert_key() const {
    return std::ranges::any_of(upsert_keys(rows),
                               [&](const KeyColumns& key) { return includes(columns, key); });
  }

  /// Of a join both rows must be known: partners agree in `equal`, and a row that is known has all columns.
  bool pairs(const plan::JoinOn& on, const std::array<std::vector<size_t>, 2>& equal) const {
    const size_t left_columns = node().input(0).size();
    if (!plan::gives_pairs(on.kind)) return below(columns);
    KeyColumns of[2];
    for (const size_t column : columns) {
      if (column < left_columns)
        of[0].insert(column);
      else
        of[1].insert(column - left_columns);
    }
    bool known[2] = {false, false};
    for (size_t step = 0; step < 3; ++step) {
      const size_t side = step % 2;
      known[side] = known[side] || tells_rows_apart(node().inputs[side], of[side]);
      // Where rows of the other side come without a partner, the columns of this one do not tell its keys.
      if (known[side] && !plan::is_outer(on.kind, 1 - side))
        of[1 - side].insert(equal[1 - side].begin(), equal[1 - side].end());
    }
    return known[0] && known[1];
  }
};

}  // namespace

bool tells_rows_apart(const plan::Input& rows, std::set<size_t> columns) {
  if (rows.port != Port::kMain) return true;
  return std::visit(TellsRowsApart{rows, columns}, rows.node->detail);
}

bool reads_regular_join(const plan::Input& rows) {
  if (std::holds_alternative<plan::RegularJoin>(rows.node->detail)) return true;
  const bool passes = std::holds_alternative<plan::Project>(rows.node->detail) ||
                      std::holds_alternative<plan::Filter>(rows.node->detail) ||
                      std::holds_alternative<plan::Union>(rows.node->detail);
  return passes && std::ranges::any_of(rows.node->inputs, reads_regular_join);
}

}  // namespace strand::sql
