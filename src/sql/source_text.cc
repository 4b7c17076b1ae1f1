#include "sql/source_text.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace strand::sql {

namespace {

constexpr size_t kExcerptBytes = 160;  // of a longer line, the part around the place is shown

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

struct Line {
  size_t begin;
  size_t end;
};

Line line_of(std::string_view text, size_t offset) {
  const size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  size_t end = std::min(text.find('\n', offset), text.size());
  if (end > begin && text[end - 1] == '\r') --end;
  return {begin, std::max(begin, end)};
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') ||
         c == 0x7F;
}

}  // namespace

Status check_text(const SourceText& source) {
  const std::string_view text = source.text();
  const auto control = static_cast<size_t>(std::find_if(text.begin(), text.end(), is_control) - text.begin());
  const size_t wrong = std::min(control, valid_utf8_bytes(text));
  if (wrong == text.size()) return Status();
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(text[wrong])));
  return Status(ErrorCode::kSyntax, std::string("expected SQL in UTF-8, found the byte ") + byte)
      .at(source.where(wrong))
      .hint("is it the right file? A job is text; write it in UTF-8");
}

SourceText::SourceText(std::string text, std::string file)
    : text_(std::move(text)), file_(std::move(file)), lines_{0} {
  for (size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    lines_.push_back(at + 1);
}

std::string SourceText::where(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  const size_t begin = lines_[static_cast<size_t>(line) - 1];
  const size_t column = characters(text().substr(begin, offset - begin)) + 1;
  return file_ + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string SourceText::excerpt(size_t offset) const {
  offset = std::min(offset, text_.size());
  Line line = line_of(text_, offset);
  if (offset - line.begin > kExcerptBytes / 2 && line.end - line.begin > kExcerptBytes) {
    line.begin = offset - kExcerptBytes / 2;
    while (line.begin < offset && !starts_character(text_[line.begin])) ++line.begin;
  }
  line.end = std::min(line.end, line.begin + kExcerptBytes);
  while (line.end < text_.size() && line.end > line.begin && !starts_character(text_[line.end])) --line.end;
  std::string shown(text().substr(line.begin, line.end - line.begin));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  const size_t indent = characters(text().substr(line.begin, std::max(offset, line.begin) - line.begin));
  return "\n  " + shown + "\n  " + std::string(indent, ' ') + "^";
}

std::string where(const Place& place) {
  return place.source == nullptr ? "" : place.source->where(place.offset);
}

Status error_at(ErrorCode code, const Place& place, const std::string& message) {
  if (place.source == nullptr) return Status(code, message);
  return Status(code, message + place.source->excerpt(place.offset)).at(where(place));
}

Status located(Status status, const Place& place) {
  if (status.ok() || !status.where().empty()) return status;
  Status error = error_at(status.code(), place, status.message());
  if (status.hint().empty()) return error;
  return std::move(error).hint(status.hint());
}

}  // namespace strand::sql
