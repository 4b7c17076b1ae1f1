#include "engine/job_options.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "plan/stored_place.h"
#include "runtime/check_operators.h"
#include "state/spill/rocks_spill.h"

namespace strand::engine {

namespace {

/// Flink's limit.
constexpr int64_t kMaxParallelism = 32'768;
constexpr int64_t kAutomatic = -1;  // as in Flink

/// Reads settings of one plan, each with its place for messages.
class Settings {
 public:
  explicit Settings(const plan::Plan& plan) : plan_(plan) {}

  std::string text(const std::string& key, const std::string& fallback = "") const {
    return plan_.setting(key, fallback);
  }
  Result<Duration> duration(const std::string& key, const std::string& fallback) const {
    Result<Duration> parsed = parse_duration(text(key, fallback));
    if (parsed.ok()) return parsed;
    return std::move(parsed).status().at(origin(key));
  }
  Result<int64_t> integer(const std::string& key, int64_t fallback) const {
    const std::string value = text(key, std::to_string(fallback));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
    return Status(ErrorCode::kBadOption, "'" + key + "' expects a whole number, found '" + value + "'")
        .at(origin(key));
  }

  Result<int64_t> bytes(const std::string& key, int64_t fallback) const {
    const std::string value = text(key);
    if (value.empty()) return fallback;
    auto parsed = parse_memory(value);
    if (parsed.ok()) return parsed;
    return std::move(parsed).status().at(origin(key));
  }

  std::string origin(const std::string& key) const {
    const auto found = plan_.settings.find(key);
    return found == plan_.settings.end() ? key : found->second.origin;
  }

 private:
  const plan::Plan& plan_;
};

Status require(const Settings& settings, bool holds, const std::string& key, const std::string& expected) {
  if (holds) return Status();
  return Status(ErrorCode::kBadOption,
                "'" + key + "' expects " + expected + "; found '" + settings.text(key) + "'")
      .at(settings.origin(key));
}

Result<double> number_setting(const Settings& settings, const std::string& key, double fallback,
                              double highest) {
  const std::string text = settings.text(key);
  if (text.empty()) return fallback;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= highest)
    return number;
  return Status(ErrorCode::kBadOption, "'" + key + "' expects a number up to " +
                                           std::to_string(static_cast<int64_t>(highest)) + ", found '" +
                                           text + "'")
      .at(settings.origin(key));
}

std::string value_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// Room for half as many subtasks again, a power of two. Source: Flink KeyGroupRangeAssignment,
/// computeDefaultMaxParallelism.
int64_t default_max_parallelism(int64_t parallelism) {
  const auto room = std::bit_ceil(static_cast<uint64_t>(parallelism + parallelism / 2));
  return std::clamp<int64_t>(static_cast<int64_t>(room), 128, kMaxParallelism);
}

Status read_parallelism(const Settings& settings, int cores, runtime::JobOptions& out) {
  const std::string highest_key = "pipeline.max-parallelism";
  const std::string table_key = "table.exec.resource.default-parallelism";
  STRAND_TRY(const int64_t of_table, settings.integer(table_key, -1));
  const std::string key = of_table > 0 ? table_key : "parallelism.default";
  STRAND_TRY(const int64_t asked, settings.integer(key, cores));
  STRAND_TRY(const int64_t given, settings.integer(highest_key, kAutomatic));
  const int64_t highest =
      given != kAutomatic ? given : default_max_parallelism(std::clamp<int64_t>(asked, 1, kMaxParallelism));
  if (highest < 1 || highest > kMaxParallelism) {
    return Status(ErrorCode::kBadOption, "'" + highest_key + "' expects a whole number from 1 to " +
                                             std::to_string(kMaxParallelism) + ", found '" +
                                             std::to_string(highest) + "'")
        .at(settings.origin(highest_key));
  }
  STRAND_TRY(const int64_t wanted, settings.integer(key, std::min<int64_t>(cores, highest)));
  if (wanted < 1 || wanted > highest) {
    return Status(ErrorCode::kBadOption, "'" + key + "' expects a whole number from 1 to '" + highest_key +
                                             "', " + std::to_string(highest) + ", found '" +
                                             std::to_string(wanted) + "'")
        .at(settings.origin(key))
        .hint("lower it, or raise '" + highest_key + "' (a job that has state keeps the one it began with)");
  }
  out.parallelism = static_cast<int32_t>(wanted);
  out.max_parallelism = static_cast<int32_t>(highest);
  out.keeps_max_parallelism = given == kAutomatic;
  return Status();
}

/// `a, b` without blanks around the words.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + ",") {
    if (c != ',' && c != ' ') word += c;
    if (c == ',' && !word.empty()) words.insert(std::exchange(word, {}));
  }
  return words;
}

