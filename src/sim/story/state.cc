#include "sim/story/state.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "columnar/print.h"
#include "ops/keys.h"
#include "ops/rows.h"
#include "runtime/in_flight.h"
#include "state/aggregate_table.h"
#include "state/id_section.h"
#include "state/session_table.h"

namespace strand::sim {

namespace {

constexpr int32_t kMaxParallelism = 128;
constexpr KeyGroupRange kAll{0, kMaxParallelism - 1};

plan::NodePtr node_of(const plan::Plan& plan, const std::string& id) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (node->id == id) return node;
  }
  return nullptr;
}

/// The key's texts, separated by spaces.
std::string key_text(const ops::Keys& keys, const columnar::Schema& input, const std::vector<size_t>& columns,
                     std::string_view key) {
  std::vector<columnar::Field> fields;
  for (const size_t column : columns) fields.push_back(input[column]);
  columnar::BatchBuilder row(std::make_shared<columnar::Schema>(std::move(fields)));
  keys.append(key, row);
  row.end_row();
  const columnar::Batch batch = row.finish();
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i)
    text += (i == 0 ? "" : " ") + value_to_string(batch.column(i), 0);
  return text;
}

std::string result_text(const state::Accumulators& accumulators, const char* row,
                        const columnar::TypePtr& type) {
  const auto schema = std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{"result", type}});
  columnar::BatchBuilder out(schema);
  accumulators.append_result(0, row, out.column(0));
  out.end_row();
  return value_to_string(out.finish().column(0), 0);
}

class StateReader {
 public:
  StateReader(const plan::Plan& plan, const std::set<std::string>& partials, StoryState& out)
      : plan_(plan), partials_(partials), out_(out) {}

  Status read(const state::Section& section) {
    if (section.ref.name == runtime::kInFlightSection) return read_in_flight(section);
    const plan::NodePtr node = node_of(plan_, section.ref.operator_id);
    if (node == nullptr) return Status();
    if (const auto* window = std::get_if<plan::WindowAggregate>(&node->detail)) {
      return window->kind == expr::WindowKind::kSession ? read_sessions(*window, section)
                                                        : read_window(*node, *window, section);
    }
    if (const auto* group = std::get_if<plan::GroupAggregate>(&node->detail))
      return read_group(*node, *group, section);
    if (std::holds_alternative<plan::Deduplicate>(node->detail)) dedup_.push_back(section);
    return Status();
  }

  Status read_in_flight(const state::Section& section) {
    STRAND_TRY(const auto in_flight, runtime::decode_in_flight(section.bytes()));
    for (const runtime::InFlight& one : in_flight) {
      one.rows.for_each_row(
          [&](int64_t row) { out_.in_flight.push_back(value_to_string(one.rows.column(0), row)); });
    }
    return Status();
  }

  /// The sections of the ids hold only what was new in their epochs: an id has the latest of its expiries.
  Status read_ids(const std::set<std::string>& asked) {
    for (const state::Section& section : dedup_) {
      const auto read =
          state::decode_ids(section.bytes(), [&](const state::IdKey& key, uint64_t meta, std::string_view) {
            const std::string id(key.text);
            if (!asked.contains(id)) return;
            EventTime& until = out_.ids.emplace(id, EventTime::min()).first->second;
            until = std::max(until, state::IdMeta::expiry(meta));
          });
      if (!read.ok()) return read.status();
    }
    return Status();
  }

