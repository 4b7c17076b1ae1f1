#include "codec/json_decoder.h"

#include <algorithm>

namespace strand::codec {

namespace {

constexpr size_t kReadBehind = 64;  // what kernels may read behind a line
// A new layout is learnt from each of the first lines that have none, later from one in so many.
constexpr int64_t kLearnAlways = 64;
constexpr int64_t kLearnEvery = 64;

/// How many bytes of `lines` are whole lines with kReadBehind readable bytes behind them.
size_t readable_lines(std::string_view lines) {
  if (lines.size() <= kReadBehind) return 0;
  const size_t last = lines.substr(0, lines.size() - kReadBehind).rfind('\n');
  return last == std::string_view::npos ? 0 : last + 1;
}

void add_places(const JsonShape& shape, columnar::ColumnBuilder& column, std::vector<JsonPlace>& places) {
  places.push_back({&shape, &column});
  if (shape.type->kind != columnar::TypeKind::kRow) return;
  for (size_t i = 0; i < shape.children.size(); ++i) add_places(shape.children[i], column.child(i), places);
}

bool is_blank(std::string_view line) { return line.empty() || line == "\r"; }

}  // namespace

JsonDecoder::JsonDecoder(columnar::SchemaPtr read, const JsonOptions& options, FastKernel kernel)
    : schema_(std::move(read)),
      options_(options),
      shape_(JsonShape::of(*schema_)),
      reader_(options),
      kernel_(kernel) {}

Result<size_t> JsonDecoder::decode(std::string_view lines, uint64_t position, DecodeOutput& out) {
  const size_t readable = readable_lines(lines);
  const size_t consumed = decode_readable(lines.substr(0, readable), position, out);
  if (consumed < readable || out.full() || readable == lines.size()) return consumed;
  // The last lines are read from a copy, so that a vector never reaches behind the caller's bytes.
  tail_.assign(lines.substr(readable));
  if (tail_.back() != '\n') tail_.push_back('\n');
  const size_t size = tail_.size();
  tail_.append(kReadBehind, '\0');
  const size_t more = decode_readable(std::string_view(tail_).substr(0, size), position + readable, out);
  return std::min(readable + more, lines.size());
}

size_t JsonDecoder::decode_readable(std::string_view lines, uint64_t position, DecodeOutput& out) {
  size_t at = 0;
  while (at < lines.size() && !out.full()) {
    at += decode_fast(lines.substr(at), out);
    if (at == lines.size() || out.full()) break;
    const std::string_view rest = lines.substr(at);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!is_blank(line)) decode_slow(line, position + at, out);
    at += line.size() + 1;
  }
  return at;
}

size_t JsonDecoder::decode_fast(std::string_view lines, DecodeOutput& out) {
  if (layouts_.empty()) return 0;
  find_places(out);
  FastLines run{lines.data(), lines.data() + lines.size(), 0, places_.data(), options_.form, &reader_};
  size_t failed = 0;
  while (failed < layouts_.size() && run.p < run.end && !out.full()) {
    run.rows_max = out.rows_left();
    const int64_t rows = kernel_(layouts_[layout_], run);
    end_rows(layouts_[layout_], rows);
    out.rows().end_rows(rows);
    fast_lines_ += rows;
    layouts_[layout_].lines += rows;
    if (run.p == run.end || out.full()) break;
    out.rows().undo_row();
    failed = rows > 0 ? 1 : failed + 1;
    layout_ = layout_ + 1 < layouts_.size() ? layout_ + 1 : 0;
  }
  return static_cast<size_t>(run.p - lines.data());
}

void JsonDecoder::find_places(DecodeOutput& out) {
  places_.clear();
  for (size_t i = 0; i < shape_.children.size(); ++i)
    add_places(shape_.children[i], out.rows().column(i), places_);
}

/// What no line of the layout has, and its ROWs.
void JsonDecoder::end_rows(const JsonLayout& layout, int64_t rows) {
  if (rows == 0) return;
  for (const int place : layout.missing) places_[static_cast<size_t>(place)].column->append_nulls(rows);
  for (const int place : layout.rows) places_[static_cast<size_t>(place)].column->close_rows(rows);
}

void JsonDecoder::decode_slow(std::string_view line, uint64_t position, DecodeOutput& out) {
  ++slow_lines_;
  members_ = {};
  const bool learning = kernel_ != nullptr && (slow_lines_ <= kLearnAlways || slow_lines_ % kLearnEvery == 0);
  if (reader_.record(line, shape_, out.rows(), learning ? &members_ : nullptr)) {
    out.rows().end_row();
    if (learning) learn(line);
    return;
  }
  out.rows().undo_row();
  if (line.ends_with('\r')) line.remove_suffix(1);
  out.add_bad(position, line, reader_.reason());
}

void JsonDecoder::learn(std::string_view line) {
  auto layout = JsonLayout::learn(line, members_, shape_, options_);
  if (!layout) return;
  if (layouts_.size() < kLayoutsMax) {
    layout_ = layouts_.size();
    layouts_.push_back(std::move(*layout));
    return;
  }
  const auto rarest =
      std::min_element(layouts_.begin(), layouts_.end(),
                       [](const JsonLayout& a, const JsonLayout& b) { return a.lines < b.lines; });
  layout_ = static_cast<size_t>(rarest - layouts_.begin());
  *rarest = std::move(*layout);
}

}  // namespace strand::codec
