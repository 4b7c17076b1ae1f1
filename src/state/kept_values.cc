#include "state/kept_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "columnar/sort_key.h"

namespace strand::state {

namespace {

using columnar::Column;
using columnar::ColumnBuilder;

// Behind the bytes of a value of PERCENTILE: how often it counts.
constexpr size_t kWeightBytes = sizeof(int64_t);

/// Changes how often a value is there; true if it came or went by that.
bool count(std::string_view value, int64_t by, KeptValues& kept) {
  const auto entry = kept.times.try_emplace(std::string(value), 0).first;
  const bool before = entry->second > 0;
  entry->second += by;
  const bool after = entry->second > 0;
  if (entry->second == 0) kept.times.erase(entry);
  kept.distinct += (after ? 1 : 0) - (before ? 1 : 0);
  return before != after;
}

double double_of(const std::string& ordered) {
  ColumnBuilder one(columnar::make_type(columnar::TypeKind::kDouble));
  columnar::append_from_ordered(ordered, one);
  return one.finish()->values<double>()[0];
}

}  // namespace

KeptAggregate::KeptAggregate(const AccumulatorSpec& spec, bool takes_back)
    : spec_(spec),
      takes_back_(takes_back),
      number_(summed() ? std::vector{AccumulatorSpec{spec.op, spec.column, spec.input, spec.result}}
                       : std::vector<AccumulatorSpec>{}) {}

bool KeptAggregate::keeps(const AccumulatorSpec& spec) {
  return spec.distinct || spec.op == AccumulatorOp::kMin || spec.op == AccumulatorOp::kMax ||
         spec.op > AccumulatorOp::kAvg;
}

bool KeptAggregate::append_value(const columnar::Batch& batch, int64_t row, std::string& out) const {
  if (spec_.filter) {
    const Column& filter = batch.column(*spec_.filter);
    if (filter.is_null(row) || !filter.boolean(row)) return false;
  }
  const Column& column = batch.column(spec_.column);
  if (column.is_null(row) && !spec_.nulls) return false;
  if (extreme()) {
    columnar::append_ordered(column, row, out);
  } else if (summed()) {
    const size_t from = out.size();
    out.resize(from + number_.bytes());
    number_.change(batch, row, 1, out.data() + from);
  } else if (spec_.op == AccumulatorOp::kPercentile) {
    int64_t weight = 1;
    if (spec_.weight) {
      const Column& weights = batch.column(*spec_.weight);
      weight = weights.is_null(row) ? 0 : weights.values<int64_t>()[row];
      if (weight <= 0) return false;
    }
    columnar::append_ordered(column, row, out);
    out.append(reinterpret_cast<const char*>(&weight), kWeightBytes);
  } else {
    const size_t columns[] = {spec_.column};
    columnar::encode_key(batch, columns, row, out);
  }
  return true;
}

bool KeptAggregate::count(std::string_view value, int64_t by, KeptValues& kept,
                          const CountsOf& counts) const {
  if (counts.counts == nullptr || !counted()) return strand::state::count(value, by, kept);
  if (!takes_back_ && !ordered()) {
    const bool fresh = counts.counts->put(counts.aggregate, value);
    kept.distinct += fresh ? 1 : 0;
    return fresh;
  }
  const int64_t now = counts.counts->add(counts.aggregate, value, by);
  if (ordered()) return strand::state::count(value, by, kept);
  const bool before = now - by > 0;
  kept.distinct += (now > 0 ? 1 : 0) - (before ? 1 : 0);
  return before != (now > 0);
}

void KeptAggregate::change(std::string_view value, int64_t sign, KeptValues& kept,
                           const CountsOf& counts) const {
  if (extreme()) {
    if (!takes_back_) return keep_best(value, kept);
    count(value, sign, kept, counts);
  } else if (spec_.op == AccumulatorOp::kPercentile) {
    int64_t weight = 0;
    std::memcpy(&weight, value.data() + value.size() - kWeightBytes, kWeightBytes);
    count(value.substr(0, value.size() - kWeightBytes), sign * weight, kept, counts);
  } else if (listed()) {
    if (!spec_.distinct || count(value, sign, kept, counts)) change_list(value, sign, kept);
  } else if (count(value, sign, kept, counts) && summed()) {
    kept.number.resize(number_.bytes());
    number_.change(value.data(), sign, kept.number.data());
  }
}

void KeptAggregate::keep_best(std::string_view value, KeptValues& kept) const {
  const bool smallest = spec_.op == AccumulatorOp::kMin;
  const bool better = kept.times.empty() ||
                      (smallest ? value < kept.times.begin()->first : kept.times.begin()->first < value);
  if (!better) return;
  kept.times.clear();
  kept.times.emplace(value, 1);
}

void KeptAggregate::change_list(std::string_view value, int64_t sign, KeptValues& kept) const {
  std::vector<std::string>& list = kept.list;
  if (!takes_back_ && spec_.op == AccumulatorOp::kLast) list.clear();
  if (!takes_back_ && spec_.op == AccumulatorOp::kFirst && !list.empty()) return;
  if (!takes_back_ && spec_.op == AccumulatorOp::kLag && list.size() > spec_.offset) list.erase(list.begin());
  if (spec_.distinct) {
    // `times` is about the values themselves.
    if (sign > 0) return void(list.emplace_back(value));
    return void(list.erase(std::ranges::find(list, value)));
  }
  if (sign < 0) {
    const auto found = std::ranges::find(list, value);
    if (found != list.end()) return void(list.erase(found));
    --kept.times[std::string(value)];
    return;
  }
  const auto owed = kept.times.find(std::string(value));
  if (owed == kept.times.end()) return void(list.emplace_back(value));
  if (++owed->second == 0) kept.times.erase(owed);
}

void KeptAggregate::merge(const KeptValues& from, KeptValues& kept) const {
  if (listed() && !spec_.distinct) {
    for (const std::string& value : from.list) change_list(value, 1, kept);
    return;
  }
  if (listed()) {
    // In the order in which they came first, then how often.
    for (const std::string& value : from.list) {
      if (count(value, from.times.at(value), kept, {})) change_list(value, 1, kept);
    }
    return;
  }
  for (const auto& [value, times] : from.times) {
    if (extreme() && !takes_back_) {
      keep_best(value, kept);
    } else if (count(value, times, kept, {}) && summed()) {
      kept.number.resize(number_.bytes());
      number_.change(value.data(), 1, kept.number.data());
    }
  }
}

std::vector<double> KeptAggregate::percentiles(const KeptValues& kept) const {
  std::vector<std::pair<double, int64_t>> sorted;
  int64_t total = 0;
  for (const auto& [value, times] : kept.times) {
    if (times <= 0) continue;
    sorted.emplace_back(double_of(value), times);
    total += times;
  }
  std::vector<double> results;
  for (const double fraction : spec_.fractions) {
    const double position = fraction * static_cast<double>(total + 1);
    const double lower = std::floor(position);
    const double upper = std::ceil(position);
    size_t at = 0;
    int64_t through = sorted[0].second;
    while (static_cast<double>(through) < lower && at + 1 < sorted.size()) through += sorted[++at].second;
    const bool exact = static_cast<double>(through) >= upper || at + 1 == sorted.size();
    results.push_back(exact ? sorted[at].first
                            : (upper - position) * sorted[at].first +
                                  (position - lower) * sorted[at + 1].first);
  }
  return results;
}

void KeptAggregate::append_result(const KeptValues& kept, ColumnBuilder& out) const {
  const auto there = [](const auto& entry) { return entry.second > 0; };
  const auto append_one = [&](const std::string& encoded, ColumnBuilder& to) {
    ColumnBuilder* const columns[] = {&to};
    columnar::decode_key(encoded, columns);
  };
  switch (spec_.op) {
    case AccumulatorOp::kMin: {
      const auto found = std::ranges::find_if(kept.times, there);
      return found == kept.times.end() ? out.append_null() : columnar::append_from_ordered(found->first, out);
    }
    case AccumulatorOp::kMax: {
      const auto found = std::find_if(kept.times.rbegin(), kept.times.rend(), there);
      return found == kept.times.rend() ? out.append_null()
                                        : columnar::append_from_ordered(found->first, out);
    }
    case AccumulatorOp::kFirst:
      return kept.list.empty() ? out.append_null() : append_one(kept.list.front(), out);
    case AccumulatorOp::kLast:
      return kept.list.empty() ? out.append_null() : append_one(kept.list.back(), out);
    case AccumulatorOp::kLag: {
      const size_t newest = kept.list.size();
      return newest <= spec_.offset ? out.append_null()
                                    : append_one(kept.list[newest - 1 - spec_.offset], out);
    }
    case AccumulatorOp::kArray:
      if (kept.list.empty()) return out.append_null();
      for (const std::string& value : kept.list) append_one(value, out.child(0));
      return out.close_nested();
    case AccumulatorOp::kCollect:
      for (const auto& [value, times] : kept.times) {
        if (times <= 0) continue;
        append_one(value, out.child(0));
        out.child(1).append(static_cast<int32_t>(times));
      }
      return out.close_nested();
    case AccumulatorOp::kPercentile: {
      if (kept.distinct == 0) return out.append_null();
      const std::vector<double> values = percentiles(kept);
      if (out.type()->kind == columnar::TypeKind::kDouble) return out.append(values[0]);
      for (const double value : values) out.child(0).append(value);
      return out.close_nested();
    }
    case AccumulatorOp::kSum:
    case AccumulatorOp::kAvg: {
      const std::string zeros(number_.bytes(), '\0');
      return number_.append_result(0, kept.number.empty() ? zeros.data() : kept.number.data(), out);
    }
    default:
      return out.append(kept.distinct);
  }
}

// MIN and MAX: the values and how often they are there. Others behind that: the list, the number.
void KeptAggregate::encode(const KeptValues* kept, ByteWriter& out, bool counted_elsewhere) const {
  static const KeptValues kNone;
  if (kept == nullptr) kept = &kNone;
  const auto& values = counted_elsewhere && counted() ? kNone.times : kept->times;
  out.put(static_cast<uint32_t>(values.size()));
  for (const auto& [value, times] : values) {
    out.put_string(value);
    out.put(times);
  }
  if (extreme()) return;
  out.put(static_cast<uint32_t>(kept->list.size()));
  for (const std::string& value : kept->list) out.put_string(value);
  out.put_string(kept->number);
}

Status KeptAggregate::decode(ByteReader& in, KeptValues& kept) const {
  STRAND_TRY(const uint32_t size, in.get<uint32_t>());
  for (uint32_t i = 0; i < size; ++i) {
    STRAND_TRY(const std::string_view value, in.get_string());
    STRAND_TRY(const int64_t times, in.get<int64_t>());
    kept.times.emplace_hint(kept.times.end(), value, times);
    if (times > 0) ++kept.distinct;
  }
  if (extreme()) return Status();
  STRAND_TRY(const uint32_t listed, in.get<uint32_t>());
  for (uint32_t i = 0; i < listed; ++i) {
    STRAND_TRY(const std::string_view value, in.get_string());
    kept.list.emplace_back(value);
  }
  STRAND_TRY(kept.number, in.get_string());
  if (kept.number.empty() || kept.number.size() == number_.bytes()) return Status();
  return Status(ErrorCode::kCheckpointUnreadable, "expected a sum of " + std::to_string(number_.bytes()) +
                                                      " bytes, found " + std::to_string(kept.number.size()));
}

void KeptAggregate::restore(std::string_view value, int64_t times, KeptValues& kept) const {
  if (ordered()) kept.times.emplace(value, times);
  if (times > 0) ++kept.distinct;
}

void KeptAggregate::move_values(KeptValues& kept, const CountsOf& counts) const {
  if (!counted()) return;
  for (const auto& [value, times] : kept.times) counts.counts->add(counts.aggregate, value, times);
  if (!ordered()) kept.times.clear();
}

int64_t KeptAggregate::memory_bytes(const KeptValues& kept) {
  constexpr size_t kNodeBytes = 80;  // of a value in a map, with a short key
  size_t bytes = sizeof(KeptValues) + kept.times.size() * kNodeBytes + kept.number.capacity();
  for (const std::string& value : kept.list) bytes += sizeof value + value.capacity();
  return static_cast<int64_t>(bytes);
}

}  // namespace strand::state
