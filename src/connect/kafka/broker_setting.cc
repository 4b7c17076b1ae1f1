#include "connect/kafka/broker_setting.h"

namespace strand::connect::kafka {

namespace {

using EventPtr = std::unique_ptr<rd_kafka_event_t, Destroy<rd_kafka_event_destroy>>;
using ResourcePtr = std::unique_ptr<rd_kafka_ConfigResource_t, Destroy<rd_kafka_ConfigResource_destroy>>;
using AdminPtr = std::unique_ptr<rd_kafka_AdminOptions_t, Destroy<rd_kafka_AdminOptions_destroy>>;

constexpr int kSettingTime = static_cast<int>(kAnswerTime.millis);

std::optional<int32_t> a_broker(const Client& client) {
  const struct rd_kafka_metadata* answer = nullptr;
  if (rd_kafka_metadata(client.get(), 0, nullptr, &answer, kSettingTime) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::nullopt;
  const int32_t broker = answer->orig_broker_id;
  rd_kafka_metadata_destroy(answer);
  return broker;
}

}  // namespace

std::optional<std::string> broker_setting(const Client& client, const std::string& name) {
  const auto broker = a_broker(client);
  if (!broker) return std::nullopt;
  const ResourcePtr resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, std::to_string(*broker).c_str()));
  const AdminPtr options(rd_kafka_AdminOptions_new(client.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  char text[512];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kSettingTime, text, sizeof text);
  const QueuePtr queue(rd_kafka_queue_new(client.get()));
  rd_kafka_ConfigResource_t* asked = resource.get();
  rd_kafka_DescribeConfigs(client.get(), &asked, 1, options.get(), queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), 2 * kSettingTime));
  if (event == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return std::nullopt;
  size_t n = 0;
  const auto* result = rd_kafka_event_DescribeConfigs_result(event.get());
  rd_kafka_ConfigResource_t const* const* of = rd_kafka_DescribeConfigs_result_resources(result, &n);
  if (n != 1 || rd_kafka_ConfigResource_error(of[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  const rd_kafka_ConfigEntry_t* const* entries = rd_kafka_ConfigResource_configs(of[0], &n);
  for (size_t i = 0; i < n; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (name == rd_kafka_ConfigEntry_name(entries[i]) && value != nullptr) return value;
  }
  return std::nullopt;
}

}  // namespace strand::connect::kafka
