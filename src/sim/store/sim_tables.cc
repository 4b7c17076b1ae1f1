#include "sim/store/sim_tables.h"

#include <algorithm>
#include <charconv>

#include "columnar/print.h"

namespace strand::sim {

using flow::WriteTag;
using table::Answer;
using table::Request;

namespace {

auto owner_of_tag(const WriteTag& tag) { return std::pair(tag.generation, tag.attempt); }

std::string sink_of(const table::WriterSpec& spec) { return spec.job + "/" + spec.table + "." + spec.writer; }

std::string key_name(const Request& request, size_t keys) {
  std::string name;
  for (size_t i = 0; i < keys; ++i) {
    if (i > 0) name += " ";
    columnar::print_value(request.batch->column(i), request.row, name);
  }
  return name;
}

SimValues values_of(const Request& request, size_t keys) {
  SimValues values;
  for (size_t i = keys; i < request.batch->columns().size(); ++i) {
    const columnar::Column& column = request.batch->column(i);
    values.push_back(column.is_null(request.row)
                         ? std::nullopt
                         : std::optional(columnar::value_to_string(column, request.row)));
  }
  return values;
}

/// Takes what is absolute, and adds to the numbers what `added` says.
void add_to(SimValues& values, SimValues absolute, const std::vector<std::optional<int64_t>>& added) {
  values.resize(absolute.size());
  for (size_t i = 0; i < absolute.size(); ++i) {
    const bool sums = i < added.size() && added[i];
    values[i] = sums ? std::to_string(number_in(values[i].value_or("")).value_or(0) + *added[i])
                     : std::move(absolute[i]);
  }
}

}  // namespace

std::optional<int64_t> number_in(std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::optional(number) : std::nullopt;
}

Status SimTables::fenced(const std::string& what) const {
  return Status(ErrorCode::kFenced, "expected to own " + what + ", found a newer start of the job");
}

Status SimTables::open(const table::WriterSpec& spec) {
  const auto [at, is_new] = writers_.emplace(std::pair(spec.table, spec.writer), spec.job);
  if (is_new || at->second == spec.job) return Status();
  return Status(ErrorCode::kWriterTaken,
                "writer '" + spec.writer + "' of " + spec.table + " belongs to job '" + at->second + "'");
}

Status SimTables::claim(const SimSender& sender) {
  if (!attempt_rows_) return Status();
  const auto& claim = sender.claim;
  Attempt& attempt = attempts_[{sender.spec.job, claim.generation}];
  if (attempt > claim.attempt) return fenced(sender.spec.table);
  attempt = claim.attempt;
  if (claim.elders_run) return Status();
  for (auto& [row, elder] : attempts_) {
    if (row.first == sender.spec.job && row.second < claim.generation) elder = Attempt{INT64_MAX};
  }
  return Status();
}

Result<std::vector<Answer>> SimTables::apply(const SimSender& sender,
                                             const std::vector<SimRequest>& requests) {
  if (attempt_rows_ && rules_.w6) {
    const auto attempt = attempts_.find({sender.spec.job, sender.claim.generation});
    if (attempt != attempts_.end() && attempt->second > sender.claim.attempt)
      return fenced(sender.spec.table);
  }
  std::vector<Answer> answers;
  for (const SimRequest& request : requests) answers.push_back(apply_one(sender, request));
  return answers;
}

Answer SimTables::apply_one(const SimSender& sender, const SimRequest& wire) {
  const Request& request = wire.request;
  if (request.kind == Request::Kind::kRewrite || request.kind == Request::Kind::kRemove) {
    return apply_if_unchanged(sender, request);
  }
  if (request.kind == Request::Kind::kDelete) {
    Epoch& last = deletes_[{sender.spec.table, sender.spec.writer}];
    last = std::max(last, request.tag.epoch);
  }
  Table& rows = tables_[sender.spec.table];
  const auto row = rows.find(request.key);
  const bool stored = row != rows.end() && row->second.writers.contains(sender.spec.writer);
  if (stored) {
    const WriteTag& tag = row->second.writers.at(sender.spec.writer).tag;
    if (rules_.w2 && owner_of_tag(tag) > owner_of_tag(request.tag)) return Answer::kRefusedHigher;
    if (rules_.w2s && owner_of_tag(tag) == owner_of_tag(request.tag) && tag.sequence > request.tag.sequence) {
      return Answer::kRefusedOlder;
    }
    if (rules_.w4 && finished(sender, tag, request.tag)) return Answer::kRefusedClosed;
  }
  if (request.kind == Request::Kind::kPut) {
    put(sender, wire);
  } else if (stored) {
    Cell& cell = row->second.writers.at(sender.spec.writer);
    cell.gone = true;
    cell.tag = request.tag;
  }
  return Answer::kWritten;
}

bool SimTables::finished(const SimSender& sender, const WriteTag& stored, const WriteTag& mine) const {
  if (!sender.claim.closed_row || stored.epoch >= *sender.claim.closed_row) return false;
  return !rules_.w4d || (owner_of_tag(stored) != owner_of_tag(mine) && !sender.history.dead(stored));
}

Answer SimTables::apply_if_unchanged(const SimSender& sender, const Request& request) {
  Table& rows = tables_[sender.spec.table];
  const auto row = rows.find(request.key);
  const bool stored = row != rows.end() && row->second.writers.contains(sender.spec.writer);
  std::optional<WriteTag> tag;
  if (stored) tag = row->second.writers.at(sender.spec.writer).tag;
  if (rules_.f3c && tag != request.expected) return Answer::kChanged;
  if (request.kind == Request::Kind::kRewrite) {
    put(sender, {request, {}});
  } else if (stored) {
    remove(sender, request);
  }
  return Answer::kWritten;
}

void SimTables::put(const SimSender& sender, const SimRequest& wire) {
  const Request& request = wire.request;
  const size_t keys = sender.spec.key->size();
  Row& row = tables_[sender.spec.table][request.key];
  row.name = key_name(request, keys);
  const bool known = row.writers.contains(sender.spec.writer);
  Cell& cell = row.writers[sender.spec.writer];
  cell.columns.clear();
  for (const columnar::Field& field : sender.spec.values->fields()) cell.columns.push_back(field.name);
  if (rules_.w1 || !known || request.kind != Request::Kind::kPut) {
    cell.values = values_of(request, keys);
  } else {
    add_to(cell.values, values_of(request, keys), wire.added);
  }
  cell.tag = request.tag;
  cell.gone = false;
  row.job_gen = std::max(row.job_gen, request.tag.generation.value);
}

void SimTables::remove(const SimSender& sender, const Request& request) {
  Table& rows = tables_[sender.spec.table];
  Row& row = rows.at(request.key);
  if (rules_.f3) {
    row.writers.erase(sender.spec.writer);
  } else {
    row.writers.clear();
  }
  if (row.writers.empty() && sender.spec.owns_rows) rows.erase(request.key);
}

table::Listing SimTables::list(const SimSender& sender, Epoch low, Epoch high) const {
  table::Listing listing;
  if (const auto rows = tables_.find(sender.spec.table); rows != tables_.end()) {
    for (const auto& [key, row] : rows->second) {
      const auto cell = row.writers.find(sender.spec.writer);
      if (cell == row.writers.end()) continue;
      const WriteTag& tag = cell->second.tag;
      if (tag.epoch < low || tag.epoch > high || tag.generation > sender.claim.generation) continue;
      listing.values.push_back({key, tag});
    }
  }
  const auto deleted = deletes_.find({sender.spec.table, sender.spec.writer});
  listing.deletes = deleted != deletes_.end() && deleted->second >= low;
  return listing;
}

Status SimTables::claim_sink(const table::WriterSpec& spec, Generation generation, Attempt attempt) {
  Owner& owner = owners_[sink_of(spec)];
  if (owner > Owner(generation, attempt)) return fenced(spec.table);
  owner = {generation, attempt};
  return Status();
}

std::vector<table::Marker> SimTables::markers(const table::WriterSpec& spec) const {
  std::vector<table::Marker> found;
  if (const auto of_sink = markers_.find(sink_of(spec)); of_sink != markers_.end()) {
    for (const auto& [subtask, marker] : of_sink->second) found.push_back(marker);
  }
  return found;
}

Result<table::CommitOutcome> SimTables::commit(const table::WriterSpec& spec, const table::Commit& commit) {
  const Owner mine(commit.marker.generation, commit.marker.attempt);
  table::Marker& marker = markers_[sink_of(spec)][commit.marker.subtask];
  marker.subtask = commit.marker.subtask;
  const Owner stored = std::max(owners_[sink_of(spec)], Owner(marker.generation, marker.attempt));
  if (rules_.x1 && stored > mine) return fenced(spec.table);
  if (rules_.x1m && marker.epoch >= commit.marker.epoch) return table::CommitOutcome::kHad;
  const SimSender sender{spec, {}, {}};
  for (const table::BatchPtr& rows : commit.rows) {
    rows->for_each_row([&](int64_t row) {
      if (spec.key->size() == 0) return added_[spec.table].push_back(columnar::row_to_string(*rows, row));
      Request request{Request::Kind::kRewrite, {}, rows, row, {}, {}, 1};
      std::vector<size_t> keys;
      for (size_t i = 0; i < spec.key->size(); ++i) keys.push_back(i);
      columnar::encode_key(*rows, keys, row, request.key);
      const columnar::RowKind kind = rows->kind(row);
      if (kind == columnar::RowKind::kUpdateBefore) return;
      if (kind != columnar::RowKind::kDelete) return put(sender, {request, {}});
      if (tables_[spec.table].contains(request.key)) remove(sender, request);
    });
  }
  marker = commit.marker;
  return table::CommitOutcome::kCommitted;
}

SimTables::Table SimTables::rows(const std::string& table) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return {};
  Table rows = found->second;
  for (auto& [key, row] : rows)
    std::erase_if(row.writers, [](const auto& entry) { return entry.second.gone; });
  std::erase_if(rows, [](const auto& entry) { return entry.second.writers.empty(); });
  return rows;
}

std::vector<std::string> SimTables::added(const std::string& table) const {
  const auto found = added_.find(table);
  return found == added_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace strand::sim
