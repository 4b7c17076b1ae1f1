#pragma once

#include "base/status.h"
#include "columnar/type.h"

namespace strand::codec {

/// Whether CSV can hold the columns: no MAP, no interval, lists of plain values only.
Status check_csv_schema(const columnar::Schema& schema);
Status check_csv_column(const columnar::Field& column);

}  // namespace strand::codec
