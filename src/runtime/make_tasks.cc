#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/build_operator.h"
#include "runtime/graph.h"
#include "runtime/tables.h"

namespace strand::runtime {

namespace {

using plan::Scan;
using plan::SinkWrite;

std::string text_of(const columnar::Schema& schema) {
  std::string text;
  for (const columnar::Field& field : schema.fields())
    text += (text.empty() ? "" : ", ") + field.name + " " + columnar::to_string(*field.type);
  return text;
}

/// Builds the tasks of a graph stage by stage, then wires them.
class TaskMaker {
 public:
  TaskMaker(const Graph& graph, const connect::Registry& registry, const GraphOptions& options,
            const Restored& restored, const AttemptContext& context)
      : graph_(graph),
        tables_(registry, {options.job, options.zone, context.env, context.events, context.memory}),
        options_(options),
        restored_(restored),
        context_(context) {
    stages_.resize(graph.stages);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      stages_[graph.nodes[i].stage].nodes.push_back(i);
      stages_[graph.nodes[i].stage].parallelism = graph.nodes[i].parallelism;
    }
  }

  Result<Tasks> make() {
    for (Stage& stage : stages_) {
      stage.chains.resize(static_cast<size_t>(stage.parallelism));
      stage.inputs.resize(stage.chains.size());
      stage.entries.resize(stage.chains.size());
      stage.columns.resize(stage.chains.size());
      stage.sources.resize(stage.chains.size());
      for (auto& chain : stage.chains) {
        chain = std::make_unique<Chain>();
        chain->defences = options_.defences;
        chain->batch_rows = options_.batch_rows;
      }
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) STRAND_OK(place(i));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) connect_inputs(i);
    make_times();
    STRAND_OK(open_chains());
    for (Stage& stage : stages_) STRAND_OK(make_stage(stage));
    STRAND_OK(restore_in_flight());
    return std::move(tasks_);
  }

  Result<int32_t> check_sinks() const {
    int32_t sweeping = 0;
    for (const GraphNode& graph_node : graph_.nodes) {
      const auto* write = std::get_if<SinkWrite>(&graph_node.node->detail);
      if (write == nullptr) continue;
      STRAND_TRY(const auto sink, tables_.sink(*write));
      Status answer = sink->check(sink_start(0, graph_node.parallelism));
      if (!answer.ok() && answer.reaction() == Reaction::kFailJob) return answer;
      if (sink->counts().sweep_due) sweeping += graph_node.parallelism;
    }
    return sweeping;
  }

 private:
  struct Stage {
    std::vector<size_t> nodes;
    int32_t parallelism = 1;
    std::vector<std::unique_ptr<Chain>> chains;
    std::vector<std::vector<flow::Channel*>> inputs;
    std::vector<std::vector<std::vector<Target>>> entries;
    std::vector<std::unique_ptr<SourceHead>> sources;
    bool overtakable = true;                        // all that comes from other stages
    std::vector<std::vector<std::string>> columns;  // by subtask and channel
    std::vector<std::shared_ptr<PipelineTask>> pipelines;
    std::vector<std::shared_ptr<SinkTask>> sinks;
  };
  struct Place {
    size_t slot = 0;
    std::vector<std::vector<size_t>> channels;  // by subtask: how many each input has
  };

  const GraphNode& node(size_t i) const { return graph_.nodes[i]; }
  Stage& stage_of(size_t i) { return stages_[node(i).stage]; }
  bool is_source(size_t i) const { return std::holds_alternative<Scan>(node(i).node->detail); }
  bool is_sink(size_t i) const { return std::holds_alternative<SinkWrite>(node(i).node->detail); }
  KeyGroupRange groups(int32_t subtask, int32_t parallelism) const {
    return range_of(subtask, parallelism, options_.max_parallelism);
  }

  Status place(size_t i) {
    Place place;
    place.channels.resize(static_cast<size_t>(node(i).parallelism));
    Stage& stage = stage_of(i);
    if (is_source(i)) {
      STRAND_OK(place_source(i, stage));
    } else if (!is_sink(i)) {
      place.slot = stage.chains[0]->slots.size();
      for (int32_t s = 0; s < stage.parallelism; ++s) {
        STRAND_TRY(Slot slot, make_slot(node(i), s));
        stage.chains[static_cast<size_t>(s)]->slots.push_back(std::move(slot));
      }
    }
    places_.push_back(std::move(place));
    return Status();
  }

