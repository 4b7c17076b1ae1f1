// What tests do to a broker beside the program under test: topics, records in, records out. Built on librdkafka
// alone, so that it shares nothing with the connector.
//
//   kafka_probe BROKERS create TOPIC PARTITIONS [KEY=VALUE ...]
//   kafka_probe BROKERS delete TOPIC
//   kafka_probe BROKERS trim TOPIC PARTITION OFFSET      deletes the records before the offset
//   kafka_probe BROKERS produce TOPIC                    lines of stdin: `PARTITION<tab>KEY<tab>VALUE[<tab>MILLIS]`, - is none
//   kafka_probe BROKERS read TOPIC                       what read_committed sees: `PARTITION<tab>OFFSET<tab>KEY<tab>VALUE`
//   kafka_probe BROKERS offsets GROUP TOPIC PARTITIONS   `PARTITION<tab>OFFSET<tab>METADATA`
//   kafka_probe BROKERS commit GROUP TOPIC PARTITION OFFSET
//   kafka_probe BROKERS forget GROUP                     deletes a group with its offsets
//   kafka_probe BROKERS open TOPIC ID [MILLIS]           leaves a transaction with one record open, and ends; MILLIS: the broker ends it then
//   kafka_probe BROKERS fill TOPIC RECORDS               clicks as JSON, one a millisecond of event time, spread over the partitions
//   kafka_probe BROKERS copy FROM TO                     the bare loop: consumes every record and produces it again; prints what it took
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using Settings = std::map<std::string, std::string>;
constexpr int kWait = 30'000;
int g_failed_deliveries = 0;

[[noreturn]] void die(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "kafka_probe: %s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

void check(const std::string& what, rd_kafka_resp_err_t error) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) die(what, rd_kafka_err2str(error));
}

void check(const std::string& what, rd_kafka_error_t* error) {
  if (error != nullptr) die(what, rd_kafka_error_string(error));
}

rd_kafka_t* client(rd_kafka_type_t type, const std::string& brokers, Settings settings) {
  char text[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  settings["bootstrap.servers"] = brokers;
  settings["log_level"] = "3";
  for (const auto& [key, value] : settings) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK) die(key, text);
  }
  rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) ++g_failed_deliveries;
  });
  rd_kafka_t* handle = rd_kafka_new(type, conf, text, sizeof text);
  if (handle == nullptr) die("client", text);
  return handle;
}

/// Waits for the answer to an admin request; its first topic's error ends the process.
void answer(const std::string& what, rd_kafka_queue_t* queue) {
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kWait);
  if (event == nullptr) die(what, "no answer");
  check(what, rd_kafka_event_error(event));
  size_t n = 0;
  const rd_kafka_topic_result_t** topics = nullptr;
  if (const auto* made = rd_kafka_event_CreateTopics_result(event)) topics = rd_kafka_CreateTopics_result_topics(made, &n);
  if (const auto* gone = rd_kafka_event_DeleteTopics_result(event)) topics = rd_kafka_DeleteTopics_result_topics(gone, &n);
  if (n > 0) check(what, rd_kafka_topic_result_error(topics[0]));
}

void create(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {});
  char text[512];
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(words[0].c_str(), std::stoi(words[1]), -1, text, sizeof text);
  if (topic == nullptr) die("create", text);
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    rd_kafka_NewTopic_set_config(topic, words[i].substr(0, equals).c_str(), words[i].substr(equals + 1).c_str());
  }
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_CreateTopics(handle, &topic, 1, nullptr, queue);
  answer("create", queue);
}

void remove(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {});
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(words[0].c_str());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteTopics(handle, &topic, 1, nullptr, queue);
  answer("delete", queue);
}

void trim(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {});
  auto* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, words[0].c_str(), std::stoi(words[1]))->offset = std::stoll(words[2]);
  rd_kafka_DeleteRecords_t* records = rd_kafka_DeleteRecords_new(list);
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteRecords(handle, &records, 1, nullptr, queue);
  answer("trim", queue);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == '\t') parts.emplace_back();
    if (c != '\t') parts.back() += c;
  }
  return parts;
}