 private:
  Status read_window(const plan::Node& node, const plan::WindowAggregate& window,
                     const state::Section& section) {
    auto specs = ops::accumulator_specs(window.aggregates);
    const auto bigint = columnar::make_type(columnar::TypeKind::kBigInt, false);
    const bool slices = window.kind == expr::WindowKind::kHop;
    const int64_t size = slices ? std::gcd(window.size.millis, window.step.millis) : window.size.millis;
    const bool is_minute = window.size.millis == 60'000;
    auto& counts = slices ? out_.slices : is_minute ? out_.counts : out_.hours;
    // The operator counts its input in a column of its own.
    specs.push_back({state::AccumulatorOp::kCountStar, 0, nullptr, bigint});
    const auto accumulators = std::make_shared<const state::Accumulators>(specs);
    const ops::Keys keys(node.inputs[0].node->schema(node.inputs[0].port), window.keys);
    const columnar::Schema& input = *node.inputs[0].node->schema(node.inputs[0].port);
    ByteReader in(section.bytes());
    STRAND_TRY(const uint8_t emitted_too, in.get<uint8_t>());
    STRAND_TRY(const uint64_t windows, in.get<uint64_t>());
    for (uint64_t i = 0; i < windows; ++i) {
      STRAND_TRY(const int64_t end, in.get<int64_t>());
      state::StatePages pool;
      state::AggregateTable table(pool, {accumulators, false, false});
      STRAND_OK(table.decode(in, kAll, kMaxParallelism, emitted_too != 0));
      const std::string start = format_utc_time(end - size);
      const std::string bucket = slices      ? " " + start.substr(0, 8)
                                 : is_minute ? " M" + start.substr(0, 5)
                                             : " H" + start.substr(0, 2);
      table.for_each([&](const char* row) {
        const std::string key = key_text(keys, input, window.keys, state::KeyTable::key_of(row)) + bucket;
        counts[key] += std::stoll(result_text(*accumulators, row, specs[0].result));
      });
    }
    return Status();
  }

  /// Their first aggregate is COUNT(*).
  Status read_sessions(const plan::WindowAggregate& window, const state::Section& section) {
    const auto specs = ops::accumulator_specs(window.aggregates);
    const auto accumulators = std::make_shared<const state::Accumulators>(specs);
    state::SessionTable table(accumulators, window.size.millis,
                              [](int64_t end) { return EventTime{end - 1}; });
    ByteReader in(section.bytes());
    STRAND_OK(table.decode(in, kAll, kMaxParallelism));
    table.for_each([&](const char*, const state::SessionTable::Session& session) {
      out_.sessions.push_back(
          {EventTime{session.start}, EventTime{session.end},
           std::stoll(result_text(*accumulators, session.accumulators(), specs[0].result))});
    });
    std::ranges::sort(out_.sessions, {}, &StorySession::start);
    return Status();
  }

  Status read_group(const plan::Node& node, const plan::GroupAggregate& group,
                    const state::Section& section) {
    const auto accumulators =
        std::make_shared<const state::Accumulators>(ops::accumulator_specs(group.aggregates));
    const columnar::SchemaPtr input = node.inputs[0].node->schema(node.inputs[0].port);
    const ops::Keys keys(input, group.keys);
    state::StatePages pool;
    state::AggregateTable table(pool, {accumulators, true, group.retention || group.ttl});
    ByteReader in(section.bytes());
    STRAND_OK(table.decode(in, kAll, kMaxParallelism, table.keeps_emitted()));
    table.for_each([&](const char* row) {
      std::string key = key_text(keys, *input, group.keys, state::KeyTable::key_of(row));
      const size_t day = key.find("2026-02-08 ");
      if (day != std::string::npos) key.erase(day, 11);
      out_.late[key] += accumulators->count(0, row);
    });
    return Status();
  }

  const plan::Plan& plan_;
  const std::set<std::string>& partials_;
  StoryState& out_;
  std::vector<state::Section> dedup_;
};

}  // namespace

Result<StoryState> read_story_state(const plan::Plan& plan, const std::set<std::string>& partials,
                                    const checkpoint::Manifest& manifest, env::FileSystem& files,
                                    const std::string& dir, const std::set<std::string>& ids) {
  StoryState out;
  out.epoch = manifest.epoch;
  out.taken = manifest.taken;
  out.completed = manifest.completed;
  state::SnapshotReader reader(files, dir);
  StateReader state(plan, partials, out);
  for (const auto& [id, parts] : manifest.operators) {
    for (const auto& part : parts) {
      for (const ShardState& shard : part.shards) out.read[shard.shard] = shard.records;
      for (const auto& floor : part.floors) out.floors[id].insert(floor.floor);
      if (!part.sections.empty()) out.groups[id].push_back(part.sections[0].groups);
      for (const auto& ref : part.sections) {
        out.sections.insert(id + "/" + ref.name);
        STRAND_TRY(const state::Section section, reader.read(ref));
        STRAND_OK(state.read(section));
      }
    }
  }
  STRAND_OK(state.read_ids(ids));
  return out;
}

}  // namespace strand::sim
