#include "time/lag_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace strand::time {

namespace {

constexpr size_t kMantissaBits = 6;
constexpr uint64_t kExact = uint64_t{1} << (kMantissaBits + 1);  // below it, a bucket for each millisecond

size_t bucket_of(uint64_t millis) {
  if (millis < kExact) return millis;
  const size_t shift = static_cast<size_t>(std::bit_width(millis)) - 1 - kMantissaBits;
  return (shift << kMantissaBits) + (millis >> shift);
}

/// The longest duration of a bucket.
int64_t last_of(size_t bucket) {
  if (bucket < kExact) return static_cast<int64_t>(bucket);
  const size_t shift = (bucket >> kMantissaBits) - 1;
  const uint64_t mantissa = bucket - (shift << kMantissaBits);
  return static_cast<int64_t>(((mantissa + 1) << shift) - 1);
}

}  // namespace

void LagHistogram::add(Duration lag, int64_t weight) {
  const size_t bucket = bucket_of(static_cast<uint64_t>(std::max<int64_t>(lag.millis, 0)));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  for (Share* share : {&buckets_[bucket], &all_}) {
    ++share->rows;
    share->weight += weight;
  }
}

Duration LagHistogram::quantile(double q) const {
  const auto wanted = static_cast<int64_t>(std::ceil(q * static_cast<double>(all_.rows)));
  int64_t rows = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    rows += buckets_[bucket].rows;
    if (rows >= wanted) return Duration{last_of(bucket)};
  }
  return Duration{0};
}

LagHistogram::Share LagHistogram::above(Duration bound) const {
  Share share;
  const size_t first = bound.millis < 0 ? 0 : bucket_of(static_cast<uint64_t>(bound.millis)) + 1;
  for (size_t bucket = first; bucket < buckets_.size(); ++bucket) {
    share.rows += buckets_[bucket].rows;
    share.weight += buckets_[bucket].weight;
  }
  return share;
}

void LagHistogram::add(const LagHistogram& other) {
  buckets_.resize(std::max(buckets_.size(), other.buckets_.size()));
  for (size_t i = 0; i < other.buckets_.size(); ++i) {
    buckets_[i].rows += other.buckets_[i].rows;
    buckets_[i].weight += other.buckets_[i].weight;
  }
  all_.rows += other.all_.rows;
  all_.weight += other.all_.weight;
}

void LagProfile::add(const std::string& shard, EventTime event, WallTime arrival, int64_t weight) {
  Shard& of = shards_[shard];
  of.lag.add(Duration{arrival.millis - event.millis}, weight);
  const bool first = of.highest == EventTime::min();
  of.disorder.add(first ? Duration{0} : Duration{of.highest.millis - event.millis}, weight);
  of.highest = std::max(of.highest, event);
}

LagHistogram LagProfile::sum(LagHistogram Shard::* of) const {
  LagHistogram all;
  for (const auto& [name, shard] : shards_) all.add(shard.*of);
  return all;
}

Duration LagProfile::recommended_bound(double q) const {
  const int64_t measured = lag().quantile(q).millis;
  return Duration{measured + (measured + 9) / 10};
}

}  // namespace strand::time
