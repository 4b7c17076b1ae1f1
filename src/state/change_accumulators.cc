#include "state/change_accumulators.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace strand::state {

namespace {

constexpr uint32_t kNoValue = 0xFFFFFFFF;  // the row does not count

std::vector<AccumulatorSpec> only_numbers(const std::vector<AccumulatorSpec>& specs) {
  std::vector<AccumulatorSpec> numbers;
  std::ranges::copy_if(specs, std::back_inserter(numbers),
                       [](const auto& spec) { return !KeptAggregate::keeps(spec); });
  return numbers;
}

}  // namespace

ChangeAccumulators::ChangeAccumulators(const std::vector<AccumulatorSpec>& specs, bool takes_back)
    : numbers_(only_numbers(specs)), takes_back_(takes_back) {
  size_t numbers = 0;
  for (const AccumulatorSpec& spec : specs) {
    const bool kept = KeptAggregate::keeps(spec);
    places_.push_back({kept, kept ? kept_.size() : numbers});
    if (kept) {
      kept_.emplace_back(spec, takes_back);
    } else {
      ++numbers;
    }
  }
}

void ChangeAccumulators::prepare(int64_t sign, State& state) const {
  STRAND_CHECK(takes_back_ || sign > 0);
  state.numbers.resize(numbers_.bytes());
  state.kept.resize(kept_.size());
}

void ChangeAccumulators::change(const columnar::Batch& batch, int64_t row, int64_t sign, State& state,
                                ValueCounts* counts) const {
  prepare(sign, state);
  numbers_.change(batch, row, sign, state.numbers.data());
  std::string value;
  for (size_t i = 0; i < kept_.size(); ++i) {
    value.clear();
    if (kept_[i].append_value(batch, row, value)) kept_[i].change(value, sign, state.kept[i], {counts, i});
  }
}

// A share is the numbers of one row; then, for each other aggregate, the length of its value and the value.
void ChangeAccumulators::append_share(const columnar::Batch& batch, int64_t row, std::string& out) const {
  const size_t from = out.size();
  out.resize(from + numbers_.bytes());
  numbers_.change(batch, row, 1, out.data() + from);
  for (const KeptAggregate& kept : kept_) {
    const size_t length_at = out.size();
    out.resize(length_at + sizeof(uint32_t));
    uint32_t length = kNoValue;
    if (kept.append_value(batch, row, out))
      length = static_cast<uint32_t>(out.size() - length_at - sizeof(uint32_t));
    std::memcpy(out.data() + length_at, &length, sizeof length);
  }
}

void ChangeAccumulators::change(std::string_view share, int64_t sign, State& state) const {
  prepare(sign, state);
  numbers_.change(share.data(), sign, state.numbers.data());
  share.remove_prefix(numbers_.bytes());
  for (size_t i = 0; i < kept_.size(); ++i) {
    uint32_t length = 0;
    std::memcpy(&length, share.data(), sizeof length);
    share.remove_prefix(sizeof length);
    if (length == kNoValue) continue;
    kept_[i].change(share.substr(0, length), sign, state.kept[i]);
    share.remove_prefix(length);
  }
}

void ChangeAccumulators::merge(const State& from, State& state) const {
  prepare(1, state);
  if (from.numbers.empty() && from.kept.empty()) return;
  numbers_.change(from.numbers.data(), 1, state.numbers.data());
  for (size_t i = 0; i < kept_.size(); ++i) kept_[i].merge(from.kept[i], state.kept[i]);
}

void ChangeAccumulators::append_results(const State& state, columnar::BatchBuilder& out, size_t first) const {
  static const KeptValues kNone;
  const std::string zeros(state.numbers.empty() ? numbers_.bytes() : 0, '\0');
  const char* numbers = state.numbers.empty() ? zeros.data() : state.numbers.data();
  for (size_t i = 0; i < places_.size(); ++i) {
    columnar::ColumnBuilder& column = out.column(first + i);
    const Place& place = places_[i];
    if (place.kept) {
      kept_[place.index].append_result(state.kept.empty() ? kNone : state.kept[place.index], column);
    } else {
      numbers_.append_result(place.index, numbers, column);
    }
  }
}

void ChangeAccumulators::encode(const State& state, ByteWriter& out, bool counted_elsewhere) const {
  out.put_string(state.numbers);
  for (size_t i = 0; i < kept_.size(); ++i) {
    kept_[i].encode(i < state.kept.size() ? &state.kept[i] : nullptr, out, counted_elsewhere);
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
  state.kept.assign(kept_.size(), {});
  for (size_t i = 0; i < kept_.size(); ++i) STRAND_OK(kept_[i].decode(in, state.kept[i]));
  return Status();
}

Status ChangeAccumulators::restore(size_t aggregate, std::string_view value, int64_t times,
                                   State& state) const {
  if (aggregate >= kept_.size()) {
    return Status(ErrorCode::kCheckpointUnreadable,
                  "expected a value of one of " + std::to_string(kept_.size()) +
                      " aggregates, found one of number " + std::to_string(aggregate));
  }
  state.kept.resize(kept_.size());
  kept_[aggregate].restore(value, times, state.kept[aggregate]);
  return Status();
}

void ChangeAccumulators::move_values(State& state, ValueCounts& counts) const {
  for (size_t i = 0; i < state.kept.size(); ++i) kept_[i].move_values(state.kept[i], {&counts, i});
}

int64_t ChangeAccumulators::values(const State& state) {
  int64_t values = 0;
  for (const KeptValues& kept : state.kept)
    values += std::max(kept.distinct, static_cast<int64_t>(kept.times.size()));
  return values;
}

int64_t ChangeAccumulators::memory_bytes(const State& state) {
  auto bytes = static_cast<int64_t>(state.numbers.capacity());
  for (const KeptValues& kept : state.kept) bytes += KeptAggregate::memory_bytes(kept);
  return bytes;
}

}  // namespace strand::state
