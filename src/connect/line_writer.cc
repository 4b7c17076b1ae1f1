#include "connect/line_writer.h"

#include <cerrno>
#include <cstring>

namespace strand::connect {

Status StreamLineWriter::write(std::string_view lines) {
  const size_t written = std::fwrite(lines.data(), 1, lines.size(), stream_);
  if (written == lines.size() && std::fflush(stream_) == 0) return Status();
  const int error = errno;
  if (error == EPIPE) {
    return Status(ErrorCode::kSinkReadOnly, "cannot print rows: the program that read the output has ended")
        .hint("write to a table or a file if rows must outlive their reader");
  }
  return Status(ErrorCode::kSinkUnavailable, std::string("cannot print rows: ") + std::strerror(error))
      .hint("see whether the place that the output goes to has room and can be written");
}

}  // namespace strand::connect
