#include "engine/reports/books.h"

#include <algorithm>
#include <map>

namespace strand::engine::reports {

namespace {

constexpr std::string_view kPartial = ".partial";

/// Whether the ledger's table shows it even while it balances.
bool has_books(const plan::Node& node) {
  return !std::holds_alternative<plan::Project>(node.detail) &&
         !std::holds_alternative<plan::Union>(node.detail);
}

/// A label that several operators share names none of them.
std::string name_of(const plan::Node& node, const std::map<std::string, int>& labels) {
  return node.label.empty() || !has_books(node) || labels.at(node.label) > 1 ? node.id : node.label;
}

void add(OperatorBooks& books, const runtime::OperatorView& view, bool first) {
  books.ledger += view.ledger;
  books.watermark = first ? view.watermark : std::min(books.watermark, view.watermark);
  books.judge = first ? view.judge : std::min(books.judge, view.judge);
  books.state_rows += view.state_rows;
  books.state_bytes += view.state_bytes;
  books.clock_readings += view.clock_readings;
}

void add(flow::SinkCounts& sum, const flow::SinkCounts& counts) {
  sum.rows_in += counts.rows_in;
  sum.written += counts.written;
  sum.refused += counts.refused;
  sum.overtaken += counts.overtaken;
  sum.flushed_keys += counts.flushed_keys;
  sum.flushed_removed += counts.flushed_removed;
  sum.flushed_rewritten += counts.flushed_rewritten;
  sum.flush_millis = std::max(sum.flush_millis, counts.flush_millis);
  sum.flushing = sum.flushing || counts.flushing;
  sum.pending += counts.pending;
}

obs::Ledger ledger_of(const flow::SinkCounts& counts) {
  obs::Ledger ledger;
  ledger.add(obs::Entry::kIn, counts.rows_in);
  ledger.add(obs::Entry::kCounted, counts.written + counts.overtaken + counts.refused);
  ledger.add(obs::Entry::kOut, counts.written);
  ledger.set_in_state(counts.pending);
  return ledger;
}

void add_source(SourceBooks& source, const runtime::TaskView& task) {
  source.shards.insert(source.shards.end(), task.shards.begin(), task.shards.end());
  source.future_events += task.future_events;
  source.rows_before_watermark += task.rows_before_watermark;
  if (!task.shards.empty()) source.first_watermark = std::max(source.first_watermark, task.first_watermark);
}

struct Seen {
  std::map<std::string, OperatorBooks> operators;
  std::map<std::string, SourceBooks> sources;
};

void read_task(const runtime::TaskView& task, Seen& seen) {
  for (const runtime::OperatorView& view : task.operators) {
    const auto [entry, first] = seen.operators.try_emplace(view.id);
    add(entry->second, view, first);
  }
  if (task.sink) {
    OperatorBooks& books = seen.operators[task.sink_id];
    if (!books.sink) books.sink.emplace();
    add(*books.sink, *task.sink);
  }
  // The head of a task that reads a table shows itself before the chain.
  if (!task.shards.empty() && !task.operators.empty()) add_source(seen.sources[task.operators[0].id], task);
}

void take(Seen& seen, const std::string& id, const std::string& name, const plan::Node& node, bool partial,
          Books& out) {
  const auto found = seen.operators.find(id);
  if (found == seen.operators.end()) return;
  OperatorBooks books = std::move(found->second);
  books.id = id;
  books.name = name;
  books.node = &node;
  books.partial = partial;
  if (books.sink) books.ledger = ledger_of(*books.sink);
  out.operators.push_back(std::move(books));
}

}  // namespace

const runtime::ShardView* SourceBooks::holder() const {
  const runtime::ShardView* holder = nullptr;
  for (const runtime::ShardView& shard : shards) {
    if (shard.idle || shard.ended) continue;
    if (holder == nullptr || shard.watermark < holder->watermark) holder = &shard;
  }
  return holder;
}

EventTime SourceBooks::complete_to() const {
  if (const runtime::ShardView* shard = holder()) return shard->watermark;
  EventTime newest = EventTime::min();
  for (const runtime::ShardView& shard : shards) newest = std::max(newest, shard.watermark);
  return newest;
}

const SourceBooks* Books::holding_source() const {
  const SourceBooks* out = nullptr;
  for (const SourceBooks& source : sources) {
    if (source.scan == nullptr || !source.scan->watermark) continue;
    if (out == nullptr || source.complete_to() < out->complete_to()) out = &source;
  }
  return out;
}

std::optional<EventTime> Books::complete_to() const {
  const SourceBooks* source = holding_source();
  return source == nullptr ? std::nullopt : std::optional(source->complete_to());
}

int64_t Books::total(obs::Entry entry) const {
  int64_t sum = 0;
  for (const OperatorBooks& books : operators) {
    if (!books.sink) sum += books.ledger[entry];
  }
  return sum;
}

bool Books::balanced() const {
  return std::all_of(operators.begin(), operators.end(),
                     [](const OperatorBooks& books) { return books.ledger.balanced(); });
}

Books make_books(const JobView& view, const plan::Plan& plan) {
  Books out;
  Seen seen;
  for (const auto& [name, task] : view.attempt->tasks) {
    read_task(task, seen);
    if (!task.blocked.empty() &&
        std::find(out.blocked.begin(), out.blocked.end(), task.blocked) == out.blocked.end())
      out.blocked.push_back(task.blocked);
  }
  const std::vector<plan::NodePtr> nodes = plan.nodes();
  std::map<std::string, int> labels;
  for (const plan::NodePtr& node : nodes) labels[node->label] += has_books(*node) ? 1 : 0;
  for (const plan::NodePtr& node : nodes) {
    const std::string name = name_of(*node, labels);
    take(seen, node->id + std::string(kPartial), name + std::string(kPartial), *node, true, out);
    take(seen, node->id, name, *node, false, out);
    if (const auto* scan = std::get_if<plan::Scan>(&node->detail)) {
      SourceBooks source = std::move(seen.sources[node->id]);
      source.id = node->id;
      source.table = scan->table.name;
      source.scan = scan;
      std::sort(source.shards.begin(), source.shards.end(),
                [](const auto& a, const auto& b) { return a.shard < b.shard; });
      out.sources.push_back(std::move(source));
    }
  }
  out.memory_bytes = view.attempt->memory_bytes;
  return out;
}

}  // namespace strand::engine::reports
