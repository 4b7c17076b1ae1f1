#include "connect/file/partition_commit.h"

#include <re2/re2.h>

#include "base/bytes.h"
#include "connect/file/partitions.h"

namespace strand::connect::file {

namespace {

constexpr const char* kTrigger = "sink.partition-commit.trigger";
constexpr const char* kDelay = "sink.partition-commit.delay";
constexpr const char* kZone = "sink.partition-commit.watermark-time-zone";
constexpr const char* kPolicy = "sink.partition-commit.policy.kind";
constexpr const char* kSuccessFile = "sink.partition-commit.success-file.name";
constexpr const char* kExtractor = "partition.time-extractor.kind";
constexpr const char* kTimePattern = "partition.time-extractor.timestamp-pattern";
constexpr const char* kTimeFormat = "partition.time-extractor.timestamp-formatter";

Status wrong_choice(const char* key, const std::string& found, const std::string& expected) {
  return Status(ErrorCode::kBadOption,
                "expected '" + std::string(key) + "' to be " + expected + ", found '" + found + "'")
      .hint("leave it out, or write " + expected);
}

/// `metastore,success-file` is two policies; there is one that has no need of Hive or Java.
Result<std::string> success_file_of(const TableContext& table) {
  const std::string kinds = text_option(table, kPolicy);
  if (kinds.empty()) return std::string();
  if (kinds != "success-file") return wrong_choice(kPolicy, kinds, "'success-file'");
  const std::string name = text_option(table, kSuccessFile, "_SUCCESS");
  const bool hidden = name.size() > 1 && (name[0] == '_' || name[0] == '.');
  if (hidden && name.find('/') == std::string::npos) return name;
  return wrong_choice(kSuccessFile, name,
                      "a name that begins with '_' or '.', which no reader takes for rows");
}

/// Source: Flink DefaultPartTimeExtractor: `2026-2-8 10:00:00.5`, or a day alone.
std::optional<int64_t> parse_lenient(const std::string& text) {
  static const re2::RE2 kForm(
      R"((\d{4,})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?)");
  std::string year, month, day, hour, minute, second, fraction;
  if (!re2::RE2::FullMatch(text, kForm, &year, &month, &day, &hour, &minute, &second, &fraction))
    return std::nullopt;
  const auto two = [](const std::string& digits) {
    return std::string(digits.size() < 2 ? 2 - digits.size() : 0, '0') + digits;
  };
  fraction.resize(3, '0');
  const std::string whole = year + "-" + two(month) + "-" + two(day) + " " + two(hour) + ":" + two(minute) +
                            ":" + two(second) + "." + fraction;
  static const Result<expr::DatePattern> kWhole = expr::DatePattern::parse("yyyy-MM-dd HH:mm:ss.SSS");
  return kWhole->read(whole);
}

}  // namespace

Result<CommitRules> CommitRules::read(const TableContext& table) {
  CommitRules rules;
  rules.keys = table.partitions;
  STRAND_TRY(rules.success_file, success_file_of(table));
  if (!rules.success_file.empty() && rules.keys.empty()) {
    return Status(ErrorCode::kBadOption,
                  std::string("'") + kPolicy + "' is of partitions, and " + table.table + " has none")
        .hint("declare PARTITIONED BY (…), or leave the option out");
  }
  const std::string trigger = text_option(table, kTrigger, "process-time");
  if (trigger != "process-time" && trigger != "partition-time")
    return wrong_choice(kTrigger, trigger, "'process-time' or 'partition-time'");
  rules.by_partition_time = trigger == "partition-time";
  STRAND_TRY(const auto delay, duration_option(table, kDelay));
  rules.delay = delay.value_or(Duration{0});
  STRAND_TRY(rules.zone, expr::Zone::load(text_option(table, kZone, "UTC")));
  const std::string extractor = text_option(table, kExtractor, "default");
  if (extractor != "default") return wrong_choice(kExtractor, extractor, "'default'");
  rules.time_pattern = text_option(table, kTimePattern);
  const std::string format = text_option(table, kTimeFormat);
  if (!format.empty()) {
    auto parsed = expr::DatePattern::parse(format);
    if (!parsed.ok()) return wrong_choice(kTimeFormat, format, "a pattern such as 'yyyy-MM-dd HH:mm:ss'");
    rules.time_format = *std::move(parsed);
  }
  return rules;
}

Result<EventTime> CommitRules::time_of(const std::string& partition) const {
  const auto values = partition_values(partition + "/", keys);
  if (!values) {
    return Status(ErrorCode::kBadValue,
                  "partition " + partition + " is none of this table's, whose columns are others")
        .hint("its rows are written; tell those who wait for it yourself");
  }
  std::string text = time_pattern.empty() ? values->front() : time_pattern;
  if (!time_pattern.empty()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const std::string name = "$" + keys[i];
      for (size_t at = text.find(name); at != std::string::npos;
           at = text.find(name, at + (*values)[i].size()))
        text.replace(at, name.size(), (*values)[i]);
    }
  }
  const std::optional<int64_t> local = time_format ? time_format->read(text) : parse_lenient(text);
  if (local) return EventTime{zone.utc_of(*local)};
  return Status(ErrorCode::kBadValue, "partition " + partition + " has no time: '" + text + "'")
      .hint(std::string("say how to read it with '") + kTimePattern + "' = '$day $hour:00:00' and '" +
            kTimeFormat + "', or use the trigger 'process-time'");
}

