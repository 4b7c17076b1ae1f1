#include "sim/world/sim_connector.h"

#include "connect/table/flush_sink.h"

namespace strand::sim {

connect::Connector simstore_connector(SimStore* store, connect::table::Rules rules) {
  constexpr uint64_t kLane = 0x57A7E;
  connect::Connector connector;
  connector.sink = [store,
                    rules](const connect::TableContext& context) -> Result<std::unique_ptr<flow::Sink>> {
    connect::table::FlushOptions options;
    options.closed_rows = context.closed_rows;
    options.lane = kLane;
    options.events = context.events;
    options.rules = rules;
    return connect::table::make_flush_sink(connect::table::writer_spec(context, context.table),
                                           store->connect(), context.env, options);
  };
  connector.sink_options = {"path", "table-name", "sink.mode"};
  return connector;
}

}  // namespace strand::sim
