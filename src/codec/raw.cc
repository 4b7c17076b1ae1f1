#include "codec/raw.h"

#include "codec/text_values.h"

namespace strand::codec {

Result<size_t> RawDecoder::decode(std::string_view lines, uint64_t position, DecodeOutput& out) {
  size_t at = 0;
  while (at < lines.size() && !out.full()) {
    std::string_view line = lines.substr(at);
    line = line.substr(0, line.find('\n'));
    const size_t begin = at;
    at = std::min(at + line.size() + 1, lines.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (read_->size() == 1 && (*read_)[0].type->kind == columnar::TypeKind::kString && !valid_utf8(line)) {
      out.add_bad(position + begin, line, "not UTF-8");
      continue;
    }
    if (read_->size() == 1) out.rows().column(0).append_string(line);
    out.rows().end_row();
  }
  return at;
}

Status RawEncoder::encode(const columnar::Batch& batch, std::string& out) {
  batch.for_each_row([&](int64_t row) {
    if (!batch.column(0).is_null(row)) out.append(batch.column(0).string(row));
    out.push_back('\n');
  });
  return Status();
}

}  // namespace strand::codec
