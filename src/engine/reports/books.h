// A running job as the reports read it: operators summed over their subtasks, shards with their tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/running_job.h"
#include "flow/sink.h"
#include "obs/ledger.h"
#include "plan/plan.h"
#include "runtime/task.h"

namespace strand::engine::reports {

/// One operator of the plan, or the half of a window aggregation in front of an exchange (`ID.partial`).
struct OperatorBooks {
  std::string id;
  std::string name;  // for people: the label where it is unique, else the id
  const plan::Node* node = nullptr;
  bool partial = false;
  /// Of a sink: in = written + overtaken + refused (all counted) + pending (in state); out = written.
  obs::Ledger ledger;
  EventTime watermark = EventTime::min();  // lowest of the subtasks
  EventTime judge = EventTime::min();
  int64_t state_rows = 0;
  int64_t state_bytes = 0;
  int64_t clock_readings = 0;  // by functions of the program
  std::optional<flow::SinkCounts> sink;
};

/// One source: its shards, and what they come to.
struct SourceBooks {
  std::string id;
  std::string table;
  const plan::Scan* scan = nullptr;
  std::vector<runtime::ShardView> shards;  // by name
  int64_t future_events = 0;
  int64_t rows_before_watermark = 0;
  WallTime first_watermark{0};  // the latest of the subtasks; 0: not all have one
  /// The shard that holds the watermark: the lowest of those that are waited for. Null if none is.
  const runtime::ShardView* holder() const;
  /// Event time is complete through this.
  EventTime complete_to() const;
};

struct Books {
  std::vector<OperatorBooks> operators;  // in the order of the plan, inputs before readers
  std::vector<SourceBooks> sources;
  std::vector<std::string> blocked;  // reasons, each once
  int64_t memory_bytes = 0;

  /// The lowest `complete_to` of the sources that make event time; nothing if none does.
  std::optional<EventTime> complete_to() const;
  const SourceBooks* holding_source() const;
  int64_t total(obs::Entry entry) const;
  bool balanced() const;
};

/// Requires view.attempt. `plan` must outlive the result.
Books make_books(const JobView& view, const plan::Plan& plan);

}  // namespace strand::engine::reports
