#include "engine/describe.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace strand::engine {

namespace {

constexpr size_t kLabelWidth = 13;

void add_if(obs::Event& event, const std::string& key, const std::string& value) {
  if (!value.empty()) event.with(key, value);
}

obs::Event describe(const plan::Scan& scan, WallTime now) {
  obs::Event event{obs::Level::kInfo, 0, "source", now, {}};
  event.with("table", scan.table.name).with("connector", scan.table.option("connector"));
  add_if(event, "path", scan.table.option("path"));
  add_if(event, "topic", scan.table.option("topic"));
  add_if(event, "format", scan.table.option("format"));
  if (!scan.watermark) return std::move(event.with("event_time", "none"));
  if (scan.watermark->trail) event.with("bound", format_duration(*scan.watermark->trail));
  event.with("idle_after",
             scan.watermark->idle_timeout ? format_duration(*scan.watermark->idle_timeout) : "never");
  return event;
}

/// Writers of one table stand in one line.
struct Written {
  const plan::SinkWrite* first = nullptr;
  std::vector<std::string> writers;
  bool provisional = true;
};

std::string writer_text(const plan::SinkWrite& write) {
  std::string columns;
  const auto& key = write.table.primary_key;
  for (const std::string& column : write.columns) {
    if (std::find(key.begin(), key.end(), column) != key.end()) continue;
    columns += (columns.empty() ? "" : ", ") + column;
  }
  return write.writer + " (" + columns + ")";
}

obs::Event describe(const Written& written, WallTime now) {
  const plan::TableSpec& table = written.first->table;
  obs::Event event{obs::Level::kInfo, 0, "sink", now, {}};
  event.with("table", table.name).with("connector", table.option("connector"));
  add_if(event, "path", table.option("path"));
  add_if(event, "topic", table.option("topic"));
  add_if(event, "mode", table.option("sink.mode", table.option("sink.delivery-guarantee")));
  std::string writers;
  for (const std::string& writer : written.writers) writers += (writers.empty() ? "" : ", ") + writer;
  event.with("writers", writers);
  if (written.provisional) event.with("provisional", "true");
  return event;
}

std::string labelled(const std::string& label, const std::string& text) {
  return label + std::string(std::max(kLabelWidth, label.size() + 1) - label.size(), ' ') + text;
}

std::string field(const obs::Event& event, std::string_view key) { return std::string(event.field(key)); }

std::string source_line(const obs::Event& event) {
  std::string text = field(event, "table") + ": " + field(event, "connector");
  for (const char* key : {"path", "topic", "format"}) {
    if (!event.field(key).empty()) text += (key[0] == 'f' ? ", " : " ") + field(event, key);
  }
  if (!event.field("event_time").empty()) return text + "; no event time";
  if (!event.field("bound").empty()) text += "; bound " + field(event, "bound");
  const std::string idle = field(event, "idle_after");
  return text + (idle == "never" ? "; no idle timeout" : ", idle after " + idle);
}

std::string sink_line(const obs::Event& event) {
  std::string text = field(event, "table") + ": " + field(event, "connector");
  for (const char* key : {"path", "topic"}) {
    if (!event.field(key).empty()) text += " " + field(event, key);
  }
  if (!event.field("mode").empty()) text += ", mode " + field(event, "mode");
  return text + (event.field("provisional").empty() ? "; writers " + field(event, "writers")
                                                    : "; provisional " + field(event, "writers"));
}

std::string start_line(const obs::Event& event) {
  const std::string text =
      "generation " + field(event, "generation") + ", attempt " + field(event, "attempt");
  if (event.field("epoch").empty()) return text + "; starts anew, state in " + field(event, "folder");
  const std::string replays = field(event, "replays");
  return text + "; goes on from " + field(event, "kind") + " " + field(event, "epoch") + " (" +
         field(event, "taken") + ") in " + field(event, "folder") +
         (replays.empty() || replays == "0" ? "" : "; reads at least " + replays + " records again");
}

std::string timed(const obs::Event& event, const std::string& text) {
  const std::string time = format_utc_time(event.at.millis);
  return labelled(time.substr(0, time.size() - 2), text);
}

std::string code_text(const obs::Event& event) {
  return event.code == 0 ? "" : "STRAND-" + std::to_string(event.code) + " ";
}

/// `per_minute closed 10:13: 1 row of 6`
std::string window_line(const obs::Event& event) {
  std::string start = field(event, "window");
  if (start.ends_with(":00.000")) start.resize(start.size() - 7);
  return field(event, "view") + " closed " + start + ": " + field(event, "rows") +
         (field(event, "rows") == "1" ? " row of " : " rows of ") + field(event, "input");
}

std::string any_line(const obs::Event& event) {
  std::string text = code_text(event) + event.name;
  for (const auto& [key, value] : event.fields) text += " " + key + "=" + value;
  return timed(event, text);
}

}  // namespace

