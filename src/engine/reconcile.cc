#include "engine/reconcile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "engine/buckets.h"
#include "engine/reports/text.h"

namespace strand::engine {

namespace {

using Values = std::map<std::string, Cell>;

/// `final_valid` of `fast_valid`.
std::string final_of(const std::string& column) { return kFinalWriter + column.substr(column.find('_')); }

/// What a final column is made of; `late` is empty where late rows have no part of their own.
struct Parts {
  std::string final;
  std::string fast;
  std::string late;
};
std::vector<Parts> parts_of(const ComparedTable& table) {
  std::vector<Parts> out;
  for (const auto& [fast, late] : table.late_of) out.push_back({final_of(late), fast, late});
  for (const std::string& fast : table.without_late) {
    const std::string final = final_of(fast);
    if (std::ranges::find(out, final, &Parts::final) == out.end()) out.push_back({final, fast, ""});
  }
  return out;
}

Cell value(const Values& row, const std::string& column) {
  const auto at = row.find(column);
  return at == row.end() ? std::nullopt : at->second;
}
int64_t number(const Values& row, const std::string& column) { return whole(value(row, column)).value_or(0); }

std::optional<flow::WriteTag> tag_of(const Values& row, const std::string& writer) {
  if (!value(row, writer + "_ckpt")) return std::nullopt;
  return flow::WriteTag{
      {number(row, writer + "_gen")}, {number(row, writer + "_attempt")}, {number(row, writer + "_ckpt")}, 0};
}

/// Another writer has written the row since `final`, or an earlier recount has said so.
bool dirty(const Values& row, const flow::WriteTag& final_tag) {
  if (number(row, kFinalDirty) != 0) return true;
  const std::string ending = "_ckpt";
  return std::any_of(row.begin(), row.end(), [&](const auto& cell) {
    if (!cell.first.ends_with(ending)) return false;
    const std::string writer = cell.first.substr(0, cell.first.size() - ending.size());
    const auto tag = tag_of(row, writer);
    return writer != kFinalWriter && tag && *tag >= final_tag;
  });
}

std::optional<EventTime> end_of(const std::string& date, const expr::Zone& zone) {
  const auto local = parse_utc(date + ":00:00");
  if (!local) return std::nullopt;
  return EventTime{zone.utc_of(*local) + 3'600'000};
}

class Reconciliation {
 public:
  Reconciliation(const ComparedTable& table, const connect::sqlite::TableRows& found,
                 const CollectedTable& expected, const Horizon& horizon)
      : table_(table), expected_(expected), horizon_(horizon) {
    for (size_t row = 0; row < found.rows.size(); ++row) {
      Key key;
      for (const std::string& column : expected.key) key.push_back(found.value(row, column));
      Values& values = found_[key];
      for (size_t i = 0; i < found.columns.size(); ++i) values[found.columns[i]] = found.rows[row][i];
    }
    std::vector<const Key*> keys;
    for (const auto& [key, row] : expected.rows) keys.push_back(&key);
    for (const auto& [key, row] : found_) keys.push_back(&key);
    buckets_ = Buckets::of(keys);
  }

  std::vector<Hour> run() {
    if (!buckets_.any() || table_.late_of.empty()) return {};
    std::set<Key> hours;
    for (const auto& [key, row] : expected_.rows) add(key, hours);
    for (const auto& [key, row] : found_) add(key, hours);
    std::vector<Hour> out;
    for (const Key& key : hours) out.push_back(hour(key));
    return out;
  }

 private:
  void add(const Key& key, std::set<Key>& hours) {
    if (buckets_.is_hour(key)) hours.insert(key);
    if (!buckets_.is_minute(key)) return;
    hours.insert(buckets_.hour_of(key));
    minutes_[buckets_.hour_of(key)].insert(key);
  }

  const Values& row(const Key& key) const {
    static const Values none;
    const auto at = found_.find(key);
    return at == found_.end() ? none : at->second;
  }
  int64_t recounted(const Key& key, const std::string& column) const {
    const auto at = expected_.rows.find(key);
    return at == expected_.rows.end() ? 0 : number(at->second.values, column);
  }

