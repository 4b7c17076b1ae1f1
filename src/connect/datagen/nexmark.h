// Nexmark events: an auction house's persons, auctions and bids, as the benchmark's generator makes them
// (github.com/nexmark/nexmark), but the same bytes everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "env/env.h"

namespace strand::connect::datagen {

struct NexmarkOptions {
  uint64_t seed = 1;
  int64_t events = 1'000'000;
  int64_t rate = 10'000;  // events per second of event time
  int32_t shards = 1;
  int64_t start_ms = 1'767'225'600'000;  // of the first event
};

/// kBadOption where the values make no sense.
Status check_nexmark_options(const NexmarkOptions& options);

enum class NexmarkKind : uint8_t { kPerson, kAuction, kBid };

/// Of each 50 events one is a person, then come three auctions, then 46 bids. Half of the bids are for one
/// auction, three quarters by one bidder, and both change with time; other bids are for one of the last
/// hundred auctions, by one of the last thousand persons, a few of which do not exist yet. Prices are
/// log-uniform from 100 to 10^8. An event follows from (seed, event) alone; a run is a prefix of a longer
/// one. Thread-safe, because nothing changes. Requires options that check_nexmark_options accepts.
class NexmarkGenerator {
 public:
  explicit NexmarkGenerator(const NexmarkOptions& options);

  NexmarkKind kind(int64_t event) const;
  /// Blocks of 50 go to the shards in turn.
  int32_t shard(int64_t event) const { return static_cast<int32_t>(event / kBlock % options_.shards); }
  int64_t time_ms(int64_t event) const { return options_.start_ms + event * 1'000 / options_.rate; }
  /// Appends the event as one line of JSON, with its '\n': `event_type` 0, 1 or 2, and `person`, `auction` or
  /// `bid`.
  void append_line(int64_t event, std::string& out) const;

 private:
  static constexpr int64_t kBlock = 50;
  void append_person(int64_t event, Random& random, std::string& out) const;
  void append_auction(int64_t event, Random& random, std::string& out) const;
  void append_bid(int64_t event, Random& random, std::string& out) const;
  void append_extra(int64_t mean_bytes, Random& random, std::string& out) const;
  int64_t price(Random& random) const;

  NexmarkOptions options_;
  std::vector<int64_t> prices_;  // a thousand for each power of ten
  std::string letters_;          // fillings are pieces of it
};

/// How many have been written, by kind.
struct NexmarkProgress {
  std::array<int64_t, 3> events = {};
  int64_t bytes = 0;
  int64_t rows() const { return events[0] + events[1] + events[2]; }
};

/// Writes the shards `shard-00.jsonl` and so on into `dir`, over files that are there. After an error they
/// must be written anew.
Result<NexmarkProgress> generate_nexmark(env::FileSystem& files, const std::string& dir,
                                         const NexmarkOptions& options,
                                         const std::function<void(const NexmarkProgress&)>& on_progress);

}  // namespace strand::connect::datagen