std::vector<obs::Event> describe_tables(const plan::Plan& plan, WallTime now) {
  std::vector<obs::Event> out;
  std::vector<std::string> order;
  std::map<std::string, Written> tables;
  for (const plan::NodePtr& node : plan.nodes()) {
    if (const auto* scan = std::get_if<plan::Scan>(&node->detail)) out.push_back(describe(*scan, now));
    const auto* write = std::get_if<plan::SinkWrite>(&node->detail);
    if (write == nullptr) continue;
    Written& written = tables[write->table.name];
    if (written.first == nullptr) order.push_back(write->table.name);
    if (written.first == nullptr) written.first = write;
    written.writers.push_back(writer_text(*write));
    written.provisional = written.provisional && write->provisional;
  }
  for (const std::string& name : order) out.push_back(describe(tables[name], now));
  return out;
}

obs::Event describe_start(const runtime::RestoreReport& report, const std::string& folder) {
  obs::Event event{obs::Level::kInfo, 0, "started", report.at, {}};
  event.with("generation", report.generation.value).with("attempt", report.attempt.value);
  if (report.snapshot) {
    event.with("kind", std::string(checkpoint::kind_name(report.snapshot->kind)));
    event.with("epoch", report.snapshot->epoch.value);
    event.with("taken", format_utc(report.snapshot->taken.millis));
  }
  return std::move(event.with("folder", folder));
}

obs::Event describe_drained(WallTime now) {
  obs::Event event{obs::Level::kInfo, 0, "note", now, {}};
  return std::move(event.with("message",
                              "the input had ended in that snapshot: what was read is not read again, closed "
                              "windows stay closed; --from none starts anew"));
}

obs::Event describe_warning(const Status& warning, WallTime now) {
  obs::Event event{obs::Level::kWarn, static_cast<int>(warning.code()), "warning", now, {}};
  add_if(event, "where", warning.where());
  event.with("message", warning.message());
  add_if(event, "hint", warning.hint());
  return event;
}

std::string terminal_line(const obs::Event& event, const std::string& job) {
  if (event.name == "started") return labelled(job, start_line(event));
  if (event.name == "source") return labelled("read", source_line(event));
  if (event.name == "sink") return labelled("write", sink_line(event));
  if (event.name == "dashboard")
    return labelled("dashboard", "http://" + field(event, "address") + field(event, "note"));
  if (event.name == "warning") {
    std::string text = code_text(event) + field(event, "where");
    text += (event.field("where").empty() ? "" : ": ") + field(event, "message");
    if (!event.field("hint").empty()) text += "\n" + labelled("", field(event, "hint"));
    return labelled("warning", text);
  }
  if (event.name == "note") return labelled("note", field(event, "message"));
  if (event.name == "progress") return timed(event, field(event, "message"));
  if (event.name == "status") return "";
  if (event.name == "checkpoint" && event.field("kind") == "checkpoint") return "";
  if (event.name == "checkpoint")
    return timed(event, code_text(event) + field(event, "kind") + " " + field(event, "id") + " " +
                            field(event, "state") + " " + field(event, "reason"));
  if (event.name == "window_closed") {
    return timed(event, window_line(event));
  }
  if (event.name == "shard_idle") {
    const std::string last = field(event, "last_read");
    return timed(event,
                 field(event, "shard") + " idle: nothing read" + (last.empty() ? " yet" : " since " + last));
  }
  if (event.name == "shard_active") return timed(event, field(event, "shard") + " speaks again");
  return any_line(event);
}

}  // namespace strand::engine
