#include "sim/world/sim_connector.h"

#include "connect/table/flush_sink.h"
#include "connect/table/transaction_sink.h"

namespace strand::sim {

namespace {
constexpr uint64_t kLane = 0x57A7E;
constexpr uint64_t kLogLane = 0x57A7F;
}  // namespace

connect::Connector simstore_connector(SimStore* store, connect::table::Rules rules, bool parallel) {
  connect::Connector connector;
  connector.sink =
      [=, lane = kLane](const connect::TableContext& context) mutable -> Result<std::unique_ptr<flow::Sink>> {
    connect::table::FlushOptions options;
    options.closed_rows = context.closed_rows;
    options.lane = parallel ? lane++ : lane;
    options.events = context.events;
    options.request_life = kRequestLife;
    options.rules = rules;
    return connect::table::make_flush_sink(connect::table::writer_spec(context, context.table),
                                           store->connect(), context.env, options);
  };
  connector.sink_options = {"path", "table-name", "sink.mode"};
  connector.parallel_sink = parallel;
  return connector;
}

connect::Connector simlog_connector(SimStore* store, connect::table::Rules rules) {
  connect::Connector connector;
  connector.sink = [=](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    connect::table::TransactionOptions options;
    options.lane = kLogLane;
    options.memory = context.memory;
    options.rules = rules;
    return connect::table::make_transaction_sink(connect::table::writer_spec(context, context.table),
                                                 store->connect_transactions(), context.env, options);
  };
  connector.transactional = true;
  connector.parallel_sink = true;
  return connector;
}

}  // namespace strand::sim
