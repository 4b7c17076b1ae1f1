// Hashes and byte forms of keys. Both stand in state files: a change makes old state unreadable.
#include <cmath>

#include "base/hash.h"
#include "columnar/batch.h"
#include "columnar/key_parts.h"

namespace strand::columnar {

namespace {

constexpr uint64_t kNullHash = 0x7C3A'9E15'D2B4'8F61ull;
constexpr uint64_t kBooleanHash = 0x51ED'270B'F4A9'63C8ull;

/// All NaNs are one key.
template <class T>
T canonical(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}
template <class T, class Bits>
Bits canonical_bits(T value) {
  const T one = canonical(value);
  Bits bits;
  std::memcpy(&bits, &one, sizeof bits);
  return bits;
}

/// The values of some rows of a column.
struct Values {
  const Column& column;
  const Selection* rows;  // null: all
};

/// Calls put(row, hash of the value) for each row.
template <class Hash, class Put>
void each_value(const Values& values, const Hash& hash, const Put& put) {
  const bool nulls = values.column.has_nulls();
  const auto one = [&](int64_t row) {
    put(row, nulls && values.column.is_null(row) ? kNullHash : hash(row));
  };
  if (values.rows != nullptr) {
    for (const uint32_t row : *values.rows) one(int64_t{row});
  } else if (nulls) {
    for (int64_t row = 0; row < values.column.length(); ++row) one(row);
  } else {
    for (int64_t row = 0; row < values.column.length(); ++row) put(row, hash(row));
  }
}

template <class T, class Put>
void each_integer(const Values& of, const Put& put) {
  const T* values = of.column.values<T>();
  each_value(of, [values](int64_t row) { return mix64(static_cast<uint64_t>(int64_t{values[row]})); }, put);
}

void put_key(const Column& column, int64_t row, std::string& out);

template <class Put>
void each_hash(const Values& of, const Put& put) {
  const Column& column = of.column;
  switch (column.type()->kind) {
    case TypeKind::kTinyInt:
      return each_integer<int8_t>(of, put);
    case TypeKind::kSmallInt:
      return each_integer<int16_t>(of, put);
    case TypeKind::kInt:
    case TypeKind::kDate:
    case TypeKind::kTime:
      return each_integer<int32_t>(of, put);
    case TypeKind::kBigInt:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return each_integer<int64_t>(of, put);
    case TypeKind::kFloat: {
      const float* v = column.values<float>();
      return each_value(of, [v](int64_t row) { return mix64(canonical_bits<float, uint32_t>(v[row])); }, put);
    }
    case TypeKind::kDouble: {
      const double* v = column.values<double>();
      return each_value(
          of, [v](int64_t row) { return mix64(canonical_bits<double, uint64_t>(v[row])); }, put);
    }
    case TypeKind::kDecimal: {
      const Int128* v = column.values<Int128>();
      const auto hash = [v](int64_t row) {
        return combine_hash(static_cast<uint64_t>(v[row] >> 64), static_cast<uint64_t>(v[row]));
      };
      return each_value(of, hash, put);
    }
    case TypeKind::kBoolean:
      return each_value(of, [&](int64_t row) { return mix64(kBooleanHash + column.boolean(row)); }, put);
    case TypeKind::kString:
    case TypeKind::kBytes: {
      const char* bytes = column.parts().values->data();
      const int32_t* o = column.offsets();
      const auto hash = [bytes, o](int64_t row) {
        return hash64({bytes + o[row], static_cast<size_t>(o[row + 1] - o[row])});
      };
      return each_value(of, hash, put);
    }
    case TypeKind::kNull:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow: {
      std::string key;
      const auto hash = [&](int64_t row) {
        key.clear();
        put_key(column, row, key);
        return hash64(key);
      };
      return each_value(of, hash, put);
    }
  }
}

template <class T>
void put_raw(T value, std::string& out) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

/// One byte says whether a value is there; then the value, strings and lists behind their length.
void put_key(const Column& column, int64_t row, std::string& out) {
  if (column.is_null(row)) return out.push_back('\0');
  out.push_back('\1');
  const TypeKind kind = column.type()->kind;
  if (kind == TypeKind::kFloat) return put_raw(canonical(column.values<float>()[row]), out);
  if (kind == TypeKind::kDouble) return put_raw(canonical(column.values<double>()[row]), out);
  if (const int width = fixed_width(kind); width > 0) {
    out.append(column.parts().values->data() + (column.parts().offset + row) * width,
               static_cast<size_t>(width));
  } else if (kind == TypeKind::kBoolean) {
    out.push_back(column.boolean(row) ? '\1' : '\0');
  } else if (kind == TypeKind::kString || kind == TypeKind::kBytes) {
    const std::string_view value = column.string(row);
    put_raw(static_cast<uint32_t>(value.size()), out);
    out.append(value);
  } else if (kind == TypeKind::kRow) {
    for (const ColumnPtr& child : column.parts().children) put_key(*child, row, out);
  } else {
    const int32_t* o = column.offsets();
    put_raw(static_cast<uint32_t>(o[row + 1] - o[row]), out);
    for (const ColumnPtr& child : column.parts().children) {
      for (int32_t element = o[row]; element < o[row + 1]; ++element) put_key(*child, element, out);
    }
  }
}

/// Calls f(i, row, null) for each of `rows`.
template <class F>
void each_of(const Column& column, std::span<const uint32_t> rows, F&& f) {
  if (!column.has_nulls()) {
    for (size_t i = 0; i < rows.size(); ++i) f(i, rows[i], false);
  } else {
    for (size_t i = 0; i < rows.size(); ++i) f(i, rows[i], column.is_null(rows[i]));
  }
}

/// As put_key, of plain bytes of a fixed size.
template <size_t kWidth>
void put_plain(const Column& column, std::span<const uint32_t> rows, std::span<char*> to) {
  const char* const values = column.parts().values->data() + column.parts().offset * int64_t{kWidth};
  each_of(column, rows, [&](size_t i, uint32_t row, bool null) {
    *to[i]++ = null ? '\0' : '\1';
    if (null) return;
    std::memcpy(to[i], values + row * kWidth, kWidth);
    to[i] += kWidth;
  });
}
void put_texts(const Column& column, std::span<const uint32_t> rows, std::span<char*> to) {
  each_of(column, rows, [&](size_t i, uint32_t row, bool null) {
    *to[i]++ = null ? '\0' : '\1';
    if (null) return;
    const std::string_view text = column.string(row);
    const auto size = static_cast<uint32_t>(text.size());
    std::memcpy(to[i], &size, sizeof size);
    if (size > 0) std::memcpy(to[i] + sizeof size, text.data(), size);
    to[i] += sizeof size + size;
  });
}

bool is_plain(TypeKind kind) {
  return fixed_width(kind) > 0 && kind != TypeKind::kFloat && kind != TypeKind::kDouble;
}

/// Reads what put_key wrote. Keys come from memory or from verified files, so a wrong one is a bug.
class KeyReader {
 public:
  explicit KeyReader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  size_t left() const { return bytes_.size(); }

