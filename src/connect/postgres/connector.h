// Connector `jdbc`: tables in PostgreSQL.
#pragma once

#include "connect/registry.h"

namespace strand::connect::postgres {

/// Sinks in modes flush and transaction, and lookups, with the options of Flink's connector of that name.
void add_postgres_connector(Registry& registry);

}  // namespace strand::connect::postgres
