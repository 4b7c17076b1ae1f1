#include <cstring>

#include "codec/csv.h"
#include "codec/swar.h"

namespace strand::codec {

bool CsvSplitter::split(std::string_view line) {
  fields_.clear();
  if ((options_.quote != '\0' && std::memchr(line.data(), options_.quote, line.size()) != nullptr) ||
      (options_.escape != '\0' && std::memchr(line.data(), options_.escape, line.size()) != nullptr)) {
    return split_quoted(line);
  }
  const char* from = line.data();
  const char* end = from + line.size();
  const auto field_ends = [&](const char* p) {
    fields_.emplace_back(from, static_cast<size_t>(p - from));
    from = p + 1;
  };
  const char* p = from;
  for (; end - p >= 8; p += 8) {
    // Above the first of them a find may tell of bytes that are none, so each is looked at.
    for (uint64_t found = find_byte(load8(p), options_.delimiter); found != 0; found &= found - 1) {
      if (p[first_byte(found)] == options_.delimiter) field_ends(p + first_byte(found));
    }
  }
  for (; p < end; ++p) {
    if (*p == options_.delimiter) field_ends(p);
  }
  fields_.emplace_back(from, static_cast<size_t>(end - from));
  return true;
}

bool CsvSplitter::split_quoted(std::string_view line) {
  buffer_.clear();
  places_.clear();
  for (size_t at = 0;;) {
    const size_t from = buffer_.size();
    const bool quoted = options_.quote != '\0' && at < line.size() && line[at] == options_.quote;
    at = quoted ? quoted_field(line, at + 1) : plain_field(line, at);
    if (at == std::string_view::npos) return false;
    places_.emplace_back(from, buffer_.size() - from);
    if (at == line.size()) break;
    ++at;  // the delimiter
  }
  for (const auto& [from, size] : places_) fields_.emplace_back(buffer_.data() + from, size);
  return true;
}

/// Appends the field to the buffer and returns the place of the delimiter or of the end; npos if it is not
/// well formed.
size_t CsvSplitter::quoted_field(std::string_view line, size_t at) {
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == options_.escape && options_.escape != '\0' && at + 1 < line.size()) {
      buffer_.push_back(line[++at]);
    } else if (c != options_.quote) {
      buffer_.push_back(c);
    } else if (at + 1 < line.size() && line[at + 1] == options_.quote) {
      buffer_.push_back(line[++at]);
    } else {
      ++at;
      while (at < line.size() && line[at] == ' ') ++at;
      return at == line.size() || line[at] == options_.delimiter ? at : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

size_t CsvSplitter::plain_field(std::string_view line, size_t at) {
  for (; at < line.size() && line[at] != options_.delimiter; ++at) {
    if (line[at] == options_.escape && options_.escape != '\0' && at + 1 < line.size()) ++at;
    buffer_.push_back(line[at]);
  }
  return at;
}

}  // namespace strand::codec