  Hour hour(const Key& key) const {
    Hour out;
    out.key = key;
    out.end = end_of(buckets_.date_of(key), horizon_.zone);
    out.closed = out.end && horizon_.closes(*out.end);
    for (const Parts& parts : parts_of(table_)) out.columns.push_back(column(key, parts));
    const auto tag = tag_of(row(key), kFinalWriter);
    if (tag) {
      out.state = dirty(row(key), *tag) ? HourState::kDirty : HourState::kFinal;
    } else {
      out.state = out.closed ? HourState::kWritable : HourState::kOpen;
    }
    return out;
  }

  Reconciled column(const Key& key, const Parts& parts) const {
    const std::string& fast = parts.fast;
    Reconciled out;
    out.column = parts.final;
    out.final = recounted(key, fast);
    out.late = number(row(key), parts.late);
    int64_t of_minutes = 0;
    const auto minutes = minutes_.find(key);
    if (minutes != minutes_.end()) {
      for (const Key& minute : minutes->second) {
        const int64_t have = number(row(minute), fast);
        of_minutes += have;
        out.over += std::max<int64_t>(0, have - recounted(minute, fast));
      }
    }
    out.fast = value(row(key), fast) ? number(row(key), fast) : of_minutes;
    out.missed = out.final - out.fast - out.late + out.over;
    if (out.missed < 0) {  // a row that is late and counted, too: no minute shows it
      out.over -= out.missed;
      out.missed = 0;
    }
    return out;
  }

  const ComparedTable& table_;
  const CollectedTable& expected_;
  const Horizon& horizon_;
  Buckets buckets_;
  std::map<Key, Values> found_;
  std::map<Key, std::set<Key>> minutes_;
};

const char* state_text(const Hour& hour) {
  switch (hour.state) {
    case HourState::kOpen:
      return "open";
    case HourState::kWritable:
      return "written";
    case HourState::kFinal:
      return "final";
    case HourState::kDirty:
      return hour.to_write() ? "was dirty, written anew" : "dirty, open again";
  }
  return "";
}

std::vector<std::string> key_text(const Key& key) {
  std::vector<std::string> out;
  for (const Cell& cell : key) out.push_back(cell.value_or("NULL"));
  return out;
}

}  // namespace

std::vector<std::string> final_columns(const ComparedTable& table) {
  std::set<std::string> out;
  for (const Parts& parts : parts_of(table)) out.insert(parts.final);
  return {out.begin(), out.end()};
}

std::vector<Hour> reconcile(const ComparedTable& table, const connect::sqlite::TableRows& found,
                            const CollectedTable& expected, const Horizon& horizon) {
  return Reconciliation(table, found, expected, horizon).run();
}

std::string reconciled_text(const ComparedTable& table, const std::vector<Hour>& hours) {
  std::string out;
  for (const std::string& column : final_columns(table)) {
    std::vector<std::string> header = table.key;
    for (const std::string& name : {column, std::string("= fast"), std::string("+ late"), std::string("- A"),
                                    std::string("+ B"), std::string()})
      header.push_back(name);
    reports::TextTable text(header, table.key.size());
    for (const Hour& hour : hours) {
      for (const Reconciled& r : hour.columns) {
        if (r.column != column) continue;
        std::vector<std::string> cells = key_text(hour.key);
        for (const int64_t n : {r.final, r.fast, r.late, r.over, r.missed})
          cells.push_back(std::to_string(n));
        cells.emplace_back(state_text(hour));
        text.add(std::move(cells));
      }
    }
    out += text.text("  ");
  }
  return out;
}

std::string reconciled_json(const ComparedTable& table, const std::vector<Hour>& hours) {
  std::string out;
  for (const Hour& hour : hours) {
    for (const Reconciled& r : hour.columns) {
      nlohmann::ordered_json json;
      json["table"] = table.name;
      const auto texts = key_text(hour.key);
      for (size_t i = 0; i < texts.size(); ++i) json[table.key[i]] = texts[i];
      json["column"] = r.column;
      json["final"] = r.final;
      json["fast"] = r.fast;
      json["late"] = r.late;
      json["A"] = r.over;
      json["B"] = r.missed;
      json["state"] = state_text(hour);
      out += json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
  }
  return out;
}

}  // namespace strand::engine