/// Below a folder that jobs share: one for each folder of checkpoints. Versions of a job that run beside each
/// other, and jobs of one name with states of their own, take what is there for what dead processes have
/// left.
std::string local_folder(const std::string& shared, const JobFolder& folder) {
  const std::string name = folder.root.substr(folder.root.rfind('/') + 1);
  return shared + "/" + name + "-" + content_hash(folder.root).substr(0, 8);
}

/// With RocksDB, state that has no room in memory lies in a folder of the job on the local disk.
Status read_backend(const Settings& settings, const JobFolder& folder, runtime::JobOptions& out) {
  if (settings.text("state.backend.type", "hashmap") != "rocksdb") return Status();
  const std::string dir = settings.text("state.backend.rocksdb.localdir");
  state::RocksOptions options;
  options.dir = dir.empty() ? folder.local() : local_folder(dir, folder);
  options.memory_limit = out.memory_limit;
  STRAND_TRY(options.disk_limit, settings.bytes("strand.local-disk.limit", 0));
  out.spill_space = [options](env::FileSystem& files) { return state::make_rocks_space(files, options); };
  return Status();
}

std::string settings_json(const plan::Plan& plan) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, setting] : plan.settings) json[key] = setting.value;
  return json.dump();
}

}  // namespace

std::string state_root(const std::string& option, const std::map<std::string, std::string>& environment) {
  if (!option.empty()) return option;
  for (const char* name : {"STRANDLINE_STATE", "STATE_DIRECTORY"}) {
    if (const std::string value = value_of(environment, name); !value.empty()) return value;
  }
  if (const std::string xdg = value_of(environment, "XDG_STATE_HOME"); !xdg.empty())
    return xdg + "/strandline";
  const std::string home = value_of(environment, "HOME");
  return (home.empty() ? std::string("/var/lib") : home + "/.local/state") + "/strandline";
}

JobFolder job_folder(const std::string& state_root, const std::string& job) {
  std::string name = job;
  for (char& c : name) {
    if (c == '/' || c == '\0' || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  return {state_root + "/" + name};
}

Result<int64_t> parse_memory(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  const auto scale = [&]() -> int64_t {
    if (unit.empty() || unit == "b" || unit == "bytes") return 1;
    if (unit == "k" || unit == "kb") return int64_t{1} << 10;
    if (unit == "m" || unit == "mb") return int64_t{1} << 20;
    if (unit == "g" || unit == "gb") return int64_t{1} << 30;
    if (unit == "t" || unit == "tb") return int64_t{1} << 40;
    return 0;
  }();
  int64_t bytes = 0;
  if (error != std::errc() || scale == 0 || __builtin_mul_overflow(number, scale, &bytes)) {
    return Status(ErrorCode::kBadOption, "expected a size such as '512 mb', found '" + text + "'");
  }
  return bytes;
}

Machine this_machine() {
  return {static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
          sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)};
}

namespace {

/// Without event time before the end of input there must be an end.
Status check_batch(const plan::Plan& plan) {
  const Settings settings(plan);
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr) continue;
    const std::string connector = scan->table.option("connector");
    const bool grows = connector == "filesystem" && !scan->table.option("source.monitor-interval").empty();
    const bool endless = connector == "datagen" && scan->table.option("number-of-rows").empty();
    const bool topic = connector == "kafka" && (scan->table.option("scan.bounded.mode").empty() ||
                                                scan->table.option("scan.bounded.mode") == "unbounded");
    if (!grows && !endless && !topic) continue;
    return Status(ErrorCode::kBadOption,
                  "'execution.runtime-mode' = 'BATCH' needs input that ends, and table " + scan->table.name +
                      " has no end")
        .at(settings.origin("execution.runtime-mode"))
        .hint(grows   ? "remove 'source.monitor-interval' from the table, or the setting"
              : topic ? "give the table 'scan.bounded.mode' = 'latest-offset', or remove the setting"
                      : "give the table 'number-of-rows', or remove the setting");
  }
  return Status();
}