  void value(ColumnBuilder& out) {
    if (raw<char>() == '\0') return out.append_null();
    const TypeKind kind = out.type()->kind;
    switch (kind) {
      case TypeKind::kBigInt:
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampLtz:
        return out.append(raw<int64_t>());
      case TypeKind::kString:
      case TypeKind::kBytes:
        return out.append_string(take(raw<uint32_t>()));
      case TypeKind::kBoolean:
        return out.append_boolean(raw<char>() != '\0');
      default:
        break;
    }
    switch (fixed_width(kind)) {
      case 1:
        return out.append(raw<int8_t>());
      case 2:
        return out.append(raw<int16_t>());
      case 4:
        return out.append(raw<int32_t>());
      case 8:
        return out.append(raw<int64_t>());
      case 16:
        return out.append(raw<Int128>());
      default:
        break;
    }
    const uint32_t elements = kind == TypeKind::kRow ? 1 : raw<uint32_t>();
    for (size_t child = 0; child < out.type()->children.size(); ++child) {
      for (uint32_t i = 0; i < elements; ++i) value(out.child(child));
    }
    out.close_nested();
  }

  void pass(const Type& type) {
    if (raw<char>() == '\0') return;
    if (const int width = fixed_width(type.kind); width > 0) return void(take(static_cast<size_t>(width)));
    if (type.kind == TypeKind::kBoolean) return void(take(1));
    if (type.kind == TypeKind::kString || type.kind == TypeKind::kBytes) return void(take(raw<uint32_t>()));
    const uint32_t elements = type.kind == TypeKind::kRow ? 1 : raw<uint32_t>();
    for (const auto& child : type.children) {
      for (uint32_t i = 0; i < elements; ++i) pass(*child.type);
    }
  }

