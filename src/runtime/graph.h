// From a plan to tasks: which operators are fused, where rows are exchanged, and the wiring.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "plan/plan.h"
#include "runtime/in_flight.h"
#include "runtime/pipeline_task.h"
#include "runtime/sink_task.h"

namespace strand::runtime {

/// What an attempt is built with.
struct GraphOptions {
  std::string job;
  int32_t parallelism = 1;
  int32_t max_parallelism = 128;
  Duration tick_interval{200};
  std::optional<Duration> future_skew;
  bool stream_time = true;
  std::string zone = "UTC";
  Generation generation{1};
  Attempt attempt{1};
  std::optional<Epoch> restored;
  std::vector<AttemptRecord> history;
  Defences defences;
  int64_t batch_rows = columnar::Batch::kMaxRows;  // that an operator gets at once
  plan::FunctionOptions functions = {};
  std::optional<Epoch> elders = {};  // see flow::SinkStart
};

/// Ends the id of the half in front of the exchange.
inline constexpr const char* kPartialSuffix = ".partial";

/// One operator as it is executed: a plan node, or one half of a window aggregation that is split around an
/// exchange.
struct GraphNode {
  plan::NodePtr node;
  std::string id;
  bool partial = false;        // the half in front of the exchange
  bool partial_input = false;  // the half behind it
  struct Edge {
    size_t from;
    Port port;
    std::vector<size_t> keys;  // empty: forward
    bool hold_active = false;
    size_t input = 0;        // of the reader
    bool groups = false;     // keys is the column of the key group
    bool broadcast = false;  // to every subtask of the reader
    /// Which subtask a row belongs to follows from the row, at any parallelism: its key columns, or there is
    /// only one. So a barrier may overtake it.
    bool overtakable = false;
    std::vector<size_t> partition = {};  // the key columns, also where one subtask reads
  };
  std::vector<Edge> inputs;
  int32_t parallelism = 1;
  size_t stage = 0;
};

/// The stages of a plan: the nodes of one stage run fused in one task per subtask.
struct Graph {
  std::vector<GraphNode> nodes;  // inputs before readers
  size_t stages = 0;
};

/// Decides about fusing and exchange. Sinks are a stage of their own. A window aggregation is split in two
/// where its rows must be exchanged, unless its late rows are read and some subtask could hand on partials
/// behind the watermark of another (replay.md T8): partials have no single rows any more.
/// `split`: windows that are split in any case, because rows were in flight between their halves.
Result<Graph> make_graph(const plan::Plan& plan, int32_t parallelism, const connect::Registry& registry,
                         const std::set<std::string>& split = {});

/// The tasks of one attempt and the channels between them.
struct Tasks {
  std::vector<std::shared_ptr<Task>> all;  // by id
  struct Source {
    std::string operator_id;
    std::string table;
    std::unique_ptr<flow::ShardFinder> finder;
    std::vector<std::shared_ptr<PipelineTask>> subtasks;
  };
  std::vector<Source> sources;
  std::vector<std::shared_ptr<PipelineTask>> pipelines;
  std::vector<std::shared_ptr<SinkTask>> sinks;
  std::vector<std::unique_ptr<flow::Channel>> channels;
  std::vector<std::pair<int32_t, int32_t>> channel_ends;  // producing and consuming task id of each channel
  std::vector<int32_t> worker_hint;                       // subtask index by task id
};

/// What a restore gives the operators.
struct Restored {
  const checkpoint::Manifest* manifest = nullptr;
  std::map<std::string, std::vector<state::Section>> sections;
  /// By operator id, and then by old subtask.
  std::map<std::string, std::vector<std::vector<InFlight>>> in_flight;
};

/// Asks every sink whether it would take the job (flow::Sink::check); the first refusal, or how many subtasks
/// have a second sweep to do (F7).
Result<int32_t> check_sinks(const Graph& graph, const connect::Registry& registry,
                            const GraphOptions& options, const AttemptContext& context);

/// Makes, opens and restores every task. Nothing runs yet.
Result<Tasks> make_tasks(const Graph& graph, const connect::Registry& registry, const GraphOptions& options,
                         const Restored& restored, const AttemptContext& context);

}  // namespace strand::runtime
