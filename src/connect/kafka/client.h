// Handles of librdkafka with owners, and its errors as ours.
#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/status.h"

namespace strand::connect::kafka {

/// Settings of librdkafka by name.
using Properties = std::map<std::string, std::string>;

/// How long one question to a broker may take before the caller hears that it got no answer.
inline constexpr Duration kAnswerTime{10'000};

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, Destroy<rd_kafka_topic_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, Destroy<rd_kafka_queue_destroy>>;
using PartitionsPtr =
    std::unique_ptr<rd_kafka_topic_partition_list_t, Destroy<rd_kafka_topic_partition_list_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, Destroy<rd_kafka_error_destroy>>;

enum class Side : uint8_t { kSource, kSink };

/// A client of a cluster: connects when it is first used, and again by itself with waits that grow. What the
/// library would print is kept for messages instead. Thread-safe, as librdkafka's handle is.
class Client {
 public:
  /// kBadOption for a property that the library does not know. Asks nobody.
  static Result<std::unique_ptr<Client>> make(rd_kafka_type_t type, const Properties& properties);
  ~Client();

  rd_kafka_t* get() const { return handle_; }
  Result<TopicPtr> topic(const std::string& name);
  /// No broker can be reached: since when no word has come, as the library says. Cleared by `heard`.
  std::optional<std::string> trouble() const;
  void heard();
  /// A refusal that asking again does not change.
  Status refusal(Side side) const;
  /// Why the broker did not take a record of this producer: of the first such.
  std::optional<rd_kafka_resp_err_t> failed_delivery() const;
  /// `code` as an error of ours; `doing` says what was tried: "read topic clicks".
  Status error(Side side, rd_kafka_resp_err_t code, const std::string& doing) const;

 private:
  Client() = default;
  static void on_log(const rd_kafka_t* handle, int level, const char* facility, const char* text);
  static void on_error(rd_kafka_t* handle, int code, const char* reason, void* self);
  static void on_delivery(rd_kafka_t* handle, const rd_kafka_message_t* message, void* self);
  void serve() const;
  std::string last_word() const;

  rd_kafka_t* handle_ = nullptr;
  std::string servers_;
  mutable std::mutex mutex_;
  std::string log_;
  std::string trouble_;
  rd_kafka_resp_err_t failed_delivery_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_resp_err_t refused_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string refusal_;
};

/// Whether librdkafka would take the properties. kBadOption, with the nearest name.
Status check_properties(const Properties& properties);

/// `topic-7`
std::string shard_name(const std::string& topic, int32_t partition);

}  // namespace strand::connect::kafka
