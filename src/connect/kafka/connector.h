// The connectors `kafka` and `upsert-kafka`.
#pragma once

#include "connect/registry.h"

namespace strand::connect::kafka {

void add_kafka_connectors(Registry& registry);

}  // namespace strand::connect::kafka
