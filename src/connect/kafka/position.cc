#include "connect/kafka/position.h"

#include <charconv>
#include <cstdio>

namespace strand::connect::kafka {

std::string Position::text() const {
  std::string text = "{\"offset\": " + std::to_string(next);
  if (stop) text += ", \"stop\": " + std::to_string(*stop);
  return text + "}";
}

Result<Position> Position::parse(const ShardState& shard) {
  Position position;
  if (shard.position.empty()) return position;
  long long next = 0, stop = 0;
  const int found = std::sscanf(shard.position.c_str(), "{\"offset\": %lld, \"stop\": %lld", &next, &stop);
  if (found < 1) {
    return Status(ErrorCode::kCheckpointUnreadable,
                  "expected a position like {\"offset\": 12}, found " + shard.position)
        .at(shard.shard);
  }
  position.next = next;
  if (found == 2) position.stop = stop;
  return position;
}

Result<PartitionName> PartitionName::parse(const std::string& shard) {
  const size_t dash = shard.rfind('-');
  PartitionName name;
  const char* end = shard.data() + shard.size();
  if (dash != std::string::npos) {
    const auto [at, error] = std::from_chars(shard.data() + dash + 1, end, name.partition);
    name.topic = shard.substr(0, dash);
    if (error == std::errc() && at == end) return name;
  }
  return Status(ErrorCode::kCheckpointUnreadable, "expected a shard like topic-0, found " + shard)
      .hint("was the table another connector's when the checkpoint was taken? Start anew (--from none)");
}

}  // namespace strand::connect::kafka