  Result<Slot> make_slot(const GraphNode& graph_node, int32_t subtask) {
    Slot slot;
    slot.label = graph_node.node->label.empty() ? graph_node.id : graph_node.node->label;
    slot.takes_partials = graph_node.partial_input;
    STRAND_TRY(slot.op,
               build_operator(graph_node, options_.zone, options_.defences, tables_, options_.functions));
    flow::OperatorContext& context = slot.context;
    context.operator_id = graph_node.id;
    context.subtask = subtask;
    context.parallelism = graph_node.parallelism;
    context.max_parallelism = options_.max_parallelism;
    context.key_groups = groups(subtask, graph_node.parallelism);
    context.generation = options_.generation;
    context.attempt = options_.attempt;
    context.restored = options_.restored;
    context.memory = context_.memory;
    context.spill = context_.spill;
    context.events = context_.events;
    restore_slot(graph_node, slot, subtask);
    return slot;
  }

  /// The rows that the first half of a split window handed to the second are no rows of the window as a
  /// whole.
  void restore_first_half(const GraphNode& graph_node, Slot& slot) const {
    const bool split = graph_node.partial || graph_node.partial_input;
    const auto* parts = split ? nullptr : parts_of(graph_node.id + kPartialSuffix);
    if (parts == nullptr) return;
    for (const checkpoint::OperatorPart& part : *parts) {
      const int64_t handed_on = part.ledger[obs::Entry::kOut];
      slot.ledger += part.ledger;
      for (const obs::Entry entry : {obs::Entry::kIn, obs::Entry::kCounted, obs::Entry::kOut}) {
        slot.ledger.add(entry, -handed_on);
      }
    }
  }

  void restore_slot(const GraphNode& graph_node, Slot& slot, int32_t subtask) {
    const auto* parts = parts_of(graph_node.id);
    // At another parallelism the window may have judged alone: its partials go on from its floor.
    const bool from_window = parts == nullptr && graph_node.partial;
    if (from_window) parts = parts_of(graph_node.node->id);
    if (parts == nullptr) return;
    if (subtask == 0) restore_first_half(graph_node, slot);
    const bool by_group = is_keyed(graph_node) && options_.defences.t2_floor_by_group;
    EventTime lowest = EventTime::max();
    for (const checkpoint::OperatorPart& part : *parts) {
      if (subtask == 0 && !from_window) slot.ledger += part.ledger;
      for (const auto& floor : part.floors) {
        lowest = std::min(lowest, floor.floor);
        const KeyGroupRange own{std::max(floor.groups.first, slot.context.key_groups.first),
                                std::min(floor.groups.last, slot.context.key_groups.last)};
        if (by_group && own.first <= own.last) slot.context.floor.add(own, floor.floor);
      }
    }
    slot.ledger.set_in_state(0);
    if (!by_group && lowest != EventTime::max()) {
      slot.context.floor.add({0, options_.max_parallelism - 1}, lowest);
    }
  }

  const std::vector<checkpoint::OperatorPart>* parts_of(const std::string& id) const {
    if (restored_.manifest == nullptr) return nullptr;
    const auto found = restored_.manifest->operators.find(id);
    return found == restored_.manifest->operators.end() ? nullptr : &found->second;
  }

  static bool option_is(const plan::TableSpec& table, const std::string& suffix, const std::string& value) {
    return std::any_of(table.options.begin(), table.options.end(), [&](const auto& option) {
      return option.first.ends_with(suffix) && option.second == value;
    });
  }

