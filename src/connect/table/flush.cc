#include "connect/table/flush.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace strand::connect::table {

Flush::Flush(const WriterSpec& spec, const flow::SinkStart& start, const Rules& rules)
    : key_schema_(spec.key),
      key_columns_(spec.key->size()),
      share_(start),
      rules_(rules),
      tag_{start.generation, start.attempt, start.restored.value_or(Epoch{0}), 0},
      history_(start.history, start.generation, start.attempt) {
  std::iota(key_columns_.begin(), key_columns_.end(), size_t{0});
}

Status Flush::hold(const BatchPtr& rows) {
  std::vector<uint64_t> hashes;
  columnar::hash_rows(*rows, key_columns_, hashes);
  bool mine = true;
  rows->for_each_row([&](int64_t row) {
    mine = mine && share_.owns(hashes[static_cast<size_t>(row)]);
    const columnar::RowKind kind = rows->kind(row);
    if (kind == columnar::RowKind::kUpdateBefore || kind == columnar::RowKind::kDelete) return;
    std::string key;
    columnar::encode_key(*rows, key_columns_, row, key);
    const auto [at, is_new] = held_.insert_or_assign(key, Held{rows, row});
    if (is_new) held_order_.push_back(std::move(key));
  });
  if (mine) return Status();
  return Status(ErrorCode::kInternal, "a held row has reached a sink subtask that does not own its key");
}

void Flush::plan(const Listing& listing) {
  plan_sweep(listing);
  if (listing.deletes) plan_deleted(listing);
}

void Flush::plan_sweep(const Listing& listing) {
  const std::span<const Tagged> values(listing.values);
  constexpr size_t kChunk = columnar::Batch::kMaxRows;
  for (size_t from = 0; from < values.size(); from += kChunk) {
    plan_dead(values.subspan(from, std::min(kChunk, values.size() - from)));
  }
}

void Flush::plan_dead(std::span<const Tagged> values) {
  std::vector<std::string> keys;
  for (const Tagged& value : values) keys.push_back(value.key);
  std::vector<uint64_t> hashes;
  columnar::hash_rows(*decode_keys(key_schema_, keys), key_columns_, hashes);
  for (size_t i = 0; i < values.size(); ++i) {
    if (share_.owns(hashes[i]) && history_.dead(values[i].tag))
      visits_.push_back({values[i].key, values[i].tag});
  }
}

void Flush::plan_deleted(const Listing& listing) {
  std::unordered_set<std::string_view> listed;
  for (const Tagged& value : listing.values) listed.insert(value.key);
  for (const std::string& key : held_order_) {
    if (!listed.contains(key)) visits_.push_back({key, std::nullopt});
  }
}

std::vector<Request> Flush::next(size_t rows) const {
  const size_t n = std::min(rows, visits_.size() - next_);
  std::vector<std::string> keys;
  for (size_t i = 0; i < n; ++i) keys.push_back(visits_[next_ + i].key);
  const BatchPtr batch = decode_keys(key_schema_, keys);
  std::vector<Request> requests;
  for (size_t i = 0; i < n; ++i)
    requests.push_back(request(visits_[next_ + i], batch, static_cast<int64_t>(i)));
  return requests;
}

Request Flush::request(const Visit& visit, const BatchPtr& keys, int64_t row) const {
  const auto held = held_.find(visit.key);
  Request request{Request::Kind::kRemove, visit.key, keys, row, tag_, visit.tag, 1};
  if (held == held_.end() || !rules_.f2) return request;
  request.kind = Request::Kind::kRewrite;
  request.batch = held->second.batch;
  request.row = held->second.row;
  return request;
}

}  // namespace strand::connect::table
