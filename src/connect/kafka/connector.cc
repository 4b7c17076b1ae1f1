#include "connect/kafka/connector.h"

#include "base/hash.h"
#include "connect/kafka/finder.h"
#include "connect/kafka/plain_sink.h"
#include "connect/kafka/reader.h"
#include "connect/kafka/transactions.h"
#include "connect/table/transaction_sink.h"

namespace strand::connect::kafka {

namespace {

Result<std::unique_ptr<flow::ShardFinder>> make_finder(const TableContext& table, bool upsert) {
  STRAND_TRY(KafkaOptions options, read_options(table, Side::kSource, upsert));
  return std::unique_ptr<flow::ShardFinder>(new KafkaFinder(table, std::move(options)));
}

Result<std::unique_ptr<flow::SourceReader>> make_reader(const TableContext& table, bool upsert) {
  STRAND_TRY(KafkaOptions options, read_options(table, Side::kSource, upsert));
  STRAND_TRY(auto rows, RecordRows::make(table, options));
  return std::unique_ptr<flow::SourceReader>(new KafkaReader(table, std::move(options), std::move(rows)));
}

Result<std::unique_ptr<flow::Sink>> make_sink(const TableContext& context, bool upsert) {
  STRAND_TRY(KafkaOptions options, read_options(context, Side::kSink, upsert));
  STRAND_TRY(auto rows, OutgoingRows::make(context, options));
  if (options.guarantee == Guarantee::kExactlyOnce) {
    // One lane for a cluster: a broker that does not answer holds up one thread, however many sinks wait.
    const uint64_t lane = hash64("kafka:" + options.properties.at("bootstrap.servers"));
    table::WriterSpec spec = table::writer_spec(context, context.table);
    return table::make_transaction_sink(
        std::move(spec), std::make_unique<KafkaTransactions>(std::move(options), std::move(rows)),
        context.env, {lane, context.memory, {}});
  }
  return std::unique_ptr<flow::Sink>(new PlainSink(context, std::move(options), std::move(rows)));
}

}  // namespace

void add_kafka_connectors(Registry& registry) {
  for (const bool upsert : {false, true}) {
    Connector connector;
    connector.finder = [upsert](const TableContext& table) { return make_finder(table, upsert); };
    connector.reader = [upsert](const TableContext& table) { return make_reader(table, upsert); };
    connector.sink = [upsert](const TableContext& table) { return make_sink(table, upsert); };
    connector.source_options = source_option_names(upsert);
    connector.sink_options = sink_option_names(upsert);
    connector.metadata = record_metadata;
    connector.written_metadata = written_metadata();
    connector.parallel_sink = true;
    registry.add(upsert ? "upsert-kafka" : "kafka", std::move(connector));
  }
}

}  // namespace strand::connect::kafka