  Status place_source(size_t i, Stage& stage) {
    const auto& scan = std::get<Scan>(node(i).node->detail);
    const bool want_bad = bad_is_read(i);
    Tasks::Source source;
    source.operator_id = node(i).id;
    source.table = scan.table.name;
    STRAND_TRY(source.finder, tables_.finder(scan, want_bad));
    for (int32_t s = 0; s < stage.parallelism; ++s) {
      STRAND_TRY(auto reader, tables_.reader(scan, want_bad));
      SourceOptions options;
      options.operator_id = node(i).id;
      options.table = scan.table.name;
      options.scan = scan;
      options.output = node(i).node->output;
      options.tick_interval = options_.tick_interval;
      options.stream_time = options_.stream_time;
      options.future_skew = options_.future_skew;
      options.divert_bad = want_bad;
      options.skip_bad = option_is(scan.table, ".ignore-parse-errors", "true");
      options.zone = options_.zone;
      STRAND_TRY(auto head, SourceHead::make(std::move(options), std::move(reader), context_));
      const auto* parts = parts_of(node(i).id);
      if (parts != nullptr && s == 0) {
        for (const auto& part : *parts) head->ledger += part.ledger;
      }
      stage.sources[static_cast<size_t>(s)] = std::move(head);
    }
    tasks_.sources.push_back(std::move(source));
    return Status();
  }

