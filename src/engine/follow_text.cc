#include "engine/follow_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/reports/text.h"
#include "engine/reports/why.h"

namespace strand::engine {

namespace {

using reports::plural;

constexpr size_t kFollowLabelWidth = 24;

std::string followed_line(const std::string& label, const std::string& text) {
  return label + std::string(label.size() < kFollowLabelWidth ? kFollowLabelWidth - label.size() : 1, ' ') +
         text;
}

class Teller {
 public:
  Teller(const Followed& followed, const JobView& view, const plan::Plan& plan, WallTime now)
      : followed_(followed), now_(now) {
    if (view.attempt) books_ = reports::make_books(view, plan);
  }

  std::vector<std::string> tell(const plan::Plan& plan) {
    for (const auto& [where, row] : followed_.records) lines_.push_back(followed_line(where, row));
    for (const plan::NodePtr& node : plan.nodes()) tell(*node);
    return std::move(lines_);
  }

 private:
  const Sighting* out_of(const std::string& id, Port port) const {
    const auto found = followed_.sightings.find({id, port});
    return found == followed_.sightings.end() ? nullptr : &found->second;
  }
  /// A projection that leaves the column out still passes each row on.
  const Sighting* rows_of(const plan::Input& input) const {
    const Sighting* seen = out_of(input.node->id, input.port);
    if (seen != nullptr || !std::holds_alternative<plan::Project>(input.node->detail)) return seen;
    return rows_of(input.node->inputs[0]);
  }
  const reports::OperatorBooks* books_of(const plan::Node& node) const {
    const auto found = std::find_if(books_.operators.begin(), books_.operators.end(),
                                    [&](const reports::OperatorBooks& books) { return books.id == node.id; });
    return found == books_.operators.end() ? nullptr : &*found;
  }

  void tell(const plan::Node& node) {
    if (node.inputs.empty()) return;
    const plan::Input& input = node.inputs[0];
    const Sighting* in = rows_of(input);
    if (in == nullptr || in->rows == 0) return;
    const std::string text = outcome(node, *in);
    if (!text.empty()) lines_.push_back(followed_line(node.label.empty() ? node.id : node.label, text));
  }

  std::string outcome(const plan::Node& node, const Sighting& in) {
    if (std::holds_alternative<plan::Filter>(node.detail)) return of_filter(node, in);
    if (std::holds_alternative<plan::Deduplicate>(node.detail)) return of_deduplication(node, in);
    if (const auto* window = std::get_if<plan::WindowAggregate>(&node.detail))
      return of_window(node, *window, in);
    if (std::holds_alternative<plan::GroupAggregate>(node.detail))
      return plural(in.rows, "row", "rows") + " counted";
    if (const auto* write = std::get_if<plan::SinkWrite>(&node.detail))
      return plural(in.rows, "row", "rows") + " to " + write->table.name + ", writer " + write->writer;
    return "";
  }

  std::string of_filter(const plan::Node& node, const Sighting& in) const {
    const Sighting* out = out_of(node.id, Port::kMain);
    const int64_t passed = out == nullptr ? 0 : out->rows;
    if (passed == in.rows) return passed == 1 ? "passed" : "all " + std::to_string(passed) + " passed";
    return std::to_string(in.rows - passed) + " of " + plural(in.rows, "row", "rows") +
           " refused by its condition" + (node.where.empty() ? "" : " (" + node.where + ")");
  }

  std::string of_deduplication(const plan::Node& node, const Sighting& in) const {
    const Sighting* copies = out_of(node.id, Port::kDuplicate);
    const int64_t dropped = copies == nullptr ? 0 : copies->rows;
    std::string text = plural(in.rows - dropped, "row", "rows") + " first of its key";
    if (dropped > 0) text += ", " + plural(dropped, "copy", "copies") + " dropped as duplicate";
    return text + late_note(node);
  }

  std::string of_window(const plan::Node& node, const plan::WindowAggregate& window,
                        const Sighting& in) const {
    std::string text;
    const reports::OperatorBooks* books = books_of(node);
    for (const EventTime time : in.times) {
      // Where event time is just before the row's, the first window that is open is the first with the row.
      const auto first = reports::first_open(window, EventTime{time.millis - 1});
      if (!first) continue;
      const bool closed = books != nullptr && books->watermark >= first->last;
      const std::string one = "in the window from " + reports::event_text(first->start, now_) + " to " +
                              reports::event_text(EventTime{first->last.millis + 1}, now_) +
                              (closed ? ", closed" : ", open");
      if (text.find(one) == std::string::npos) text += (text.empty() ? "counted " : "; ") + one;
    }
    return (text.empty() ? "counted" : text) + late_note(node);
  }

  /// A recount calls nothing late; the job may have.
  std::string late_note(const plan::Node& node) const {
    const reports::OperatorBooks* books = books_of(node);
    const int64_t late = books == nullptr ? 0 : books->ledger[obs::Entry::kLate];
    if (late == 0) return "";
    return "; if it came too late it is one of the " + plural(late, "late row", "late rows") +
           " of the job, in " + books->name + "$late";
  }

  const Followed& followed_;
  WallTime now_;
  reports::Books books_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> followed_lines(const Followed& followed, const JobView& view, const plan::Plan& plan,
                                        WallTime now) {
  return Teller(followed, view, plan, now).tell(plan);
}

std::string followed_json(const RowChoice& row, const Followed& followed, const JobView& view,
                          const plan::Plan& plan, WallTime now) {
  nlohmann::ordered_json json;
  json["job"] = view.job;
  json["column"] = row.column;
  json["value"] = row.value;
  auto lines = followed_lines(followed, view, plan, now);
  if (followed.sightings.empty() && !lines.empty()) {
    lines.push_back("no operator has the column '" + row.column + "': the job does not use it");
  }
  json["found"] = !lines.empty();
  json["lines"] = lines;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace strand::engine