void PartitionCommits::add(const std::string& partition, WallTime now) {
  if (!active() || pending_.contains(partition)) return;
  Pending pending{now};
  if (rules_.by_partition_time) {
    const Result<EventTime> time = rules_.time_of(partition);
    pending.time = time.ok() ? *time : EventTime::max();
  }
  pending_[partition] = pending;
}

std::vector<std::string> PartitionCommits::take_due(Epoch epoch, WallTime now) {
  const auto known = watermarks_.find(epoch);
  const EventTime watermark = known == watermarks_.end() ? EventTime::min() : known->second;
  watermarks_.erase(watermarks_.begin(), watermarks_.upper_bound(epoch));
  std::vector<std::string> due;
  for (auto at = pending_.begin(); at != pending_.end();) {
    const Pending& pending = at->second;
    const bool by_clock = rules_.delay.millis == 0 || now.millis > pending.since.millis + rules_.delay.millis;
    const bool by_time = watermark.millis > pending.time.millis &&
                         watermark.millis - rules_.delay.millis > pending.time.millis;
    if (!ended() && !(rules_.by_partition_time ? by_time : by_clock)) {
      ++at;
      continue;
    }
    due.push_back(at->first);
    telling_[epoch].emplace_back(at->first, pending.since);
    at = pending_.erase(at);
  }
  return due;
}

void PartitionCommits::told(Epoch epoch) { telling_.erase(telling_.begin(), telling_.upper_bound(epoch)); }

std::string PartitionCommits::encode() const {
  std::map<std::string, WallTime> all;
  for (const auto& [epoch, partitions] : telling_) all.insert(partitions.begin(), partitions.end());
  for (const auto& [partition, pending] : pending_) all.emplace(partition, pending.since);
  if (all.empty()) return {};
  ByteWriter out;
  out.put(static_cast<uint32_t>(all.size()));
  for (const auto& [partition, since] : all) {
    out.put(since.millis);
    out.put_string(partition);
  }
  return out.take();
}

Status PartitionCommits::restore(std::string_view bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const uint32_t count, in.get<uint32_t>());
  for (uint32_t i = 0; i < count; ++i) {
    STRAND_TRY(const int64_t since, in.get<int64_t>());
    STRAND_TRY(const std::string_view partition, in.get_string());
    add(std::string(partition), WallTime{since});
  }
  return Status();
}

}  // namespace strand::connect::file
