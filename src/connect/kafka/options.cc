#include "connect/kafka/options.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

namespace strand::connect::kafka {

namespace {

constexpr Duration kDiscoveryDefault{300'000};
constexpr std::string_view kProperties = "properties.";

Status bad(std::string message, std::string hint) {
  return Status(ErrorCode::kBadOption, std::move(message)).hint(std::move(hint));
}

const std::string* find(const TableContext& table, const std::string& key) {
  const auto found = table.options.find(key);
  return found == table.options.end() ? nullptr : &found->second;
}

/// The value that the option's text names.
template <class Value>
Result<Value> choice(const TableContext& table, const std::string& key, Value otherwise,
                     const std::vector<std::pair<std::string, Value>>& values) {
  const std::string* text = find(table, key);
  if (text == nullptr) return otherwise;
  std::string wanted;
  for (const auto& [name, value] : values) {
    if (name == *text) return value;
    wanted += (wanted.empty() ? "'" : ", '") + name + "'";
  }
  return bad("expected '" + key + "' to be one of " + wanted + ", found '" + *text + "'",
             "leave it out for the default");
}

Result<int64_t> whole_number(const std::string& key, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return bad("expected a number in '" + key + "', found '" + std::string(text) + "'", "write digits only");
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find(at), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// `partition:0,offset:42;partition:1,offset:300`
Result<Offsets> specific_offsets(const TableContext& table, const std::string& key) {
  const std::string* text = find(table, key);
  if (text == nullptr) {
    return bad("mode specific-offsets needs '" + key + "'",
               "add '" + key + "' = 'partition:0,offset:42;partition:1,offset:300'");
  }
  Offsets offsets;
  for (const std::string& pair : split(*text, ';')) {
    int32_t partition = 0;
    int64_t offset = 0;
    if (!re2::RE2::FullMatch(pair, R"(partition:(\d+),\s*offset:(\d+))", &partition, &offset)) {
      return bad("expected 'partition:0,offset:42;…' in '" + key + "', found '" + pair + "'",
                 "one pair for each partition");
    }
    offsets[partition] = offset;
  }
  return offsets;
}

Result<int64_t> instant(const TableContext& table, const std::string& key) {
  const std::string* text = find(table, key);
  if (text != nullptr) return whole_number(key, *text);
  return bad("mode timestamp needs '" + key + "'", "add '" + key + "' = '1704103200000', in milliseconds");
}

Status read_topics(const TableContext& table, Side side, KafkaOptions& options) {
  const std::string* topic = find(table, "topic");
  const std::string* pattern = find(table, "topic-pattern");
  if (topic != nullptr) options.topics = split(*topic, ';');
  if (pattern != nullptr) options.topic_pattern = *pattern;
  if (options.topics.empty() == options.topic_pattern.empty()) {
    return bad(options.topics.empty() ? "table " + table.table + " names no topic"
                                      : "'topic' and 'topic-pattern' are both given",
               "add 'topic' = 'NAME', or several as 'A;B'");
  }
  if (pattern != nullptr) {
    const re2::RE2 parsed(*pattern, re2::RE2::Quiet);
    if (!parsed.ok()) return bad("'topic-pattern' is no regular expression: " + parsed.error(), "correct it");
  }
  if (side == Side::kSink && options.topics.size() != 1)
    return bad("rows are written to one topic, and the table names another number", "give 'topic' = 'NAME'");
  return Status();
}

/// Java's way to give a name and a password, in librdkafka's.
void translate_login(Properties& properties) {
  const auto config = properties.find("sasl.jaas.config");
  if (config == properties.end()) return;
  std::string value;
  if (re2::RE2::PartialMatch(config->second, R"re(username="([^"]*)")re", &value))
    properties["sasl.username"] = value;
  if (re2::RE2::PartialMatch(config->second, R"re(password="([^"]*)")re", &value))
    properties["sasl.password"] = value;
  properties.erase(config);
}

Status read_properties(const TableContext& table, KafkaOptions& options) {
  for (const auto& [key, value] : table.options) {
    if (key.starts_with(kProperties)) options.properties[key.substr(kProperties.size())] = value;
  }
  if (!options.properties.contains("bootstrap.servers")) {
    return bad("table " + table.table + " names no broker",
               "add 'properties.bootstrap.servers' = 'HOST:9092'");
  }
  translate_login(options.properties);
  const std::string key = "properties.auto.offset.reset";
  STRAND_TRY(options.lost, choice<LostPosition>(table, key, LostPosition::kFail,
                                                {{"none", LostPosition::kFail},
                                                 {"earliest", LostPosition::kEarliest},
                                                 {"latest", LostPosition::kLatest}}));
  options.properties.erase("auto.offset.reset");
  STRAND_TRY(options.commit_offsets, choice<bool>(table, "properties.commit.offsets.on.checkpoint", true,
                                                  {{"true", true}, {"false", false}}));
  options.properties.erase("commit.offsets.on.checkpoint");
  options.properties.erase("partition.discovery.interval.ms");
  return check_properties(options.properties);
}

/// The newest value of each key is known only to who reads them all: upsert-kafka begins with the first
/// record.
Status read_start(const TableContext& table, KafkaOptions& options) {
  options.start = StartMode::kEarliest;
  if (options.upsert) return Status();
  STRAND_TRY(options.start, choice<StartMode>(table, "scan.startup.mode", StartMode::kGroup,
                                              {{"earliest-offset", StartMode::kEarliest},
                                               {"latest-offset", StartMode::kLatest},
                                               {"group-offsets", StartMode::kGroup},
                                               {"timestamp", StartMode::kTimestamp},
                                               {"specific-offsets", StartMode::kSpecific}}));
  if (options.start == StartMode::kSpecific) {
    STRAND_TRY(options.start_offsets, specific_offsets(table, "scan.startup.specific-offsets"));
  }
  if (options.start == StartMode::kTimestamp) {
    STRAND_TRY(options.start_millis, instant(table, "scan.startup.timestamp-millis"));
  }
  if (options.start == StartMode::kGroup && !options.has_group()) {
    return bad("'scan.startup.mode' = 'group-offsets', the default, needs a group",
               "set 'scan.startup.mode' = 'earliest-offset', or 'properties.group.id'");
  }
  return Status();
}

Status read_stop(const TableContext& table, KafkaOptions& options) {
  STRAND_TRY(options.stop, choice<StopMode>(table, "scan.bounded.mode", StopMode::kNever,
                                            {{"unbounded", StopMode::kNever},
                                             {"latest-offset", StopMode::kLatest},
                                             {"group-offsets", StopMode::kGroup},
                                             {"timestamp", StopMode::kTimestamp},
                                             {"specific-offsets", StopMode::kSpecific}}));
  if (options.stop == StopMode::kSpecific) {
    STRAND_TRY(options.stop_offsets, specific_offsets(table, "scan.bounded.specific-offsets"));
  }
  if (options.stop == StopMode::kTimestamp) {
    STRAND_TRY(options.stop_millis, instant(table, "scan.bounded.timestamp-millis"));
  }
  if (options.stop == StopMode::kGroup && !options.has_group())
    return bad("'scan.bounded.mode' = 'group-offsets' needs a group", "set 'properties.group.id'");
  STRAND_TRY(const auto interval, duration_option(table, "scan.topic-partition-discovery.interval"));
  options.discovery = interval.value_or(kDiscoveryDefault);
  if (options.bounded() || options.discovery->millis <= 0) options.discovery.reset();
  return Status();
}

/// `PREFIX.format` with the options behind it, or `format` where there is none.
PartFormat part_format(const TableContext& table, const std::string& prefix) {
  PartFormat part;
  if (const std::string* name = find(table, prefix + "format")) part.name = *name;
  for (const auto& [key, value] : table.options) {
    if (key.starts_with(prefix)) part.options[key.substr(prefix.size())] = value;
  }
  return part;
}

Status check_key_fields(const TableContext& table, const KafkaOptions& options) {
  for (const std::string& name : options.key_fields) {
    if (!table.table_schema->find(name))
      return Status(ErrorCode::kUnknownColumn, "'key.fields' names " + name + ", which is no column")
          .hint("name columns of the table, as 'a;b'");
    if (!name.starts_with(options.key_prefix))
      return bad("column " + name + " of the key does not begin with '" + options.key_prefix + "'",
                 "rename it, or remove 'key.fields-prefix'");
  }
  if (!options.key_prefix.empty() && options.key_in_value)
    return bad("'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY'", "add it");
  return Status();
}

Status read_formats(const TableContext& table, KafkaOptions& options) {
  options.value = part_format(table, "value.");
  if (options.value.name.empty()) options.value = part_format(table, "");
  if (options.value.name.empty())
    return bad("table " + table.table + " has no 'format'", "add 'format' = 'json'");
  options.key = part_format(table, "key.");
  if (const std::string* prefix = find(table, "key.fields-prefix")) options.key_prefix = *prefix;
  STRAND_TRY(options.key_in_value,
             choice<bool>(table, "value.fields-include", true, {{"ALL", true}, {"EXCEPT_KEY", false}}));
  if (options.upsert) {
    if (table.primary_key.empty())
      return bad("rows of upsert-kafka are told apart by their key, and the table has no PRIMARY KEY",
                 "declare PRIMARY KEY (...) NOT ENFORCED");
    options.key_fields = table.primary_key;
  } else if (const std::string* fields = find(table, "key.fields")) {
    options.key_fields = split(*fields, ';');
  }
  if (options.key.name.empty() != options.key_fields.empty())
    return bad(options.key.name.empty() ? "the key of a record needs a format" : "'key.format' needs columns",
               options.key.name.empty() ? "add 'key.format' = 'json'" : "add 'key.fields' = 'a;b'");
  const auto ignore = options.value.options.find(options.value.name + ".ignore-parse-errors");
  options.ignore_bad = ignore != options.value.options.end() && ignore->second == "true";
  return check_key_fields(table, options);
}

Status read_sink(const TableContext& table, KafkaOptions& options) {
  STRAND_TRY(options.guarantee, choice<Guarantee>(table, "sink.delivery-guarantee", Guarantee::kAtLeastOnce,
                                                  {{"none", Guarantee::kNone},
                                                   {"at-least-once", Guarantee::kAtLeastOnce},
                                                   {"exactly-once", Guarantee::kExactlyOnce}}));
  STRAND_TRY(options.partitioner, choice<Partitioner>(table, "sink.partitioner", Partitioner::kDefault,
                                                      {{"default", Partitioner::kDefault},
                                                       {"fixed", Partitioner::kFixed},
                                                       {"round-robin", Partitioner::kRoundRobin}}));
  STRAND_TRY(options.lost_marker, choice<LostMarker>(table, "strand.lost-marker", LostMarker::kAsk,
                                                     {{"ask", LostMarker::kAsk},
                                                      {"written", LostMarker::kWritten},
                                                      {"missing", LostMarker::kMissing}}));
  if (const std::string* prefix = find(table, "sink.transactional-id-prefix"))
    options.transactional_prefix = *prefix;
  if (options.guarantee == Guarantee::kExactlyOnce && options.transactional_prefix.empty()) {
    return bad("'sink.delivery-guarantee' = 'exactly-once' needs 'sink.transactional-id-prefix'",
               "add a name that no other job of the cluster uses, and keep it");
  }
  return Status();
}

void add_format_options(std::vector<std::string>& names) {
  for (const char* format : {"json", "csv", "raw", "debezium-json", "canal-json", "maxwell-json"}) {
    for (const std::string& name : codec::format_options(format)) {
      names.push_back(name);
      names.push_back("value." + name);
      names.push_back("key." + name);
    }
  }
}

std::vector<std::string> shared_names() {
  std::vector<std::string> names = {"topic",        "properties.*",         "format",           "key.format",
                                    "value.format", "value.fields-include", "key.fields-prefix"};
  add_format_options(names);
  return names;
}

}  // namespace

Result<KafkaOptions> read_options(const TableContext& table, Side side, bool upsert) {
  KafkaOptions options;
  options.upsert = upsert;
  STRAND_OK(read_topics(table, side, options));
  STRAND_OK(read_properties(table, options));
  STRAND_OK(read_formats(table, options));
  if (side == Side::kSink) {
    STRAND_OK(read_sink(table, options));
  } else {
    STRAND_OK(read_start(table, options));
    STRAND_OK(read_stop(table, options));
  }
  return options;
}

std::vector<std::string> source_option_names(bool upsert) {
  std::vector<std::string> names = shared_names();
  names.insert(names.end(), {"topic-pattern", "scan.bounded.mode", "scan.bounded.specific-offsets",
                             "scan.bounded.timestamp-millis", "scan.topic-partition-discovery.interval"});
  if (!upsert)
    names.insert(names.end(), {"key.fields", "scan.startup.mode", "scan.startup.specific-offsets",
                               "scan.startup.timestamp-millis"});
  return names;
}

std::vector<std::string> sink_option_names(bool upsert) {
  std::vector<std::string> names = shared_names();
  names.insert(names.end(),
               {"sink.delivery-guarantee", "sink.transactional-id-prefix", "strand.lost-marker"});
  if (!upsert) names.insert(names.end(), {"key.fields", "sink.partitioner"});
  return names;
}

}  // namespace strand::connect::kafka
