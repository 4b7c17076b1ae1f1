#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/reports/text.h"
#include "engine/upgrade_check.h"

namespace strand::engine {

namespace {

using plan::OperatorFit;
using plan::PlanChange;
using Fate = OperatorFit::Fate;
using About = PlanChange::About;
using OrderedJson = nlohmann::ordered_json;

struct FateWords {
  Fate fate;
  const char* name;     // in JSON
  const char* heading;  // for people
};
constexpr FateWords kFates[] = {
    {Fate::kKept, "kept", "keeps its state"},
    {Fate::kNew, "new", "starts empty"},
    {Fate::kDropped, "dropped", "loses its state"},
    {Fate::kChanged, "changed", "refused: its state has another form"},
    {Fate::kGone, "gone", "refused: the job has it no longer"},
};

const char* name_of(Fate fate) { return std::ranges::find(kFates, fate, &FateWords::fate)->name; }

/// What a change means for state and rows.
const char* meaning_of(About about) {
  switch (about) {
    case About::kWatermark:
      return "no state: a snapshot from before the change fits, and what was closed stays closed";
    case About::kSource:
      return "positions go by the names of shards; what has another name is read from its start";
    case About::kSink:
      return "rows that are written stay where and as they are";
    case About::kKeys:
      return "rows from before the snapshot were grouped by the old keys";
    case About::kOther:
      return "";
  }
  return "";
}

const char* name_of(About about) {
  static constexpr const char* kNames[] = {"watermark", "source", "sink", "keys", "other"};
  return kNames[static_cast<size_t>(about)];
}

std::string detail_of(const OperatorFit& fit) {
  if (fit.fate == Fate::kDropped) return "named in 'strand.state.drop'";
  if (fit.fate == Fate::kKept && fit.kind == "scan") return "goes on at the positions of its shards";
  if (fit.fate != Fate::kNew) return "";
  if (fit.kind == "scan") return "reads its table from the start";
  if (fit.kind == "sink") return "writes what comes from the start of the run on";
  return "knows nothing from before the snapshot";
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string without_end(std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line + "\n";
}

void operators_text(const UpgradeCheck& check, std::string& out) {
  size_t width = 0;
  for (const OperatorFit& fit : check.operators) width = std::max(width, fit.id.size());
  for (const FateWords& words : kFates) {
    std::string lines;
    for (const OperatorFit& fit : check.operators) {
      if (fit.fate != words.fate) continue;
      if (fit.fate != Fate::kChanged)
        lines += without_end("  " + padded(fit.id, width) + "  " + detail_of(fit));
      if (fit.fate != Fate::kChanged) continue;
      for (const std::string& difference : fit.differences)
        lines += "  " + padded(fit.id, width) + "  " + difference + "\n";
    }
    if (!lines.empty()) out += "\n" + std::string(words.heading) + "\n" + lines;
  }
}

void changes_text(const UpgradeCheck& check, std::string& out) {
  if (!check.changes.empty()) out += "\nchanged\n";
  for (const PlanChange& change : check.changes) {
    const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
    out += "  " + change.id + "  " + change.label + ": " + shown(change.before) + "\n    now " +
           shown(change.now) + "\n";
    const std::string meaning = meaning_of(change.about);
    if (!meaning.empty()) out += "    (" + meaning + ")\n";
  }
}

void list_text(const char* heading, const std::vector<std::string>& lines, std::string& out) {
  if (!lines.empty()) out += "\n" + std::string(heading) + "\n";
  for (const std::string& line : lines) out += "  " + line + "\n";
}

int64_t count(const UpgradeCheck& check, Fate fate) {
  return std::ranges::count(check.operators, fate, &OperatorFit::fate);
}

}  // namespace

std::string upgrade_text(const UpgradeCheck& check) {
  std::string out = check.job + "  " + check.new_file + ", from " + check.snapshot + "\n";
  operators_text(check, out);
  changes_text(check, out);
  if (!check.refused.ok()) out += "\nrun would say\n  " + check.refused.to_string() + "\n";
  list_text("rows and tables", check.held, out);
  list_text("ways out", check.ways_out, out);
  list_text("to do", check.notes, out);
  const int64_t refused = count(check, Fate::kChanged) + count(check, Fate::kGone);
  return out + "\n" + std::string(check.refused.ok() ? "goes on" : "is refused") + ": " +
         reports::plural(count(check, Fate::kKept), "operator keeps its state",
                         "operators keep their state") +
         ", " + std::to_string(count(check, Fate::kNew)) + " new, " +
         std::to_string(count(check, Fate::kDropped)) + " dropped, " + std::to_string(refused) + " refused\n";
}

std::string upgrade_json(const UpgradeCheck& check) {
  OrderedJson json;
  json["job"] = check.job;
  json["snapshot"] = check.snapshot;
  json["goes_on"] = check.refused.ok();
  if (!check.refused.ok()) {
    json["refused"] = {{"code", static_cast<int>(check.refused.code())},
                       {"message", check.refused.message()},
                       {"hint", check.refused.hint()}};
  }
  json["operators"] = OrderedJson::array();
  for (const OperatorFit& fit : check.operators) {
    json["operators"].push_back(
        {{"id", fit.id}, {"kind", fit.kind}, {"state", name_of(fit.fate)}, {"differences", fit.differences}});
  }
  json["changes"] = OrderedJson::array();
  for (const PlanChange& change : check.changes) {
    json["changes"].push_back({{"operator", change.id},
                               {"about", name_of(change.about)},
                               {"what", change.label},
                               {"before", change.before},
                               {"now", change.now}});
  }
  json["held"] = check.held;
  json["ways_out"] = check.ways_out;
  json["notes"] = check.notes;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace strand::engine