/// What names the rows of a writer and its record of them in their store, whatever the job calls the table;
/// empty: nothing does.
std::string place_of(const plan::TableSpec& table) {
  const std::string connector = table.option("connector");
  if (connector == "sqlite" || connector == "jdbc") return plan::stored_place(table);
  const bool kafka = connector == "kafka" || connector == "upsert-kafka";
  if (!kafka || table.option("sink.delivery-guarantee") != "exactly-once") return {};
  // Both have the same markers.
  return plan::stored_place(table) + "\n" + table.option("sink.transactional-id-prefix");
}

/// Two writers of one name in one place would each take the other's rows and markers for its own. SQL sees to
/// those of one table.
Status check_places(const plan::Plan& plan) {
  std::map<std::pair<std::string, std::string>, const plan::Node*> writers;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* write = std::get_if<plan::SinkWrite>(&node->detail);
    if (write == nullptr) continue;
    const std::string place = place_of(write->table);
    if (place.empty()) continue;
    const auto [at, fresh] = writers.emplace(std::pair(place, write->writer), node.get());
    if (fresh) continue;
    const bool topic = place.starts_with("kafka");
    const std::string& other = std::get<plan::SinkWrite>(at->second->detail).table.name;
    return Status(ErrorCode::kWriterConflict, "'" + write->table.name + "' is the same " +
                                                  (topic ? "topic" : "stored table") + " as '" + other +
                                                  "', which has a writer named '" + write->writer +
                                                  "' already, the INSERT at " + at->second->where)
        .at(node->where)
        .hint("make one INSERT of both with UNION ALL, " +
              std::string(topic ? "give one table another 'sink.transactional-id-prefix', " : "") +
              "or write INSERT INTO " + write->table.name + " /*+ OPTIONS('strand.writer' = 'name') */");
  }
  return Status();
}

}  // namespace

Status check_plan(const plan::Plan& plan, const connect::Registry& registry, env::Env env) {
  STRAND_TRY(const runtime::JobOptions options, job_options(plan, {}, this_machine()));
  STRAND_TRY(const runtime::RestartOptions restart, restart_options(plan));
  static_cast<void>(restart);
  if (!options.stream_time) STRAND_OK(check_batch(plan));
  STRAND_OK(check_places(plan));
  return runtime::check_operators(plan, registry, options.parallelism, options.zone, env);
}

