// How far a transactional sink has come, as the broker remembers it.
#pragma once

#include <optional>
#include <string>

#include "connect/kafka/client.h"
#include "connect/table/transaction_store.h"

namespace strand::connect::kafka {

/// The marker of one subtask of a sink (replay.md X5): what a group without members has committed for
/// partition 0 of the topic. The offset is the epoch, the metadata says the rest.
struct StoredMarker {
  table::Marker marker;
  std::string job;
  int32_t subtasks = 1;  // the most that the sink ever had

  std::string metadata() const;
  /// Nothing if the text is none of ours.
  static std::optional<StoredMarker> parse(int32_t subtask, int64_t epoch, std::string_view metadata);
};

enum class Stability : uint8_t {
  kAsCommitted,  // whatever was committed last, also while another transaction is open
  kStable,       // waits until no transaction is open
};

/// The marker of a group; nothing if there is none. kSinkUnavailable, kRefused, kWriterTaken (the group holds
/// something else). Asks through a consumer of the group: librdkafka 2.0 crashes when it lists the offsets of
/// a group whose coordinator is not ready.
Result<std::optional<StoredMarker>> read_marker(const Properties& properties, const std::string& group,
                                                const std::string& topic, int32_t subtask,
                                                Stability stability);

/// Adds the marker to the open transaction.
ErrorPtr send_marker(const Client& client, const std::string& group, const std::string& topic,
                     const StoredMarker& marker, Duration deadline);

}  // namespace strand::connect::kafka