void produce(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {{"enable.idempotence", "true"}, {"linger.ms", "2"}});
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> parts = split(line);
    const std::string& key = parts[1];
    const std::string& value = parts[2];
    const bool has_key = key != "-", has_value = value != "-";
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    do {
      error = rd_kafka_producev(
          handle, RD_KAFKA_V_TOPIC(words[0].c_str()), RD_KAFKA_V_PARTITION(std::stoi(parts[0])),
          RD_KAFKA_V_KEY(has_key ? key.data() : nullptr, has_key ? key.size() : 0),
          RD_KAFKA_V_VALUE(has_value ? const_cast<char*>(value.data()) : nullptr, has_value ? value.size() : 0),
          RD_KAFKA_V_TIMESTAMP(parts.size() > 3 ? std::stoll(parts[3]) : 0), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
          RD_KAFKA_V_END);
      rd_kafka_poll(handle, error == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 5 : 0);
    } while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    check("produce", error);
  }
  check("flush", rd_kafka_flush(handle, kWait));
  if (g_failed_deliveries > 0) die("produce", std::to_string(g_failed_deliveries) + " records were not delivered");
  rd_kafka_destroy(handle);
}

int partitions_of(rd_kafka_t* handle, const std::string& topic) {
  rd_kafka_topic_t* rkt = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
  const struct rd_kafka_metadata* metadata = nullptr;
  check("metadata", rd_kafka_metadata(handle, 0, rkt, &metadata, kWait));
  check(topic, metadata->topics[0].err);
  return metadata->topics[0].partition_cnt;
}

std::string text(const void* bytes, size_t size) {
  return bytes == nullptr ? "-" : std::string(static_cast<const char*>(bytes), size);
}

void read(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_CONSUMER, brokers,
                              {{"group.id", "kafka_probe"}, {"isolation.level", "read_committed"}, {"check.crcs", "true"},
                               {"enable.partition.eof", "true"}, {"enable.auto.commit", "false"}, {"auto.offset.reset", "earliest"}});
  const int partitions = partitions_of(handle, words[0]);
  auto* list = rd_kafka_topic_partition_list_new(partitions);
  for (int p = 0; p < partitions; ++p) rd_kafka_topic_partition_list_add(list, words[0].c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
  check("assign", rd_kafka_assign(handle, list));
  for (int ended = 0; ended < partitions;) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(handle, 1'000);
    if (message == nullptr) continue;
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      ++ended;
    } else {
      check("read", message->err);
      std::printf("%d\t%lld\t%s\t%s\n", message->partition, static_cast<long long>(message->offset),
                  text(message->key, message->key_len).c_str(), text(message->payload, message->len).c_str());
    }
    rd_kafka_message_destroy(message);
  }
}

void offsets(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_CONSUMER, brokers, {{"group.id", words[0]}, {"isolation.level", "read_uncommitted"}});
  auto* list = rd_kafka_topic_partition_list_new(1);
  for (int p = 0; p < std::stoi(words[2]); ++p) rd_kafka_topic_partition_list_add(list, words[1].c_str(), p);
  for (int tries = 0;; ++tries) {
    rd_kafka_resp_err_t error = rd_kafka_committed(handle, list, kWait);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = list->elems[0].err;
    // A broker that has just come back finds its groups one by one.
    const bool soon = error == RD_KAFKA_RESP_ERR_NOT_COORDINATOR || error == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
    if (!soon || tries == 100) check("offsets", error);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (int i = 0; i < list->cnt; ++i) {
    const auto& part = list->elems[i];
    check("offsets", part.err);
    if (part.offset >= 0)
      std::printf("%d\t%lld\t%s\n", part.partition, static_cast<long long>(part.offset), text(part.metadata, part.metadata_size).c_str());
  }
}

void commit(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_CONSUMER, brokers, {{"group.id", words[0]}});
  auto* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, words[1].c_str(), std::stoi(words[2]))->offset = std::stoll(words[3]);
  check("commit", rd_kafka_commit(handle, list, 0));
}

void forget(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {});
  rd_kafka_DeleteGroup_t* group = rd_kafka_DeleteGroup_new(words[0].c_str());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(handle);
  rd_kafka_DeleteGroups(handle, &group, 1, nullptr, queue);
  answer("forget", queue);
}