 private:
  std::string_view take(size_t size) {
    STRAND_CHECK(size <= bytes_.size());
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  template <class T>
  T raw() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view bytes_;
};

}  // namespace

void hash_rows(const Batch& batch, std::span<const size_t> key_columns, std::vector<uint64_t>& out) {
  out.resize(static_cast<size_t>(batch.physical_rows()));
  if (key_columns.empty()) {
    std::fill(out.begin(), out.end(), mix64(kNullHash));
    return;
  }
  uint64_t* hashes = out.data();
  const Selection* rows = batch.selection().get();
  each_hash({batch.column(key_columns[0]), rows},
            [hashes](int64_t row, uint64_t hash) { hashes[row] = hash; });
  for (const size_t column : key_columns.subspan(1)) {
    each_hash({batch.column(column), rows},
              [hashes](int64_t row, uint64_t hash) { hashes[row] = combine_hash(hashes[row], hash); });
  }
}

void encode_key(const Batch& batch, std::span<const size_t> key_columns, int64_t row, std::string& out) {
  for (const size_t column : key_columns) put_key(batch.column(column), row, out);
}

void decode_key(std::string_view key, std::span<ColumnBuilder* const> columns) {
  KeyReader reader(key);
  for (ColumnBuilder* column : columns) reader.value(*column);
  STRAND_CHECK(reader.done());
}

void add_key_sizes(const Column& column, std::span<const uint32_t> rows, std::span<size_t> sizes) {
  const TypeKind kind = column.type()->kind;
  if (is_plain(kind)) {
    const auto width = static_cast<size_t>(fixed_width(kind));
    return each_of(column, rows, [&](size_t i, uint32_t, bool null) { sizes[i] += null ? 1 : 1 + width; });
  }
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) {
    return each_of(column, rows, [&](size_t i, uint32_t row, bool null) {
      sizes[i] += null ? 1 : 1 + sizeof(uint32_t) + column.string(row).size();
    });
  }
  std::string key;
  for (size_t i = 0; i < rows.size(); ++i) {
    key.clear();
    put_key(column, rows[i], key);
    sizes[i] += key.size();
  }
}

void put_keys(const Column& column, std::span<const uint32_t> rows, std::span<char*> to) {
  const TypeKind kind = column.type()->kind;
  const int width = is_plain(kind) ? fixed_width(kind) : 0;
  if (width == 8) return put_plain<8>(column, rows, to);
  if (width == 4) return put_plain<4>(column, rows, to);
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) return put_texts(column, rows, to);
  std::string key;
  for (size_t i = 0; i < rows.size(); ++i) {
    key.clear();
    put_key(column, rows[i], key);
    std::memcpy(to[i], key.data(), key.size());
    to[i] += key.size();
  }
}

size_t decode_key_parts(std::string_view key, std::span<const KeyPart> parts) {
  KeyReader reader(key);
  for (const KeyPart& part : parts) {
    if (part.to == nullptr) {
      reader.pass(*part.type);
    } else {
      reader.value(*part.to);
    }
  }
  return key.size() - reader.left();
}

}  // namespace strand::columnar
