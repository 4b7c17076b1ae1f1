#include "connect/line_writer.h"

namespace strand::connect {

Status StreamLineWriter::write(std::string_view lines) {
  const size_t written = std::fwrite(lines.data(), 1, lines.size(), stream_);
  if (written == lines.size() && std::fflush(stream_) == 0) return Status();
  return Status(ErrorCode::kSinkUnavailable,
                "cannot print rows: the output has been closed or cannot be written")
      .hint("is the program that reads the output still there?");
}

}  // namespace strand::connect
