#include "result_table.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "columnar/print.h"
#include "engine/console.h"
#include "sql/text_width.h"

namespace strand::app::shell {

namespace {

constexpr size_t kFrameLines = 6;      // rules, names, the count, and the line below
constexpr size_t kShownAtEnd = 1'000;  // on a terminal

size_t terminal_rows(std::FILE* out) {
  winsize size{};
  const bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row > kFrameLines;
  return (known ? size.ws_row : 24) - kFrameLines;
}

/// Without what would move the cursor or end the line.
std::string printable(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      out += c;
    } else {
      out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
  }
  return out;
}

/// Every line in one line of the terminal, or it could not be drawn over.
std::string cut(const std::string& text, size_t width) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out += std::string(sql::within_width(std::string_view(text).substr(at, end - at), width)) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

void ResultTable::add(Row row) {
  const int64_t place = freed_ ? *freed_ : next_++;
  freed_.reset();
  places_.emplace(row, place);
  rows_.emplace(place, std::move(row));
}

void ResultTable::remove(const Row& row) {
  const auto found = places_.find(row);
  if (found == places_.end()) return;
  freed_ = found->second;
  rows_.erase(found->second);
  places_.erase(found);
}

Status ResultTable::take(const columnar::Batch& rows) {
  const std::lock_guard lock(mutex_);
  rows.for_each_row([&](int64_t at) {
    Row row;
    for (const columnar::ColumnPtr& column : rows.columns())
      columnar::print_value(*column, at, row.emplace_back(), "NULL");
    for (std::string& cell : row) cell = printable(cell);
    const columnar::RowKind kind = rows.kind(at);
    const bool removes = kind == columnar::RowKind::kUpdateBefore || kind == columnar::RowKind::kDelete;
    if (!removes) return add(std::move(row));
    remove(row);
    if (kind == columnar::RowKind::kDelete) freed_.reset();
  });
  changed_ = true;
  if (rows_.size() <= kRowsMax) return Status();
  return Status(ErrorCode::kLimitExceeded,
                "expected at most " + std::to_string(kRowsMax) + " rows in a table of the shell, found more")
      .hint("write --format json or csv, which keep no rows, or ask for fewer rows");
}

std::string ResultTable::drawn(size_t rows_max) const {
  sql::Shown shown;
  for (const columnar::Field& field : schema_->fields()) shown.columns.push_back(field.name);
  const size_t hidden = rows_.size() - std::min(rows_.size(), rows_max);
  auto row = std::prev(rows_.end(), static_cast<int64_t>(rows_.size() - hidden));
  for (; row != rows_.end(); ++row) shown.rows.push_back(row->second);
  const std::string count = std::to_string(rows_.size()) + (rows_.size() == 1 ? " row" : " rows");
  return sql::to_text(shown) + count +
         (hidden == 0 ? "" : ", the last " + std::to_string(rows_max) + " of them above") + "\n";
}

/// The cursor goes up over what was drawn, and everything below it is cleared.
void ResultTable::draw(const std::string& table) {
  const std::string back = lines_drawn_ == 0 ? "" : "\x1b[" + std::to_string(lines_drawn_) + "A\x1b[J";
  lines_drawn_ = static_cast<size_t>(std::ranges::count(table, '\n'));
  const std::string text = back + table;
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void ResultTable::refresh() {
  const std::lock_guard lock(mutex_);
  if (in_place_ && std::exchange(changed_, false))
    draw(cut(drawn(terminal_rows(out_)), engine::terminal_width(out_)));
}

void ResultTable::end() {
  const std::lock_guard lock(mutex_);
  draw(drawn(in_place_ ? kShownAtEnd : rows_.size()));
}

}  // namespace strand::app::shell