void leave_open(const std::string& brokers, const std::vector<std::string>& words) {
  Settings settings = {{"transactional.id", words[1]}};
  if (words.size() > 2) settings.insert({{"transaction.timeout.ms", words[2]}, {"socket.timeout.ms", "1000"}, {"message.timeout.ms", words[2]}});
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, settings);
  check("init", rd_kafka_init_transactions(handle, kWait));
  check("begin", rd_kafka_begin_transaction(handle));
  check("produce", rd_kafka_producev(handle, RD_KAFKA_V_TOPIC(words[0].c_str()), RD_KAFKA_V_VALUE(const_cast<char*>("open"), 4),
                                     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
  check("flush", rd_kafka_flush(handle, kWait));
}

void fill(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* handle = client(RD_KAFKA_PRODUCER, brokers, {{"linger.ms", "20"}, {"queue.buffering.max.messages", "500000"}, {"compression.codec", "lz4"}});
  rd_kafka_topic_t* topic = rd_kafka_topic_new(handle, words[0].c_str(), nullptr);
  const int partitions = partitions_of(handle, words[0]);
  char line[256];
  for (long i = 0; i < std::stol(words[1]); ++i) {
    const int size = std::snprintf(line, sizeof line, R"({"click_id":"c%09ld","ad_id":"ad-%ld","spend_micros":%ld,"ms":%ld})", i, i * 7919 % 1'000,
                                   i % 997, 1'704'103'200'000 + i);
    while (rd_kafka_produce(topic, static_cast<int32_t>(i % partitions), RD_KAFKA_MSG_F_COPY, line, static_cast<size_t>(size), nullptr, 0, nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) check("fill", rd_kafka_last_error());
      rd_kafka_poll(handle, 5);
    }
    if (i % 1'024 == 0) rd_kafka_poll(handle, 0);
  }
  check("flush", rd_kafka_flush(handle, kWait));
  if (g_failed_deliveries > 0) die("fill", std::to_string(g_failed_deliveries) + " records were not delivered");
}

void copy(const std::string& brokers, const std::vector<std::string>& words) {
  rd_kafka_t* from = client(RD_KAFKA_CONSUMER, brokers, {{"group.id", "kafka_probe"}, {"isolation.level", "read_committed"}, {"enable.partition.eof", "true"},
                                                         {"enable.auto.commit", "false"}, {"fetch.message.max.bytes", "4194304"}});
  rd_kafka_t* to = client(RD_KAFKA_PRODUCER, brokers, {{"linger.ms", "5"}, {"queue.buffering.max.messages", "500000"}, {"delivery.report.only.error", "true"}});
  rd_kafka_topic_t* topic = rd_kafka_topic_new(to, words[1].c_str(), nullptr);
  const int partitions = partitions_of(from, words[0]);
  partitions_of(to, words[1]);
  auto* list = rd_kafka_topic_partition_list_new(partitions);
  for (int p = 0; p < partitions; ++p) rd_kafka_topic_partition_list_add(list, words[0].c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
  check("assign", rd_kafka_assign(from, list));
  rd_kafka_queue_t* queue = rd_kafka_queue_get_consumer(from);
  std::vector<rd_kafka_message_t*> found(4'096);
  std::vector<rd_kafka_message_t> out;
  long records = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int ended = 0; ended < partitions;) {
    const ssize_t n = rd_kafka_consume_batch_queue(queue, 100, found.data(), found.size());
    out.clear();
    for (ssize_t i = 0; i < n; ++i) {
      if (found[static_cast<size_t>(i)]->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ended;
      if (found[static_cast<size_t>(i)]->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      out.emplace_back();
      out.back().payload = found[static_cast<size_t>(i)]->payload;
      out.back().len = found[static_cast<size_t>(i)]->len;
    }
    for (size_t sent = 0; sent < out.size();) {
      sent += static_cast<size_t>(rd_kafka_produce_batch(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, out.data() + sent, static_cast<int>(out.size() - sent)));
      if (sent < out.size()) rd_kafka_poll(to, 5);
    }
    records += static_cast<long>(out.size());
    for (ssize_t i = 0; i < n; ++i) rd_kafka_message_destroy(found[static_cast<size_t>(i)]);
  }
  check("flush", rd_kafka_flush(to, kWait));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  std::printf("{\"records\": %ld, \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n", records, seconds, cpu);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::pair<int, void (*)(const std::string&, const std::vector<std::string>&)>> verbs = {
      {"create", {2, create}},   {"delete", {1, remove}}, {"trim", {3, trim}},     {"produce", {1, produce}},
      {"read", {1, read}},       {"offsets", {3, offsets}}, {"commit", {4, commit}}, {"open", {2, leave_open}}, {"forget", {1, forget}},
      {"fill", {2, fill}},       {"copy", {2, copy}}};
  const auto verb = argc < 3 ? verbs.end() : verbs.find(argv[2]);
  const std::vector<std::string> words(argv + std::min(argc, 3), argv + argc);
  if (verb == verbs.end() || static_cast<int>(words.size()) < verb->second.first) die("usage", "see the head of kafka_probe.cc");
  verb->second.second(argv[1], words);
  std::fflush(stdout);
  std::_Exit(0);  // without the second that closing connections takes
}
