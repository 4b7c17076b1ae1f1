#include "sql/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "expr/zone.h"
#include "sql/inert_settings.h"

namespace strand::sql {

namespace {

using enum SettingType;

constexpr std::array kSettings = {
    SettingSpec{"execution.checkpointing.aligned-checkpoint-timeout", kDuration, "0 s", "",
                "how long unaligned checkpoints are aligned before barriers overtake rows"},
    SettingSpec{"execution.checkpointing.dir", kText, "", "", "where checkpoints are kept"},
    SettingSpec{"execution.checkpointing.incremental", kBoolean, "true", "",
                "accepted: snapshots always share unchanged files"},
    SettingSpec{"execution.checkpointing.interval", kDuration, "10 s", "",
                "time between two checkpoints; 0: none"},
    SettingSpec{"execution.checkpointing.max-concurrent-checkpoints", kInteger, "1", "",
                "accepted: one checkpoint at a time", 1},
    SettingSpec{"execution.checkpointing.min-pause", kDuration, "0 s", "",
                "time from the end of a checkpoint to the next"},
    SettingSpec{"execution.checkpointing.mode", kChoice, "EXACTLY_ONCE", "EXACTLY_ONCE|AT_LEAST_ONCE",
                "AT_LEAST_ONCE: operators read on while barriers are under way, and may count rows again "
                "after a restart"},
    SettingSpec{"execution.checkpointing.num-retained", kInteger, "3", "",
                "complete checkpoints that are kept", 1},
    SettingSpec{"execution.checkpointing.savepoint-dir", kText, "", "", "where savepoints are kept"},
    SettingSpec{"execution.checkpointing.timeout", kDuration, "10 min", "",
                "a checkpoint that takes longer is given up"},
    SettingSpec{"execution.checkpointing.tolerable-failed-checkpoints", kInteger, "3", "",
                "failures in a row before a restart"},
    SettingSpec{"execution.checkpointing.unaligned.enabled", kBoolean, "false", "",
                "barriers overtake rows, which are part of the checkpoint; not at least once, and not those "
                "of savepoints"},
    SettingSpec{"execution.checkpointing.unaligned.forced", kBoolean, "false", "",
                "accepted: barriers overtake wherever rows can be put back"},
    SettingSpec{"execution.runtime-mode", kChoice, "STREAMING", "STREAMING|BATCH",
                "BATCH: bounded input, nothing late"},
    SettingSpec{"execution.state-recovery.path", kText, "", "", "the snapshot to start from"},
    SettingSpec{"parallelism.default", kInteger, "", "", "subtasks of each operator; all cores if not set",
                1},
    SettingSpec{"pipeline.auto-watermark-interval", kDuration, "200 ms", "",
                "time between two watermarks; 0: behind each row"},
    SettingSpec{
        "pipeline.max-parallelism", kInteger, "", "",
        "key groups: the most subtasks the job can ever have; that of its state, else 128, or room for half "
        "as many subtasks again, if not set",
        1},
    SettingSpec{"pipeline.name", kText, "", "", "the job's name; the file's name if not set"},
    SettingSpec{"restart-strategy.exponential-delay.attempts-before-reset-backoff", kInteger, "", "",
                "restarts before the job fails", 1},
    SettingSpec{"restart-strategy.exponential-delay.backoff-multiplier", kNumber, "2", "",
                "growth of the wait", 1},
    SettingSpec{"restart-strategy.exponential-delay.initial-backoff", kDuration, "1 s", "",
                "wait before the first restart"},
    SettingSpec{"restart-strategy.exponential-delay.jitter-factor", kNumber, "0.1", "",
                "random part of the wait"},
    SettingSpec{"restart-strategy.exponential-delay.max-backoff", kDuration, "1 min", "", "longest wait"},
    SettingSpec{"restart-strategy.exponential-delay.reset-backoff-threshold", kDuration, "1 h", "",
                "quiet time after which the wait starts small again"},
    SettingSpec{"restart-strategy.fixed-delay.attempts", kInteger, "1", "", "restarts before the job fails"},
    SettingSpec{"restart-strategy.fixed-delay.delay", kDuration, "1 s", "", "wait before a restart"},
    SettingSpec{"restart-strategy.type", kChoice, "exponential-delay",
                "none|off|disable|fixed-delay|fixeddelay|exponential-delay|exponentialdelay",
                "what happens after a failure"},
    SettingSpec{"state.backend.rocksdb.localdir", kText, "", "",
                "where state lies on the local disk; a folder of the job if not set"},
    SettingSpec{"state.backend.type", kChoice, "hashmap", "hashmap|rocksdb",
                "where keyed state lives: in memory, or what has no room there on the local disk"},
    SettingSpec{
        "strand.compat.flink-restore", kBoolean, "false", "",
        "windows and functions of the C++ API forget at a restore how far event time had come, as in Flink"},
    SettingSpec{"strand.future-skew.max", kDuration, "10 min", "",
                "an event time further ahead of the wall clock does not move the watermark"},
    SettingSpec{"strand.input-retention", kDuration, "0 s", "",
                "how long records can be read again, for check: guards must be longer; 0: not known"},
    SettingSpec{"strand.lag.for", kDuration, "5 min", "",
                "how long event time may be further behind than strand.lag.max"},
    SettingSpec{"strand.lag.max", kDuration, "0 s", "",
                "a warning comes when event time is further behind the wall clock; 0: never"},
    SettingSpec{"strand.local-disk.limit", kMemory, "", "", "the most that state on the local disk may take"},
    SettingSpec{"strand.memory.limit", kMemory, "", "",
                "memory for state, queues and batches; three quarters of the machine's if not set"},
    SettingSpec{"strand.no-progress.after", kDuration, "30 s", "",
                "a warning says who holds event time when it has stood still for so long; 0: never"},
    SettingSpec{"strand.state.drop", kText, "", "",
                "ids of operators, with commas between, whose state may be dropped because the job has them "
                "no longer"},
    SettingSpec{"table.dml-sync", kBoolean, "false", "", "accepted: all INSERTs of a file are one job"},
    SettingSpec{"table.exec.emit.allow-lateness", kDuration, "", "",
                "how long rows of a closed GROUP BY TUMBLE(…) or HOP still count"},
    SettingSpec{"table.exec.emit.early-fire.delay", kDuration, "", "",
                "time between two firings of V$early (1 s if not set) and of an open GROUP BY TUMBLE(…) or "
                "HOP (each row)"},
    SettingSpec{"table.exec.emit.early-fire.enabled", kBoolean, "false", "",
                "totals of GROUP BY TUMBLE(…) and HOP while the window is open; V$early asks for it by name"},
    SettingSpec{"table.exec.emit.late-fire.delay", kDuration, "", "",
                "time between two firings of a closed window; each row if not set"},
    SettingSpec{"table.exec.emit.late-fire.enabled", kBoolean, "false", "",
                "totals of GROUP BY TUMBLE(…) and HOP behind the window's end, within allow-lateness"},
    SettingSpec{"table.exec.legacy-cast-behaviour", kChoice, "DISABLED", "DISABLED|ENABLED",
                "ENABLED is refused: CAST follows the standard, TRY_CAST gives NULL"},
    SettingSpec{"table.exec.mini-batch.allow-latency", kDuration, "0 s", "", "longest wait of a partial sum"},
    SettingSpec{"table.exec.mini-batch.enabled", kBoolean, "false", "",
                "partial sums may wait for more rows"},
    SettingSpec{"table.exec.mini-batch.size", kInteger, "-1", "", "accepted: a batch of rows bounds it", -1},
    SettingSpec{"table.exec.resource.default-parallelism", kInteger, "-1", "",
                "subtasks of each operator; wins over parallelism.default", -1},
    SettingSpec{"table.exec.sink.not-null-enforcer", kChoice, "ERROR", "ERROR|DROP",
                "what a NULL in a NOT NULL column does: fail the job, or leave the row out"},
    SettingSpec{
        "table.exec.sink.require-on-conflict", kBoolean, "true", "",
        "false: rows that replace each other by another key than the table's are made to fit it unasked"},
    SettingSpec{"table.exec.sink.upsert-materialize", kChoice, "AUTO", "AUTO|NONE|FORCE",
                "NONE: such rows are written as they come; FORCE: all updated rows are made to fit the key"},
    SettingSpec{"table.exec.source.idle-timeout", kDuration, "0 s", "",
                "a shard silent for so long is not waited for; 0: always waited for"},
    SettingSpec{"table.exec.state.ttl", kDuration, "0 s", "",
                "wall clock after which the first or newest row of a key (without retention), groups, "
                "rows of joins and Top-N and keys of OVER are "
                "forgotten; 0: never. STATE_TTL says it for one table"},
    SettingSpec{"table.local-time-zone", kZone, "UTC", "",
                "the zone of TIMESTAMP values and of windows over TIMESTAMP_LTZ"},
    SettingSpec{"table.optimizer.agg-phase-strategy", kChoice, "AUTO", "AUTO|ONE_PHASE|TWO_PHASE",
                "whether partial sums are made before the exchange by key"},
    SettingSpec{"table.sql-dialect", kChoice, "default", "default|hive", "hive is refused: SQL is Flink's"},
};

constexpr std::array kRenamed = {
    std::pair<std::string_view, std::string_view>{"execution.checkpointing.unaligned",
                                                  "execution.checkpointing.unaligned.enabled"},
    std::pair<std::string_view, std::string_view>{"execution.savepoint.path",
                                                  "execution.state-recovery.path"},
    std::pair<std::string_view, std::string_view>{"restart-strategy", "restart-strategy.type"},
    std::pair<std::string_view, std::string_view>{"state.backend", "state.backend.type"},
    std::pair<std::string_view, std::string_view>{"state.backend.incremental",
                                                  "execution.checkpointing.incremental"},
    std::pair<std::string_view, std::string_view>{"state.checkpoints.dir", "execution.checkpointing.dir"},
    std::pair<std::string_view, std::string_view>{"state.checkpoints.num-retained",
                                                  "execution.checkpointing.num-retained"},
    std::pair<std::string_view, std::string_view>{"state.savepoints.dir",
                                                  "execution.checkpointing.savepoint-dir"},
};

/// Other values than the default change nothing, and no answer depends on it.
struct Inert {
  std::string_view key;
  std::string_view instead;
};
constexpr std::array kInert = {
    Inert{"execution.checkpointing.incremental", "snapshots always share the files that did not change"},
    Inert{"execution.checkpointing.max-concurrent-checkpoints", "one checkpoint is made at a time"},
    Inert{"execution.checkpointing.unaligned.forced", "barriers overtake wherever rows can be put back"},
    Inert{"table.exec.mini-batch.size",
          "a partial sum waits for table.exec.mini-batch.allow-latency at most"},
};

/// Values of Flink that are refused, because the job would not be what it says.
struct Refused {
  std::string_view key;
  std::string_view value;
  std::string_view why;
  std::string_view way_out;
};
constexpr std::array kRefused = {
    Refused{"execution.runtime-mode", "AUTOMATIC", "whether rows can be late must not depend on the input",
            "say 'BATCH' for input that ends and nothing late, or 'STREAMING'"},
    Refused{"table.exec.legacy-cast-behaviour", "ENABLED", "casts that fail would give NULL",
            "write TRY_CAST where NULL is wanted"},
    Refused{"table.sql-dialect", "hive", "only Flink's SQL is read here", "write the job in Flink's SQL"},
};

/// Values under another name.
struct RenamedValue {
  std::string_view key;
  std::string_view old;
  std::string_view now;
};
constexpr std::array kRenamedValues = {
    RenamedValue{"state.backend.type", "filesystem", "hashmap"},
    RenamedValue{"state.backend.type", "jobmanager", "hashmap"},
    RenamedValue{"state.backend.type", "memory", "hashmap"},
    RenamedValue{"state.backend.type", "forst", "rocksdb"},
};

Status bad_value(const std::string& key, const std::string& value, const std::string& expected) {
  const SettingSpec* spec = find_setting(current_key(key));
  const std::string fallback = spec == nullptr ? std::string() : std::string(spec->fallback);
  return Status(ErrorCode::kBadOption, "'" + key + "' expects " + expected + ", found '" + value + "'")
      .hint(fallback.empty() ? "leave it out for the default"
                             : "leave it out for the default, '" + fallback + "'");
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// The choice as it stands in the list; case does not matter.
std::optional<std::string_view> find_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const size_t bar = std::min(choices.find('|'), choices.size());
    if (same_word(choices.substr(0, bar), value)) return choices.substr(0, bar);
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return std::nullopt;
}

bool is_memory(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  std::string_view unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  static constexpr std::array kByteUnits = {"", "b", "kb", "k", "mb", "m", "gb", "g", "tb", "t", "bytes"};
  return digits > 0 && digits < 19 &&
         std::find(kByteUnits.begin(), kByteUnits.end(), unit) != kByteUnits.end();
}

Status zone_status(const std::string& name) {
  Result<expr::Zone> zone = expr::Zone::load(name);
  return zone.ok() ? Status() : std::move(zone).status();
}

Status check_value(const SettingSpec& spec, const std::string& key, const std::string& value) {
  switch (spec.type) {
    case kText:
      return value.empty() ? bad_value(key, value, "a text that is not empty") : Status();
    case kZone:
      if (value.empty()) return bad_value(key, value, "a time zone such as 'UTC' or 'Europe/Berlin'");
      return zone_status(value);
    case kDuration:
      return parse_duration(value).ok() ? Status() : bad_value(key, value, "a duration such as '30 s'");
    case kInteger: {
      const auto number = parse_number<int64_t>(value);
      if (number && *number >= spec.lowest) return Status();
      return bad_value(key, value, "a whole number from " + std::to_string(spec.lowest) + " on");
    }
    case kNumber: {
      const auto number = parse_number<double>(value);
      if (number && *number >= static_cast<double>(spec.lowest)) return Status();
      return bad_value(key, value, "a number from " + std::to_string(spec.lowest) + " on");
    }
    case kBoolean:
      return value == "true" || value == "false" ? Status() : bad_value(key, value, "'true' or 'false'");
    case kMemory:
      return is_memory(value) ? Status() : bad_value(key, value, "an amount of memory such as '512 mb'");
    case kChoice: {
      for (const Refused& each : kRefused) {
        if (each.key != spec.key || each.value != value) continue;
        return Status(ErrorCode::kBadOption,
                      "'" + key + "' cannot be '" + value + "': " + std::string(each.why))
            .hint(std::string(each.way_out));
      }
      if (find_choice(spec.choices, value)) return Status();
      std::string list(spec.choices);
      for (size_t bar = list.find('|'); bar != std::string::npos; bar = list.find('|', bar))
        list.replace(bar, 1, ", ");
      return bad_value(key, value, "one of " + list);
    }
  }
  return Status();
}

}  // namespace

std::span<const SettingSpec> all_settings() { return kSettings; }

const SettingSpec* find_setting(std::string_view key) {
  for (const SettingSpec& spec : kSettings) {
    if (spec.key == key) return &spec;
  }
  return nullptr;
}

std::string current_key(std::string_view key) {
  for (const auto& [old, now] : kRenamed) {
    if (old == key) return std::string(now);
  }
  return std::string(key);
}

std::string current_value(std::string_view key, const std::string& value) {
  const std::string now = current_key(key);
  const SettingSpec* spec = find_setting(now);
  if (spec == nullptr) return value;
  for (const RenamedValue& each : kRenamedValues) {
    if (each.key == now && same_word(each.old, value)) return std::string(each.now);
  }
  const std::string_view choices = spec->type == kBoolean ? "true|false" : spec->choices;
  return std::string(find_choice(choices, value).value_or(value));
}

Status check_setting(const std::string& key, const std::string& written, Status& warning) {
  const std::string now = current_key(key);
  const std::string value = current_value(key, written);
  if (const SettingSpec* spec = find_setting(now)) {
    STRAND_OK(check_value(*spec, key, value));
    const auto inert =
        std::find_if(kInert.begin(), kInert.end(), [&](const Inert& i) { return i.key == now; });
    if (inert != kInert.end() && value != spec->fallback) {
      warning = Status(ErrorCode::kNoEffect, "'" + key + "' = '" + value + "' changes nothing here")
                    .hint(std::string(inert->instead));
    }
    return Status();
  }
  if (const auto why = why_inert(key)) {
    warning = Status(ErrorCode::kNoEffect, "'" + key + "' = '" + value + "' changes nothing here")
                  .hint(std::string(*why));
    return Status();
  }
  std::vector<std::string_view> keys(inert_keys().begin(), inert_keys().end());
  for (const SettingSpec& each : kSettings) keys.push_back(each.key);
  const auto near = nearest(key, keys);
  const std::string way_out =
      near ? "did you mean '" + *near + "'?" : "docs/sql/settings.md lists all settings";
  if (key.starts_with("table.")) {
    warning = Status(ErrorCode::kUnknownOption, "setting '" + key + "' has no effect here").hint(way_out);
    return Status();
  }
  return Status(ErrorCode::kUnknownOption, "setting '" + key + "' is not known").hint(way_out);
}

}  // namespace strand::sql
