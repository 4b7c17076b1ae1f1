// The kernel of the fast way, compiled once for each level of CPU: the including file defines STRAND_KERNEL
// (function attributes) and, in an unnamed namespace, the primitives
//   const char* string_stop(const char* p, bool& ascii)    the first '"', '\\' or '\n' at or behind p
//   size_t digit_run(const char* p)                        how many digits stand at p, counted up to 16
//   int64_t digits_value(const char* p, size_t n)          their value, n in 1 .. 16
//   bool starts_with(const char* p, const Literal& text)
// All may read 64 bytes behind a line.

namespace {

/// The string whose opening quote is at p: its text, and the place behind it. Null if it has escapes or is
/// not closed or not UTF-8.
STRAND_KERNEL inline const char* read_string(const char* p, std::string_view& text) {
  if (*p != '"') return nullptr;
  bool ascii = true;
  const char* stop = string_stop(p + 1, ascii);
  if (*stop != '"') return nullptr;
  text = {p + 1, static_cast<size_t>(stop - p - 1)};
  if (!ascii && !valid_utf8(text)) return nullptr;
  return stop + 1;
}

/// A whole number of at most 16 digits; null for any other.
STRAND_KERNEL inline const char* read_integer(const char* p, int64_t& value) {
  const bool negative = *p == '-';
  p += negative ? 1 : 0;
  const size_t n = digit_run(p);
  if (n == 0 || (*p == '0' && n > 1)) return nullptr;
  const char next = p[n];
  if (next == '.' || next == 'e' || next == 'E') return nullptr;
  value = digits_value(p, n);
  if (negative) value = -value;
  return p + n;
}

STRAND_KERNEL inline const char* read_word(const char* p) {
  if (std::memcmp(p, "true", 4) == 0 || std::memcmp(p, "null", 4) == 0) return p + 4;
  return std::memcmp(p, "false", 5) == 0 ? p + 5 : nullptr;
}

STRAND_KERNEL inline const char* skip_fast(const char* p) {
  std::string_view text;
  if (*p == '"') return read_string(p, text);
  if (*p >= 'a') return read_word(p);
  p += *p == '-' ? 1 : 0;
  const size_t n = digit_run(p);
  if (n == 0 || (*p == '0' && n > 1)) return nullptr;
  const char next = p[n];
  return next == '.' || next == 'e' || next == 'E' ? nullptr : p + n;
}

/// 32 bytes at once where that is enough: both sides may be touched 64 bytes behind the end.
STRAND_KERNEL inline void put_string(std::string_view text, columnar::ColumnBuilder& out) {
  char* to = out.string_space(text.size());
  if (text.size() <= 32) {
    std::memcpy(to, text.data(), 32);
  } else if (text.size() <= 64) {
    std::memcpy(to, text.data(), 64);
  } else {
    std::memcpy(to, text.data(), text.size());
  }
  out.close_string(text.size());
}

/// Reads a wanted value; null if the fast way does not know it.
STRAND_KERNEL inline const char* value_fast(const char* p, FastValue kind, const columnar::Type& type,
                                            TimestampForm form, columnar::ColumnBuilder& out) {
  std::string_view text;
  int64_t number = 0;
  switch (kind) {
    case FastValue::kString:
      p = read_string(p, text);
      if (p != nullptr) put_string(text, out);
      return p;
    case FastValue::kBigInt:
      p = read_integer(p, number);
      if (p != nullptr) out.append(number);
      return p;
    case FastValue::kInt:
      p = read_integer(p, number);
      if (p == nullptr || number < INT32_MIN || number > INT32_MAX) return nullptr;
      out.append(static_cast<int32_t>(number));
      return p;
    case FastValue::kBoolean: {
      const char* behind = read_word(p);
      if (behind == nullptr || *p == 'n') return nullptr;
      out.append_boolean(*p == 't');
      return behind;
    }
    case FastValue::kTimestamp: {
      p = read_string(p, text);
      if (p == nullptr) return nullptr;
      const auto value =
          parse_timestamp(text, type.precision, form, type.kind == columnar::TypeKind::kTimestampLtz);
      if (!value) return nullptr;
      out.append(*value);
      return p;
    }
    default:
      return nullptr;
  }
}

STRAND_KERNEL inline const char* line_fast(const JsonLayout& layout, const char* p, const FastLines& lines) {
  for (const JsonLayout::Step& step : layout.steps) {
    if (!starts_with(p, step.before)) return nullptr;
    p += step.before.size;
    const char* behind = nullptr;
    if (step.kind == FastValue::kSkip) {
      behind = skip_fast(p);
    } else {
      const JsonPlace& place = lines.places[step.place];
      behind = value_fast(p, step.kind, *place.shape->type, lines.form, *place.column);
    }
    if (behind == nullptr) [[unlikely]] {
      behind = value_slow(step, p, lines);
      if (behind == nullptr) return nullptr;
    }
    p = behind;
  }
  if (!starts_with(p, layout.tail)) return nullptr;
  return p + layout.tail.size;
}

STRAND_KERNEL inline int64_t run_lines(const JsonLayout& layout, FastLines& lines) {
  int64_t rows = 0;
  while (rows < lines.rows_max && lines.p < lines.end) {
    const char* behind = line_fast(layout, lines.p, lines);
    if (behind == nullptr) break;
    lines.p = behind;
    ++rows;
  }
  return rows;
}

}  // namespace