Result<runtime::JobOptions> job_options(const plan::Plan& plan, const JobFolder& folder,
                                        const Machine& machine) {
  const Settings settings(plan);
  runtime::JobOptions out;
  out.job = plan.job;
  out.savepoint_first = true;
  out.checkpoint_dir = settings.text("execution.checkpointing.dir", folder.checkpoints());
  out.savepoint_dir = settings.text("execution.checkpointing.savepoint-dir", folder.savepoints());
  STRAND_OK(read_parallelism(settings, machine.cores, out));
  STRAND_TRY(out.tick_interval, settings.duration("pipeline.auto-watermark-interval", "200 ms"));
  STRAND_TRY(const Duration skew, settings.duration("strand.future-skew.max", "10 min"));
  out.future_skew = skew;
  out.stream_time = settings.text("execution.runtime-mode", "STREAMING") != "BATCH";
  out.zone = settings.text("table.local-time-zone", "UTC");
  STRAND_TRY(const int64_t retained, settings.integer("execution.checkpointing.num-retained", 3));
  STRAND_OK(
      require(settings, retained >= 1, "execution.checkpointing.num-retained", "a whole number from 1 on"));
  out.retained = static_cast<int>(retained);
  STRAND_TRY(const Duration interval, settings.duration("execution.checkpointing.interval", "10 s"));
  if (interval.millis > 0) out.checkpoints.interval = interval;
  out.at_least_once = settings.text("execution.checkpointing.mode", "EXACTLY_ONCE") == "AT_LEAST_ONCE";
  if (!out.at_least_once && settings.text("execution.checkpointing.unaligned.enabled", "false") == "true") {
    STRAND_TRY(out.overtake_after,
               settings.duration("execution.checkpointing.aligned-checkpoint-timeout", "0 s"));
  }
  STRAND_TRY(out.checkpoints.min_pause, settings.duration("execution.checkpointing.min-pause", "0 s"));
  STRAND_TRY(out.checkpoints.timeout, settings.duration("execution.checkpointing.timeout", "10 min"));
  STRAND_OK(require(settings, out.checkpoints.timeout.millis > 0, "execution.checkpointing.timeout",
                    "a duration above 0: every checkpoint would be given up"));
  STRAND_TRY(const int64_t tolerable,
             settings.integer("execution.checkpointing.tolerable-failed-checkpoints", 3));
  out.checkpoints.tolerable_failures = static_cast<int>(tolerable);
  out.flink_restore = settings.text("strand.compat.flink-restore", "false") == "true";
  out.may_drop = words_of(settings.text("strand.state.drop"));
  STRAND_TRY(out.memory_limit, settings.bytes("strand.memory.limit", machine.memory_bytes / 4 * 3));
  STRAND_OK(require(settings, out.memory_limit > 0, "strand.memory.limit",
                    "a size above 0, such as '512 mb': without it, three quarters of the machine's memory"));
  STRAND_OK(read_backend(settings, folder, out));
  out.settings_json = settings_json(plan);
  return out;
}

Result<runtime::RestartOptions> restart_options(const plan::Plan& plan) {
  using Strategy = runtime::RestartOptions::Strategy;
  const Settings settings(plan);
  runtime::RestartOptions out;
  const std::string type = settings.text("restart-strategy.type", "exponential-delay");
  if (type == "none" || type == "off" || type == "disable") {
    out.strategy = Strategy::kNone;
  } else if (type.starts_with("fixed")) {
    out.strategy = Strategy::kFixedDelay;
    STRAND_TRY(const int64_t attempts, settings.integer("restart-strategy.fixed-delay.attempts", 1));
    out.attempts = static_cast<int>(attempts);
    STRAND_TRY(out.initial, settings.duration("restart-strategy.fixed-delay.delay", "1 s"));
  } else {
    const std::string prefix = "restart-strategy.exponential-delay.";
    STRAND_TRY(const int64_t attempts, settings.integer(prefix + "attempts-before-reset-backoff", 10));
    out.attempts = static_cast<int>(attempts);
    STRAND_TRY(out.initial, settings.duration(prefix + "initial-backoff", "1 s"));
    STRAND_TRY(out.longest, settings.duration(prefix + "max-backoff", "1 min"));
    STRAND_TRY(out.quiet, settings.duration(prefix + "reset-backoff-threshold", "1 h"));
    STRAND_TRY(out.multiplier,
               number_setting(settings, prefix + "backoff-multiplier", out.multiplier, 1'000));
    STRAND_TRY(out.jitter, number_setting(settings, prefix + "jitter-factor", out.jitter, 1));
  }
  return out;
}

}  // namespace strand::engine
