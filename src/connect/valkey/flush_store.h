// A table in Valkey whose rows show at once (mode flush).
#pragma once

#include <memory>

#include "connect/table/store.h"
#include "connect/valkey/options.h"

namespace strand::connect::valkey {

/// A row is a hash under `TABLE:KEY:...`, its values are texts. Each `apply` is one script, which checks the
/// attempt row (W6). What an acknowledged write survives is `Durability`.
std::unique_ptr<table::TableStore> make_flush_store(ValkeyOptions options);

/// The name of the hash: the table and the texts of the key columns, with `:` between them; `\` before a `:`
/// or `\` inside. `first`: position of the first key column.
std::string row_name(const std::string& table, const columnar::Batch& rows, int64_t row, size_t keys);

}  // namespace strand::connect::valkey
