#include "connect/blackhole/blackhole_sink.h"

namespace strand::connect::blackhole {

void add_blackhole_connector(Registry& registry) {
  Connector connector;
  connector.sink = [](const TableContext&) -> Result<std::unique_ptr<flow::Sink>> {
    return std::unique_ptr<flow::Sink>(new BlackholeSink());
  };
  registry.add("blackhole", std::move(connector));
}

}  // namespace strand::connect::blackhole
