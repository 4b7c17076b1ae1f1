// Which partitions a table has, and where reading them begins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connect/kafka/options.h"
#include "connect/kafka/position.h"
#include "flow/source.h"

namespace strand::connect::kafka {

/// Finds the partitions of the table's topics: each is a shard `topic-7`. The first look waits for the
/// broker; later ones ask in the background and tell what the last answer was, so that the job master never
/// waits: a broker that does not answer then only delays new partitions. kUnknownTopic, kSourceUnavailable,
/// kRefused.
class KafkaFinder final : public flow::ShardFinder {
 public:
  KafkaFinder(const TableContext& table, KafkaOptions options);
  Result<std::vector<std::string>> find() override;
  /// Fixes where each partition begins and, in a bounded table, ends. Partitions that come to a job which
  /// reads already are read from their first record: all of it was written after the job had begun.
  Status begin(std::vector<ShardState>& shards, bool late) override;
  std::optional<Duration> interval() const override { return options_.discovery; }

 private:
  struct Looking;
  struct Place {
    ShardState* shard;
    PartitionName name;
    Position position;
  };
  Status find_starts(std::vector<Place>& places, bool late);
  Status find_stops(std::vector<Place>& places);

  const std::string table_;
  const KafkaOptions options_;
  const env::Env env_;
  std::shared_ptr<Looking> looking_;
};

}  // namespace strand::connect::kafka