  bool bad_is_read(size_t source) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const GraphNode& n) {
      return std::any_of(n.inputs.begin(), n.inputs.end(),
                         [&](const GraphNode::Edge& e) { return e.from == source && e.port == Port::kBad; });
    });
  }

  Outputs& outputs_of(size_t i, size_t subtask) {
    Stage& stage = stage_of(i);
    return is_source(i) ? stage.sources[subtask]->outputs
                        : stage.chains[subtask]->slots[places_[i].slot].outputs;
  }

  void connect_inputs(size_t reader) {
    for (const GraphNode::Edge& edge : node(reader).inputs) {
      if (node(edge.from).stage == node(reader).stage) {
        for (int32_t s = 0; s < node(reader).parallelism; ++s)
          connect_inside(edge, reader, static_cast<size_t>(s));
      } else {
        connect_across(edge, reader);
      }
    }
  }

  void connect_inside(const GraphNode::Edge& edge, size_t reader, size_t subtask) {
    outputs_of(edge.from, subtask)[static_cast<size_t>(edge.port)].push_back(
        entry(reader, subtask, edge.input));
  }

  void connect_across(const GraphNode::Edge& edge, size_t reader) {
    const auto producers = static_cast<size_t>(node(edge.from).parallelism);
    const auto consumers = static_cast<size_t>(node(reader).parallelism);
    Stage& stage = stage_of(reader);
    stage.overtakable = stage.overtakable && edge.overtakable;
    for (size_t p = 0; p < producers; ++p) {
      std::vector<flow::Channel*> channels;
      for (size_t c = 0; c < consumers; ++c) {
        const bool to_all = !edge.keys.empty() || edge.broadcast || consumers == 1;
        if (!to_all && c != p) continue;
        channels.push_back(make_channel(edge, p, reader, c));
      }
      const std::string name = node(reader).node->label.empty() ? node(reader).id : node(reader).node->label;
      const Gate::Spread spread = edge.broadcast ? Gate::Spread::kAll
                                  : edge.groups  ? Gate::Spread::kGroup
                                                 : Gate::Spread::kHash;
      auto gate =
          std::make_unique<Gate>(name, channels, channels.size() > 1 ? edge.keys : std::vector<size_t>{},
                                 options_.max_parallelism, spread);
      if (edge.hold_active && !edge.keys.empty()) gate->hold_active();
      Chain& chain = *stage_of(edge.from).chains[p];
      outputs_of(edge.from, p)[static_cast<size_t>(edge.port)].push_back(
          {.gate = true, .index = chain.gates.size()});
      chain.gates.push_back(std::move(gate));
    }
  }

  /// A new channel of an input of the reader.
  Target entry(size_t reader, size_t subtask, size_t input) {
    std::vector<size_t>& channels = places_[reader].channels[subtask];
    if (channels.size() <= input) channels.resize(input + 1, 0);
    return {.gate = false, .index = places_[reader].slot, .input = input, .channel = channels[input]++};
  }

  /// Partial sums have columns of their own, which follow from the window.
  std::string columns_of(const GraphNode::Edge& edge) const {
    return node(edge.from).partial ? "" : text_of(*node(edge.from).node->schema(edge.port));
  }

  flow::Channel* make_channel(const GraphNode::Edge& edge, size_t writer_subtask, size_t reader,
                              size_t subtask) {
    tasks_.channels.push_back(std::make_unique<flow::Channel>(context_.memory));
    tasks_.channel_ends.push_back({task_id(edge.from, writer_subtask), task_id(reader, subtask)});
    flow::Channel* channel = tasks_.channels.back().get();
    Stage& stage = stage_of(reader);
    stage.inputs[subtask].push_back(channel);
    stage.columns[subtask].push_back(columns_of(edge));
    stage.entries[subtask].push_back({entry(reader, subtask, edge.input)});
    return channel;
  }

  /// Tasks are numbered stage by stage.
  int32_t task_id(size_t i, size_t subtask) const {
    int32_t id = static_cast<int32_t>(subtask);
    for (size_t stage = 0; stage < node(i).stage; ++stage) id += stages_[stage].parallelism;
    return id;
  }

  void make_times() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_source(i) || is_sink(i)) continue;
      for (size_t s = 0; s < stage_of(i).chains.size(); ++s) {
        stage_of(i).chains[s]->slots[places_[i].slot].time =
            std::make_unique<time::OperatorTime>(places_[i].channels[s]);
      }
    }
  }

  /// State is put back by all subtasks at once: that is most of the time of a restart.
  Status open_chains() {
    std::vector<Chain*> chains;
    for (Stage& stage : stages_) {
      if (is_sink(stage.nodes[0])) continue;
      for (const auto& chain : stage.chains) chains.push_back(chain.get());
    }
    std::vector<Status> answers(chains.size(),
                                Status(ErrorCode::kIo, "the process ended while state was put back"));
    for (size_t i = 0; i < chains.size(); ++i) {
      context_.env.executor->submit(i, [&, i] { answers[i] = chains[i]->open(restored_.sections); });
    }
    context_.env.executor->drain();
    for (Status& answer : answers) STRAND_OK(std::move(answer));
    return Status();
  }

  std::string stage_name(const Stage& stage) const {
    const GraphNode& last = node(stage.nodes.front());
    return last.node->label.empty() ? last.id : last.node->label;
  }

  Status make_stage(Stage& stage) {
    if (is_sink(stage.nodes[0])) return make_sinks(stage);
    for (size_t s = 0; s < stage.chains.size(); ++s) {
      auto task = std::make_shared<PipelineTask>(
          static_cast<int32_t>(tasks_.all.size()), stage_name(stage) + "[" + std::to_string(s) + "]",
          std::move(stage.sources[s]), std::move(stage.chains[s]), stage.inputs[s], stage.entries[s],
          groups(static_cast<int32_t>(s), stage.parallelism), context_);
      if (stage.overtakable) task->let_overtake(stage.columns[s]);
      stage.pipelines.push_back(task);
      if (task->source() != nullptr) {
        for (Tasks::Source& source : tasks_.sources) {
          if (source.operator_id == task->source()->options().operator_id) source.subtasks.push_back(task);
        }
      }
      tasks_.pipelines.push_back(task);
      tasks_.all.push_back(std::move(task));
      tasks_.worker_hint.push_back(static_cast<int32_t>(s));
    }
    return Status();
  }

  Status make_sinks(Stage& stage) {
    const GraphNode& graph_node = node(stage.nodes[0]);
    const auto& write = std::get<SinkWrite>(graph_node.node->detail);
    for (size_t s = 0; s < stage.chains.size(); ++s) {
      STRAND_TRY(auto sink, tables_.sink(write));
      flow::SinkStart start = sink_start(static_cast<int32_t>(s), stage.parallelism);
      const auto sections = restored_.sections.find(graph_node.id);
      if (sections != restored_.sections.end()) start.state = sections->second;
      auto task = std::make_shared<SinkTask>(static_cast<int32_t>(tasks_.all.size()),
                                             write.table.name + "." + write.writer, graph_node.id,
                                             std::move(sink), std::move(start), stage.inputs[s], context_);
      const auto* parts = parts_of(graph_node.id);
      if (parts != nullptr && s == 0) {
        for (const auto& part : *parts) task->restore_ledger(part.ledger);
      }
      if (stage.overtakable) task->let_overtake(stage.columns[s]);
      stage.sinks.push_back(task);
      STRAND_OK(task->start());
      tasks_.sinks.push_back(task);
      tasks_.all.push_back(std::move(task));
      tasks_.worker_hint.push_back(static_cast<int32_t>(s));
    }
    return Status();
  }

  /// Who reads rows that were in flight to `id`: the halves of a window may have been one, or one may be two.
  std::optional<size_t> reader_of(const std::string& id, bool partials) const {
    const bool first_half = id.ends_with(kPartialSuffix);
    const std::string window = first_half ? id.substr(0, id.size() - std::strlen(kPartialSuffix)) : id;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& n = node(i);
      if (n.node->id == window && n.partial_input == partials && !is_source(i)) return i;
    }
    return std::nullopt;
  }

  /// Rows that were in flight go to who owns their key now.
  Status restore_in_flight() {
    for (const auto& [id, subtasks] : restored_.in_flight) {
      for (size_t old = 0; old < subtasks.size(); ++old) {
        for (const InFlight& rows : subtasks[old]) {
          STRAND_OK(
              restore_rows(id, old, rows)
                  .hint("stop the old form of the job with a savepoint, which has no rows in flight, and "
                        "start from that"));
        }
      }
    }
    return Status();
  }

  Status restore_rows(const std::string& id, size_t old_subtask, const InFlight& in_flight) {
    const auto reader = reader_of(id, in_flight.partials);
    if (!reader) {
      return Status(ErrorCode::kStateMismatch,
                    "the snapshot has rows on their way to operator '" + id + "', which the job has not");
    }
    const GraphNode& n = node(*reader);
    const auto input = static_cast<size_t>(in_flight.input);
    const auto edge = std::ranges::find(n.inputs, input, &GraphNode::Edge::input);
    if (edge == n.inputs.end() || columns_of(*edge) != in_flight.columns) {
      return Status(ErrorCode::kStateMismatch,
                    "the snapshot has rows on their way to operator '" + id + "' with columns (" +
                        in_flight.columns + "), the job's have (" +
                        (edge == n.inputs.end() ? "none" : columns_of(*edge)) + ")");
    }
    if (n.parallelism == 1 || edge->partition.empty()) {
      give(*reader, old_subtask % static_cast<size_t>(n.parallelism), in_flight, in_flight.rows);
      return Status();
    }
    KeySpread by_key(edge->partition, edge->groups, n.parallelism, options_.max_parallelism);
    const std::vector<columnar::SelectionPtr>& targets = by_key.spread(in_flight.rows);
    for (size_t s = 0; s < targets.size(); ++s) {
      if (targets[s] != nullptr) give(*reader, s, in_flight, in_flight.rows.with_selection(targets[s]));
    }
    return Status();
  }

  void give(size_t reader, size_t subtask, const InFlight& in_flight, columnar::Batch rows) {
    Stage& stage = stage_of(reader);
    if (is_sink(reader)) {
      stage.sinks[subtask]->restore_in_flight(std::move(rows));
    } else {
      const Target target{false, places_[reader].slot, static_cast<size_t>(in_flight.input), 0};
      stage.pipelines[subtask]->restore_in_flight(target, std::move(rows));
    }
  }

  flow::SinkStart sink_start(int32_t subtask, int32_t parallelism) const {
    flow::SinkStart start;
    start.job = options_.job;
    start.subtask = subtask;
    start.parallelism = parallelism;
    start.max_parallelism = options_.max_parallelism;
    start.generation = options_.generation;
    start.attempt = options_.attempt;
    start.restored = options_.restored;
    start.history = options_.history;
    start.elders = options_.elders;
    return start;
  }

  const Graph& graph_;
  const Tables tables_;
  const GraphOptions& options_;
  const Restored& restored_;
  const AttemptContext& context_;
  std::vector<Stage> stages_;
  std::vector<Place> places_;
  Tasks tasks_;
};

}  // namespace

Result<int32_t> check_sinks(const Graph& graph, const connect::Registry& registry,
                            const GraphOptions& options, const AttemptContext& context) {
  const Restored nothing;
  return TaskMaker(graph, registry, options, nothing, context).check_sinks();
}

Result<Tasks> make_tasks(const Graph& graph, const connect::Registry& registry, const GraphOptions& options,
                         const Restored& restored, const AttemptContext& context) {
  return TaskMaker(graph, registry, options, restored, context).make();
}

}  // namespace strand::runtime
