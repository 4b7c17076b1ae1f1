#include "state/change_accumulators.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "columnar/sort_key.h"

namespace strand::state {

namespace {

constexpr uint32_t kNoValue = 0xFFFFFFFF;  // NULL

using ValueCounts = std::map<std::string, int64_t>;

bool is_extreme(const AccumulatorSpec& spec) {
  return spec.op == AccumulatorOp::kMin || spec.op == AccumulatorOp::kMax;
}

std::vector<AccumulatorSpec> without_extremes(const std::vector<AccumulatorSpec>& specs) {
  std::vector<AccumulatorSpec> numbers;
  std::ranges::copy_if(specs, std::back_inserter(numbers),
                       [](const auto& spec) { return !is_extreme(spec); });
  return numbers;
}

/// The lowest or highest value that is there; null if none is.
const std::string* extreme_of(const ValueCounts& values, bool smallest) {
  const auto there = [](const auto& entry) { return entry.second > 0; };
  if (smallest) {
    const auto found = std::ranges::find_if(values, there);
    return found == values.end() ? nullptr : &found->first;
  }
  const auto found = std::find_if(values.rbegin(), values.rend(), there);
  return found == values.rend() ? nullptr : &found->first;
}

}  // namespace

ChangeAccumulators::ChangeAccumulators(const std::vector<AccumulatorSpec>& specs, bool takes_back)
    : numbers_(without_extremes(specs)), takes_back_(takes_back) {
  size_t numbers = 0;
  for (const AccumulatorSpec& spec : specs) {
    places_.push_back({is_extreme(spec), is_extreme(spec) ? extremes_.size() : numbers});
    if (is_extreme(spec)) {
      extremes_.push_back({spec.column, spec.op == AccumulatorOp::kMin});
    } else {
      ++numbers;
    }
  }
}

void ChangeAccumulators::prepare(int64_t sign, State& state) const {
  STRAND_CHECK(takes_back_ || sign > 0);
  state.numbers.resize(numbers_.bytes());
  state.extremes.resize(extremes_.size());
}

void ChangeAccumulators::change(const columnar::Batch& batch, int64_t row, int64_t sign, State& state) const {
  prepare(sign, state);
  numbers_.change(batch, row, sign, state.numbers.data());
  for (size_t i = 0; i < extremes_.size(); ++i) {
    const columnar::Column& column = batch.column(extremes_[i].column);
    if (column.is_null(row)) continue;
    std::string value;
    columnar::append_ordered(column, row, value);
    change_extreme(extremes_[i], std::move(value), sign, state.extremes[i]);
  }
}

// A share is the numbers of one row; then, for each MIN and MAX, the length of its value and the value.
void ChangeAccumulators::append_share(const columnar::Batch& batch, int64_t row, std::string& out) const {
  const size_t from = out.size();
  out.resize(from + numbers_.bytes());
  numbers_.change(batch, row, 1, out.data() + from);
  for (const Extreme& extreme : extremes_) {
    const size_t length_at = out.size();
    out.resize(length_at + sizeof(uint32_t));
    uint32_t length = kNoValue;
    const columnar::Column& column = batch.column(extreme.column);
    if (!column.is_null(row)) {
      columnar::append_ordered(column, row, out);
      length = static_cast<uint32_t>(out.size() - length_at - sizeof(uint32_t));
    }
    std::memcpy(out.data() + length_at, &length, sizeof length);
  }
}

void ChangeAccumulators::change(std::string_view share, int64_t sign, State& state) const {
  prepare(sign, state);
  numbers_.change(share.data(), sign, state.numbers.data());
  share.remove_prefix(numbers_.bytes());
  for (size_t i = 0; i < extremes_.size(); ++i) {
    uint32_t length = 0;
    std::memcpy(&length, share.data(), sizeof length);
    share.remove_prefix(sizeof length);
    if (length == kNoValue) continue;
    change_extreme(extremes_[i], std::string(share.substr(0, length)), sign, state.extremes[i]);
    share.remove_prefix(length);
  }
}

void ChangeAccumulators::change_extreme(const Extreme& extreme, std::string value, int64_t sign,
                                        ValueCounts& values) const {
  if (takes_back_) {
    const auto entry = values.try_emplace(std::move(value), 0).first;
    entry->second += sign;
    if (entry->second == 0) values.erase(entry);
    return;
  }
  const bool better =
      values.empty() || (extreme.smallest ? value < values.begin()->first : values.begin()->first < value);
  if (!better) return;
  values.clear();
  values.emplace(std::move(value), 1);
}

void ChangeAccumulators::append_results(const State& state, columnar::BatchBuilder& out, size_t first) const {
  static const ValueCounts kNone;
  const std::string zeros(state.numbers.empty() ? numbers_.bytes() : 0, '\0');
  const char* numbers = state.numbers.empty() ? zeros.data() : state.numbers.data();
  for (size_t i = 0; i < places_.size(); ++i) {
    columnar::ColumnBuilder& column = out.column(first + i);
    const Place& place = places_[i];
    if (!place.extreme) {
      numbers_.append_result(place.index, numbers, column);
      continue;
    }
    const ValueCounts& values = state.extremes.empty() ? kNone : state.extremes[place.index];
    const std::string* value = extreme_of(values, extremes_[place.index].smallest);
    if (value == nullptr) {
      column.append_null();
    } else {
      columnar::append_from_ordered(*value, column);
    }
  }
}

void ChangeAccumulators::encode(const State& state, ByteWriter& out) const {
  out.put_string(state.numbers);
  for (size_t i = 0; i < extremes_.size(); ++i) {
    const bool any = i < state.extremes.size();
    out.put(static_cast<uint32_t>(any ? state.extremes[i].size() : 0));
    if (!any) continue;
    for (const auto& [value, times] : state.extremes[i]) {
      out.put_string(value);
      out.put(times);
    }
  }
}

Status ChangeAccumulators::decode(ByteReader& in, State& state) const {
  STRAND_TRY(const std::string_view numbers, in.get_string());
  if (!numbers.empty() && numbers.size() != numbers_.bytes()) {
    return Status(ErrorCode::kCheckpointUnreadable, "expected the accumulators of " +
                                                        std::to_string(numbers_.bytes()) + " bytes, found " +
                                                        std::to_string(numbers.size()));
  }
  state.numbers = numbers;
  state.extremes.assign(extremes_.size(), {});
  for (ValueCounts& values : state.extremes) {
    STRAND_TRY(const uint32_t size, in.get<uint32_t>());
    for (uint32_t i = 0; i < size; ++i) {
      STRAND_TRY(const std::string_view value, in.get_string());
      STRAND_TRY(const int64_t times, in.get<int64_t>());
      values.emplace_hint(values.end(), value, times);
    }
  }
  return Status();
}

int64_t ChangeAccumulators::memory_bytes(const State& state) {
  constexpr size_t kNodeBytes = 80;  // of a value in a map, with a short key
  size_t bytes = state.numbers.capacity();
  for (const ValueCounts& values : state.extremes) bytes += sizeof(values) + values.size() * kNodeBytes;
  return static_cast<int64_t>(bytes);
}

}  // namespace strand::state
