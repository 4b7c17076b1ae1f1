// Rows of a Valkey table by their whole key, for lookup joins.
#pragma once

#include <memory>
#include <string>

#include "connect/registry.h"
#include "connect/valkey/options.h"

namespace strand::connect::valkey {

/// Errors: kBadOption, where the keys that are looked up are not the table's primary key.
Result<std::unique_ptr<flow::Lookup>> make_valkey_lookup(const TableContext& context, ValkeyOptions options,
                                                         std::string table);

}  // namespace strand::connect::valkey
