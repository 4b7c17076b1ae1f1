#include "sql/provenance.h"

#include <functional>

#include <algorithm>
#include <set>

#include "sql/nodes.h"

namespace strand::sql {

namespace {

using plan::Input;
using Columns = std::set<size_t>;

/// Follows sets of columns (one set for each key column) down to a window.
bool key_names_window(const Input& from, std::vector<Columns> keys) {
  const plan::Node& node = *from.node;
  if (const auto* window = std::get_if<plan::WindowAggregate>(&node.detail)) {
    if (from.port != Port::kMain || window->fire) return false;
    Columns all;
    for (const Columns& key : keys) all.insert(key.begin(), key.end());
    const size_t count = window->keys.size();
    const auto in = [&](size_t column) { return all.contains(column); };
    for (size_t i = 0; i < count; ++i) {
      if (!in(i)) return false;
    }
    // Cumulating windows begin together.
    const bool start_names = in(count) && window->kind != expr::WindowKind::kCumulate;
    return start_names || in(count + 1) || in(count + 2);
  }
  if (from.port != Port::kMain) return false;
  if (const auto* project = std::get_if<plan::Project>(&node.detail)) {
    for (Columns& key : keys) {
      Columns below;
      for (const size_t column : key) {
        const auto read = expr::columns_of(*project->expressions[column]);
        below.insert(read.begin(), read.end());
      }
      key = std::move(below);
    }
    return key_names_window(node.inputs[0], std::move(keys));
  }
  const bool passes =
      std::holds_alternative<plan::Filter>(node.detail) || std::holds_alternative<plan::Union>(node.detail);
  return passes && std::all_of(node.inputs.begin(), node.inputs.end(),
                               [&](const Input& input) { return key_names_window(input, keys); });
}

struct Ways {
  bool early = false;
  bool other = false;
};

void follow(const Input& from, Ways& ways) {
  const plan::Detail& detail = from.node->detail;
  const bool passes = std::holds_alternative<plan::Project>(detail) ||
                      std::holds_alternative<plan::Filter>(detail) ||
                      std::holds_alternative<plan::Union>(detail);
  if (from.port == Port::kMain && passes) {
    for (const Input& input : from.node->inputs) follow(input, ways);
  } else {
    (from.port == Port::kEarly ? ways.early : ways.other) = true;
  }
}

}  // namespace

RowOrigin row_origin(const Input& rows, const plan::TableSpec& table,
                     const std::vector<std::string>& columns) {
  Ways ways;
  follow(rows, ways);
  if (ways.early) return ways.other ? RowOrigin::kMixed : RowOrigin::kEarly;
  std::vector<Columns> keys;
  for (const std::string& key : table.primary_key) {
    keys.push_back({static_cast<size_t>(std::find(columns.begin(), columns.end(), key) - columns.begin())});
  }
  return key_names_window(rows, std::move(keys)) ? RowOrigin::kClosed : RowOrigin::kOther;
}

namespace {

/// The columns by which the rows of a node that makes changes replace each other; nothing: by no columns of
/// its own.
std::optional<Columns> columns_of_changes(const plan::Node& node) {
  const auto from = [](const std::vector<size_t>& keys) { return Columns(keys.begin(), keys.end()); };
  if (const auto* dedup = std::get_if<plan::Deduplicate>(&node.detail)) return from(dedup->keys);
  if (const auto* group = std::get_if<plan::GroupAggregate>(&node.detail)) {
    Columns keys;
    for (size_t i = 0; i < group->keys.size(); ++i) keys.insert(i);
    return keys;
  }
  if (const auto* window = std::get_if<plan::WindowAggregate>(&node.detail)) {
    Columns keys;  // and window_start, window_end
    for (size_t i = 0; i < window->keys.size() + 2; ++i) keys.insert(i);
    return keys;
  }
  if (const auto* scan = std::get_if<plan::Scan>(&node.detail)) {
    if (scan->table.primary_key.empty()) return std::nullopt;
    Columns keys;
    for (const std::string& name : scan->table.primary_key) keys.insert(*node.output->find(name));
    return keys;
  }
  if (const auto* materialize = std::get_if<plan::Materialize>(&node.detail)) return from(materialize->keys);
  if (std::holds_alternative<plan::OverAggregate>(node.detail)) return std::nullopt;
  const auto& top = std::get<plan::TopN>(node.detail);
  Columns keys = from(top.keys);
  if (top.from == top.to) return keys;
  if (!top.rank) return std::nullopt;
  keys.insert(node.output->size() - 1);
  return keys;
}

/// The node below `rows` whose changes come through, and what `columns` read of its output.
std::optional<KeyOfChanges> find_changes(const Input& rows, Columns columns) {
  const plan::Node& node = *rows.node;
  if (rows.port != Port::kMain) return std::nullopt;
  if (plan::makes_changes(node.detail)) {
    const auto keys = columns_of_changes(node);
    if (keys) return KeyOfChanges{&node, *keys, columns == *keys};
    if (node.inputs.empty()) return KeyOfChanges{&node, {}, false};
    auto below = find_changes(node.inputs[0], std::move(columns));
    return below ? below : KeyOfChanges{&node, {}, false};
  }
  if (const auto* project = std::get_if<plan::Project>(&node.detail)) {
    Columns below;
    for (const size_t column : columns) {
      const auto read = expr::columns_of(*project->expressions[column]);
      below.insert(read.begin(), read.end());
    }
    return find_changes(node.inputs[0], std::move(below));
  }
  if (std::holds_alternative<plan::Filter>(node.detail))
    return find_changes(node.inputs[0], std::move(columns));
  return std::nullopt;
}

}  // namespace

std::optional<KeyOfChanges> key_of_changes(const Input& rows, const plan::TableSpec& table,
                                           const std::vector<std::string>& columns) {
  Columns keys;
  for (const std::string& key : table.primary_key) {
    keys.insert(static_cast<size_t>(std::find(columns.begin(), columns.end(), key) - columns.begin()));
  }
  return find_changes(rows, std::move(keys));
}

bool reads_early(const Input& rows) {
  Ways ways;
  follow(rows, ways);
  return ways.early;
}

namespace {

bool hands_on(const plan::Detail& detail) {
  return std::holds_alternative<plan::Project>(detail) || std::holds_alternative<plan::Filter>(detail);
}

/// Rows leave it as they came, but others may come between the halves of an update, or their order differ.
bool mixes(const plan::Detail& detail) {
  return std::holds_alternative<plan::Union>(detail) || std::holds_alternative<plan::Unnest>(detail) ||
         std::holds_alternative<plan::LookupJoin>(detail) ||
         std::holds_alternative<plan::TemporalJoin>(detail);
}

enum class Read : uint8_t { kNoChanges, kChanges, kMixedChanges, kEarly };

/// What comes to a filter; `from` becomes the end from which the changes come.
Read what_it_reads(const Input& rows, const Input** from) {
  *from = &rows;
  if (rows.port == Port::kEarly) return Read::kEarly;
  if (rows.port != Port::kMain) return Read::kNoChanges;
  const plan::Detail& detail = rows.node->detail;
  if (plan::makes_changes(detail)) return Read::kChanges;
  if (hands_on(detail)) return what_it_reads(rows.node->inputs[0], from);
  if (!mixes(detail)) return Read::kNoChanges;
  for (const Input& input : rows.node->inputs) {
    const Input* end = nullptr;
    const Read read = what_it_reads(input, &end);
    if (read != Read::kNoChanges) return read == Read::kEarly ? read : Read::kMixedChanges;
  }
  return Read::kNoChanges;
}

/// Calls f(filter, what it reads, from where) for the filters that rows pass on their way to the end of the
/// input.
template <class F>
void for_each_filter(const Input& rows, const F& f) {
  if (rows.port != Port::kMain) return;
  const plan::Detail& detail = rows.node->detail;
  if (std::holds_alternative<plan::Filter>(detail)) {
    const Input* from = nullptr;
    const Read read = what_it_reads(rows.node->inputs[0], &from);
    f(rows.node, read, *from);
  }
  if (!hands_on(detail) && !mixes(detail)) return;
  for (const Input& input : rows.node->inputs) for_each_filter(input, f);
}

bool any_filter(const Input& rows, const std::function<bool(Read)>& of) {
  bool any = false;
  for_each_filter(rows, [&](const plan::NodePtr&, Read read, const Input&) { any = any || of(read); });
  return any;
}

}  // namespace

bool filters_updates(const Input& rows) {
  return any_filter(rows, [](Read read) { return read != Read::kNoChanges; });
}

bool filters_early(const Input& rows) {
  return any_filter(rows, [](Read read) { return read == Read::kEarly; });
}

bool filters_mixed_updates(const Input& rows) {
  return any_filter(rows, [](Read read) { return read == Read::kMixedChanges; });
}

void delete_what_is_filtered(const Input& rows) {
  for_each_filter(rows, [](const plan::NodePtr& filter, Read read, const Input& from) {
    if (read != Read::kChanges) return;
    std::get<plan::Filter>(draft(filter).detail).whole_updates = true;
    want_update_before(from, ChangeReader::kOperator);
  });
}

void want_update_before(const Input& rows, ChangeReader reader) {
  if (rows.port != Port::kMain) return;
  plan::Detail& detail = draft(rows.node).detail;
  if (auto* group = std::get_if<plan::GroupAggregate>(&detail)) group->update_before = true;
  if (auto* dedup = std::get_if<plan::Deduplicate>(&detail)) dedup->update_before = dedup->last;
  if (auto* top = std::get_if<plan::TopN>(&detail)) {
    const bool alone = top->to == 1 && !top->rank && !top->changes && !top->keys.empty();
    top->update_before = top->update_before || !alone || reader == ChangeReader::kOperator;
  }
  if (auto* over = std::get_if<plan::OverAggregate>(&detail)) over->update_before = true;
  if (auto* window = std::get_if<plan::WindowAggregate>(&detail); window != nullptr && window->fire)
    window->fire->update_before = true;
  if (auto* join = std::get_if<plan::RegularJoin>(&detail)) {
    join->update_kinds = true;  // its inputs were asked when it was made
    return;
  }
  if (plan::makes_changes(detail)) return;
  for (const Input& input : rows.node->inputs) want_update_before(input, reader);
}

}  // namespace strand::sql
