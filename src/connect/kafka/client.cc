#include "connect/kafka/client.h"

#include <vector>

#include "base/text.h"

namespace strand::connect::kafka {

namespace {

constexpr size_t kTextMax = 512;

ErrorCode code_of(Side side, rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return ErrorCode::kUnknownTopic;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return ErrorCode::kRefused;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return ErrorCode::kRecordTooLong;
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return ErrorCode::kBadOption;
    default:
      return side == Side::kSource ? ErrorCode::kSourceUnavailable : ErrorCode::kSinkUnavailable;
  }
}

const char* hint_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnknownTopic:
      return "correct 'topic', or create it";
    case ErrorCode::kRefused:
      return "correct properties.sasl.* or properties.ssl.*, or give this user the right";
    case ErrorCode::kRecordTooLong:
      return "raise 'properties.message.max.bytes' here and max.message.bytes of the topic";
    case ErrorCode::kBadOption:
      return "set 'properties.transaction.timeout.ms' to at most the broker's transaction.max.timeout.ms (15 "
             "minutes by default)";
    default:
      return "see whether the broker runs and properties.bootstrap.servers names it";
  }
}

/// The names that the library knows, without those that only programs can set.
std::vector<std::string> known_properties() {
  // The dump leaves out what has no default.
  std::vector<std::string> names = {"bootstrap.servers", "group.id",        "sasl.username",
                                    "sasl.password",     "ssl.ca.location", "ssl.certificate.location"};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  size_t entries = 0;
  const char** dump = rd_kafka_conf_dump(conf, &entries);
  for (size_t i = 0; i + 1 < entries; i += 2) names.emplace_back(dump[i]);
  rd_kafka_conf_dump_free(dump, entries);
  rd_kafka_conf_destroy(conf);
  return names;
}

Status set_all(rd_kafka_conf_t* conf, const Properties& properties) {
  char text[kTextMax];
  for (const auto& [name, value] : properties) {
    const auto result = rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof text);
    if (result == RD_KAFKA_CONF_OK) continue;
    const std::string key = "'properties." + name + "'";
    if (result == RD_KAFKA_CONF_UNKNOWN) {
      Status error(ErrorCode::kUnknownOption, key + " is no property of librdkafka");
      const auto near = nearest(name, known_properties());
      return std::move(error).hint(near ? "did you mean 'properties." + *near + "'?"
                                        : "remove it: properties of Java's client only have no effect here");
    }
    return Status(ErrorCode::kBadOption, key + ": " + text).hint("leave it out for the default");
  }
  return Status();
}

}  // namespace

std::string shard_name(const std::string& topic, int32_t partition) {
  return topic + "-" + std::to_string(partition);
}

Status check_properties(const Properties& properties) {
  const std::unique_ptr<rd_kafka_conf_t, Destroy<rd_kafka_conf_destroy>> conf(rd_kafka_conf_new());
  return set_all(conf.get(), properties);
}

Result<std::unique_ptr<Client>> Client::make(rd_kafka_type_t type, const Properties& properties) {
  std::unique_ptr<Client> client(new Client());
  std::unique_ptr<rd_kafka_conf_t, Destroy<rd_kafka_conf_destroy>> conf(rd_kafka_conf_new());
  STRAND_OK(set_all(conf.get(), properties));
  const auto servers = properties.find("bootstrap.servers");
  if (servers != properties.end()) client->servers_ = servers->second;
  rd_kafka_conf_set_opaque(conf.get(), client.get());
  rd_kafka_conf_set_log_cb(conf.get(), on_log);
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  char text[kTextMax];
  if (type == RD_KAFKA_PRODUCER) {
    rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
    rd_kafka_conf_set(conf.get(), "delivery.report.only.error", "true", text, sizeof text);
  }
  client->handle_ = rd_kafka_new(type, conf.get(), text, sizeof text);
  if (client->handle_ == nullptr)
    return Status(ErrorCode::kBadOption, std::string("librdkafka: ") + text).hint("correct the properties");
  static_cast<void>(conf.release());  // the handle's now
  return client;
}

Client::~Client() {
  if (handle_ != nullptr) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

Result<TopicPtr> Client::topic(const std::string& name) {
  TopicPtr topic(rd_kafka_topic_new(handle_, name.c_str(), nullptr));
  if (topic == nullptr) return error(Side::kSource, rd_kafka_last_error(), "use topic " + name);
  return topic;
}

void Client::on_log(const rd_kafka_t* handle, int, const char*, const char* text) {
  auto* self = static_cast<Client*>(rd_kafka_opaque(handle));
  const std::lock_guard lock(self->mutex_);
  self->log_ = text;
}

void Client::on_error(rd_kafka_t*, int code, const char* reason, void* opaque) {
  auto* self = static_cast<Client*>(opaque);
  const auto error = static_cast<rd_kafka_resp_err_t>(code);
  const std::lock_guard lock(self->mutex_);
  if (code_of(Side::kSource, error) == ErrorCode::kRefused) {
    self->refused_ = error;
    self->refusal_ = reason;
  } else if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    self->trouble_ = "no broker of " + self->servers_ + " answers";
  }
}

void Client::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto* self = static_cast<Client*>(opaque);
  const std::lock_guard lock(self->mutex_);
  if (self->failed_delivery_ == RD_KAFKA_RESP_ERR_NO_ERROR) self->failed_delivery_ = message->err;
}

std::optional<rd_kafka_resp_err_t> Client::failed_delivery() const {
  serve();
  const std::lock_guard lock(mutex_);
  if (failed_delivery_ == RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return failed_delivery_;
}

/// Calls on_error and on_delivery for what has happened since.
void Client::serve() const { rd_kafka_poll(handle_, 0); }

std::optional<std::string> Client::trouble() const {
  serve();
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? std::nullopt : std::optional<std::string>(trouble_);
}

void Client::heard() {
  const std::lock_guard lock(mutex_);
  trouble_.clear();
}

std::string Client::last_word() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

Status Client::refusal(Side side) const {
  serve();
  std::unique_lock lock(mutex_);
  if (refused_ == RD_KAFKA_RESP_ERR_NO_ERROR) return Status();
  const std::string reason = refusal_;
  const rd_kafka_resp_err_t code = refused_;
  lock.unlock();
  return error(side, code, "sign in (" + reason + ")");
}

Status Client::error(Side side, rd_kafka_resp_err_t code, const std::string& doing) const {
  const ErrorCode number = code_of(side, code);
  std::string text = "kafka " + servers_ + ": cannot " + doing + ": " + rd_kafka_err2str(code);
  const bool reach = number == ErrorCode::kSourceUnavailable || number == ErrorCode::kSinkUnavailable;
  if (const std::string word = last_word(); reach && !word.empty()) text += " (" + word + ")";
  return Status(number, std::move(text)).hint(hint_of(number));
}

}  // namespace strand::connect::kafka
