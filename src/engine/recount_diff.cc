#include <algorithm>
#include <set>

#include "engine/buckets.h"
#include "engine/recount.h"

namespace strand::engine {

namespace {

constexpr std::string_view kLate = "late_";

bool reads_judge(const plan::Node& node) {
  return plan::judges_lateness(node.detail) ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](const plan::Input& input) { return reads_judge(*input.node); });
}

bool is_key(const plan::TableSpec& table, const std::string& column) {
  return std::find(table.primary_key.begin(), table.primary_key.end(), column) != table.primary_key.end();
}

bool is_whole(const columnar::SchemaPtr& schema, const std::string& column) {
  if (schema == nullptr) return false;
  const auto at = schema->find(column);
  return at && ((*schema)[*at].type->kind == columnar::TypeKind::kBigInt ||
                (*schema)[*at].type->kind == columnar::TypeKind::kInt);
}

void pair_late_columns(ComparedTable& table) {
  std::vector<std::string> late;
  for (const std::string& column : table.columns) {
    if (column.starts_with(kLate)) late.push_back(column);
  }
  std::erase_if(table.columns, [](const std::string& column) { return column.starts_with(kLate); });
  for (const std::string& column : late) {
    const std::string ending = "_" + column.substr(kLate.size());
    for (const std::string& partner : table.columns) {
      if (partner.ends_with(ending)) table.late_of[partner] = column;
    }
  }
  std::erase_if(table.without_late, [&](const std::string& column) {
    return column.starts_with(kLate) || table.late_of.contains(column) ||
           column.find('_') == std::string::npos;
  });
  if (table.late_of.empty()) {
    table.without_late.clear();
  } else {
    table.may_miss_late = false;
  }
}

std::string text_of(const Cell& cell) { return cell ? *cell : "NULL"; }

/// One table against its recount.
class Comparison {
 public:
  Comparison(const ComparedTable& table, const connect::sqlite::TableRows& found,
             const CollectedTable& expected, DiffReport& report)
      : table_(table), expected_(expected), report_(report) {
    for (size_t row = 0; row < found.rows.size(); ++row) {
      Key key;
      for (const std::string& column : expected.key) key.push_back(found.value(row, column));
      auto& values = found_[key];
      for (size_t i = 0; i < found.columns.size(); ++i) values[found.columns[i]] = found.rows[row][i];
      ++copies_[key];
    }
    std::vector<const Key*> keys;
    for (const auto& [key, row] : expected.rows) keys.push_back(&key);
    buckets_ = Buckets::of(keys);
  }

  void run() {
    if (table_.key.empty()) return compare_bag();
    for (const auto& [key, row] : expected_.rows) compare_row(key, row);
    for (const auto& [key, values] : found_) {
      if (!expected_.rows.contains(key) && !only_nulls(values)) differs(key, "row", "none", "one");
    }
    compare_roll_ups();
    report_.compared += static_cast<int64_t>(std::max(found_.size(), expected_.rows.size()));
    report_.rows += static_cast<int64_t>(differing_.size());
  }

 private:
  using Values = std::map<std::string, Cell>;

  void differs(const Key& key, const std::string& column, std::string expected, std::string found) {
    differing_.insert(key);
    if (report_.differences.size() >= DiffReport::kShown) return;
    std::string text;
    for (const Cell& cell : key) text += (text.empty() ? "" : ", ") + text_of(cell);
    report_.differences.push_back({table_.name, text, column, std::move(expected), std::move(found)});
  }

  static bool only_nulls(const Values& values, const std::vector<std::string>& columns) {
    return std::all_of(columns.begin(), columns.end(), [&](const std::string& column) {
      const auto at = values.find(column);
      return at == values.end() || !at->second;
    });
  }
  bool only_nulls(const Values& values) const { return only_nulls(values, table_.columns); }

  Cell found_value(const Key& key, const std::string& column) const {
    const auto row = found_.find(key);
    if (row == found_.end()) return std::nullopt;
    const auto value = row->second.find(column);
    return value == row->second.end() ? std::nullopt : value->second;
  }
  int64_t late_part(const Key& key, const std::string& column) const {
    const auto late = table_.late_of.find(column);
    return late == table_.late_of.end() ? 0 : whole(found_value(key, late->second)).value_or(0);
  }

