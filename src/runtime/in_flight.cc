#include "runtime/in_flight.h"

#include "columnar/row_codec.h"

namespace strand::runtime {

std::string encode_in_flight(const std::vector<InFlight>& rows) {
  ByteWriter out;
  out.put(static_cast<uint64_t>(rows.size()));
  for (const InFlight& one : rows) {
    out.put(one.input);
    out.put(static_cast<uint8_t>(one.partials));
    out.put_string(one.columns);
    columnar::put_batch(one.rows, out);
  }
  return out.take();
}

Result<std::vector<InFlight>> decode_in_flight(std::string_view bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  std::vector<InFlight> rows;
  for (uint64_t i = 0; i < count; ++i) {
    STRAND_TRY(const int32_t input, in.get<int32_t>());
    STRAND_TRY(const uint8_t partials, in.get<uint8_t>());
    STRAND_TRY(const std::string_view columns, in.get_string());
    STRAND_TRY(std::vector<columnar::Batch> batches, columnar::read_batch(in));
    for (columnar::Batch& batch : batches)
      rows.push_back({input, partials != 0, std::string(columns), std::move(batch)});
  }
  return rows;
}

}  // namespace strand::runtime
