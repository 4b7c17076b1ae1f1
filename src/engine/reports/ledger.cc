#include "engine/reports/ledger.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "engine/reports/text.h"

namespace strand::engine::reports {

namespace {

using obs::Entry;

bool is_join(const plan::Node& node) {
  return std::holds_alternative<plan::IntervalJoin>(node.detail) ||
         std::holds_alternative<plan::WindowJoin>(node.detail) ||
         std::holds_alternative<plan::TemporalJoin>(node.detail) ||
         std::holds_alternative<plan::RegularJoin>(node.detail);
}

/// A dash where an operator of this kind cannot book anything.
std::string cell(int64_t count, bool possible) {
  return !possible && count == 0 ? "-" : std::to_string(count);
}

std::string function_note(const OperatorBooks& books) {
  std::string text = books.state_rows > 0 ? std::to_string(books.state_rows) + " values kept" : "";
  if (books.clock_readings == 0) return text;
  return text + (text.empty() ? "" : ", ") + std::to_string(books.clock_readings) + " readings of the clock";
}

std::string note(const OperatorBooks& books) {
  if (!books.ledger.balanced()) return "off by " + std::to_string(books.ledger.difference());
  if (books.sink) {
    std::string text = std::to_string(books.sink->refused) + " refused";
    if (books.sink->overtaken > 0) text += ", " + std::to_string(books.sink->overtaken) + " overtaken";
    return text;
  }
  if (is_join(*books.node)) {
    const int64_t right = books.ledger[Entry::kInRight];
    return std::to_string(books.ledger[Entry::kIn] - right) + " left, " + std::to_string(right) + " right";
  }
  if (std::holds_alternative<plan::Deduplicate>(books.node->detail)) {
    return std::to_string(books.state_rows) + " ids kept";
  }
  if (std::holds_alternative<plan::TopN>(books.node->detail)) {
    return std::to_string(books.state_rows) + " rows kept";
  }
  if (std::holds_alternative<plan::GroupAggregate>(books.node->detail)) {
    return std::to_string(books.state_rows) + " keys kept";
  }
  if (std::holds_alternative<plan::Function>(books.node->detail)) return function_note(books);
  return "";
}

std::vector<std::string> row(const OperatorBooks& books) {
  const auto& detail = books.node->detail;
  const obs::Ledger& ledger = books.ledger;
  return {books.name,
          std::to_string(ledger[Entry::kIn]),
          std::to_string(ledger[Entry::kCounted]),
          cell(ledger[Entry::kFiltered],
               std::holds_alternative<plan::Filter>(detail) || std::holds_alternative<plan::TopN>(detail) ||
                   std::holds_alternative<plan::Function>(detail) || is_join(*books.node)),
          cell(ledger[Entry::kLate], plan::judges_lateness(detail)),
          cell(ledger[Entry::kDuplicate], std::holds_alternative<plan::Deduplicate>(detail)),
          cell(ledger[Entry::kBad], std::holds_alternative<plan::Scan>(detail)),
          cell(ledger.in_state(), plan::waits_for_time(detail) || is_join(*books.node)),
          std::to_string(ledger[Entry::kOut]),
          note(books)};
}

bool shown(const OperatorBooks& books) {
  const auto& detail = books.node->detail;
  const bool passes_all =
      std::holds_alternative<plan::Project>(detail) || std::holds_alternative<plan::Union>(detail);
  return !passes_all || !books.ledger.balanced();
}

int64_t total_difference(const Books& books) {
  int64_t sum = 0;
  for (const OperatorBooks& books_of : books.operators) sum += std::abs(books_of.ledger.difference());
  return sum;
}

std::string verdict(const Books& books) {
  const int64_t off = total_difference(books);
  return off == 0 ? "balanced" : "off by " + std::to_string(off);
}

}  // namespace

std::string ledger_text(const JobView& view, const plan::Plan& plan, WallTime now) {
  const Books books = make_books(view, plan);
  TextTable table(
      {"operator", "in", "counted", "filtered", "late", "duplicate", "bad", "in state", "rows out", ""}, 1);
  for (const OperatorBooks& operator_books : books.operators) {
    if (shown(operator_books)) table.add(row(operator_books));
  }
  std::string out = view.job + "  " + clock_text(now);
  if (view.attempt->checkpoints.last_complete) {
    out += ", last checkpoint " + std::to_string(view.attempt->checkpoints.last_complete->value);
  }
  out += "  " + verdict(books) + "\n" + table.text("");
  if (view.attempt->restore.snapshot) {
    out += "tables count since the restore at " + wall_text(view.attempt->restore.at, now) +
           ", operators since the job's beginning\n";
  }
  return out;
}

std::string ledger_json(const JobView& view, const plan::Plan& plan, WallTime now) {
  const Books books = make_books(view, plan);
  nlohmann::ordered_json json;
  json["job"] = view.job;
  json["at"] = format_utc(now.millis);
  json["balanced"] = books.balanced();
  json["difference"] = total_difference(books);
  json["operators"] = nlohmann::ordered_json::array();
  for (const OperatorBooks& b : books.operators) {
    nlohmann::ordered_json entry;
    entry["id"] = b.id;
    entry["name"] = b.name;
    entry["kind"] = plan::kind_name(b.node->detail);
    for (size_t i = 0; i < obs::kEntries; ++i) {
      entry[std::string(obs::entry_name(static_cast<Entry>(i)))] = b.ledger[static_cast<Entry>(i)];
    }
    entry["in_state"] = b.ledger.in_state();
    entry["difference"] = b.ledger.difference();
    entry["state_rows"] = b.state_rows;
    entry["state_bytes"] = b.state_bytes;
    if (b.sink) {
      entry["refused"] = b.sink->refused;
      entry["overtaken"] = b.sink->overtaken;
    }
    json["operators"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

}  // namespace strand::engine::reports