  void compare_row(const Key& key, const CollectedTable::Row& row) {
    for (const auto& [column, cell] : row.values) {
      if (std::find(table_.columns.begin(), table_.columns.end(), column) == table_.columns.end()) continue;
      compare_value(key, column, cell);
    }
  }

  void compare_value(const Key& key, const std::string& column, const Cell& expected) {
    const Cell found = found_value(key, column);
    const auto want = whole(expected);
    const auto have = whole(found);
    if (!want || !have) {  // texts, and numbers with a fraction: equal or not
      if (expected != found) differs(key, column, text_of(expected), text_of(found));
      return;
    }
    const int64_t late = late_part(key, column);
    if (*have + late == *want) return;
    const int64_t missing = *want - *have - late;
    const bool in_hour = buckets_.is_minute(key) && table_.late_of.contains(column) && missing > 0 &&
                         missing <= late_part(buckets_.hour_of(key), column);
    if (in_hour) return;
    if (table_.may_miss_late && missing > 0) {
      ++report_.short_of_late;
      return;
    }
    differs(key, column, std::to_string(*want),
            std::to_string(*have) + (late != 0 ? " + " + std::to_string(late) + " late" : ""));
  }

  void compare_roll_ups() {
    if (!buckets_.any()) return;
    for (const std::string& column : table_.columns) {
      std::map<Key, int64_t> sums;
      for (const auto& [key, values] : found_) {
        if (buckets_.is_minute(key))
          sums[buckets_.hour_of(key)] += whole(found_value(key, column)).value_or(0);
        if (buckets_.is_hour(key)) sums[key] += 0;
      }
      for (const auto& [hour, sum] : sums) {
        const int64_t have = whole(found_value(hour, column)).value_or(0);
        if (have != sum)
          differs(hour, column, std::to_string(sum) + " (sum of its minutes)", std::to_string(have));
      }
    }
  }

  void compare_bag() {
    for (const auto& [key, row] : expected_.rows) {
      const auto at = copies_.find(key);
      const int64_t have = at == copies_.end() ? 0 : at->second;
      if (have < row.copies && table_.may_miss_late) {
        ++report_.short_of_late;
      } else if (have != row.copies) {
        differs(key, "copies", std::to_string(row.copies), std::to_string(have));
      }
    }
    for (const auto& [key, copies] : copies_) {
      if (!expected_.rows.contains(key)) differs(key, "copies", "0", std::to_string(copies));
    }
    report_.compared += static_cast<int64_t>(std::max(copies_.size(), expected_.rows.size()));
    report_.rows += static_cast<int64_t>(differing_.size());
  }

  const ComparedTable& table_;
  const CollectedTable& expected_;
  DiffReport& report_;
  Buckets buckets_;
  std::map<Key, Values> found_;
  std::map<Key, int64_t> copies_;
  std::set<Key> differing_;
};

}  // namespace

std::vector<ComparedTable> compared_tables(const plan::Plan& plan) {
  std::vector<ComparedTable> out;
  for (const plan::NodePtr& sink : plan.sinks) {
    const auto* write = std::get_if<plan::SinkWrite>(&sink->detail);
    if (write == nullptr || write->table.option("connector") != "sqlite") continue;
    auto at = std::find_if(out.begin(), out.end(),
                           [&](const ComparedTable& table) { return table.name == write->table.name; });
    if (at == out.end()) {
      out.push_back({write->table.name,
                     write->table.option("path"),
                     write->table.option("table-name", write->table.name),
                     write->table.primary_key,
                     {},
                     {},
                     {},
                     false});
      at = out.end() - 1;
    }
    for (const std::string& column : write->columns) {
      if (is_key(write->table, column)) continue;
      at->columns.push_back(column);
      if (is_whole(write->table.schema, column)) at->without_late.push_back(column);
    }
    at->may_miss_late = at->may_miss_late || reads_judge(*sink);
  }
  for (ComparedTable& table : out) pair_late_columns(table);
  return out;
}

void compare(const ComparedTable& table, const connect::sqlite::TableRows& found,
             const CollectedTable& expected, DiffReport& report) {
  Comparison(table, found, expected, report).run();
}

}  // namespace strand::engine
