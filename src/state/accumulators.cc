#include "state/accumulators.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace strand::state {

using columnar::Batch;
using columnar::Column;
using columnar::ColumnBuilder;
using columnar::Int128;
using columnar::TypeKind;
using columnar::TypePtr;

namespace {

// A part is the number of values (int64), then the value. COUNT is the number alone. A sum that overflowed
// has the number kOverflowed.
constexpr int64_t kOverflowed = INT64_MIN;

struct Bytes {
  char* data;
  uint32_t size;
  uint32_t capacity;
};

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

Int128 decimal_limit() {
  Int128 limit = 1;
  for (int i = 0; i < 38; ++i) limit *= 10;
  return limit;
}

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t wrapping_negate(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

/// Adds `value`, which stands for `n` values, to a sum.
template <class T>
void add_sum(char* acc, T value, int64_t n) {
  if constexpr (std::is_same_v<T, Int128>) {
    static const Int128 kLimit = decimal_limit();
    Int128 sum;
    const bool wrapped = __builtin_add_overflow(load<Int128>(acc + 8), value, &sum);
    const int64_t before = load<int64_t>(acc);
    const bool overflow =
        wrapped || before == kOverflowed || n == kOverflowed || sum >= kLimit || sum <= -kLimit;
    store(acc, overflow ? kOverflowed : before + n);
    store(acc + 8, overflow ? Int128{0} : sum);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    store(acc, load<int64_t>(acc) + n);
    store(acc + 8, wrapping_add(load<int64_t>(acc + 8), value));
  } else {
    store(acc, load<int64_t>(acc) + n);
    store(acc + 8, static_cast<T>(load<T>(acc + 8) + value));
  }
}

/// Adds `value`, which stands for `n` values, or takes it back.
template <class T>
void add_signed(char* acc, T value, int64_t n, int64_t sign) {
  if (sign > 0) return add_sum(acc, value, n);
  if constexpr (std::is_same_v<T, int64_t>) {
    add_sum(acc, wrapping_negate(value), -n);
  } else {
    add_sum(acc, static_cast<T>(-value), n == kOverflowed ? n : -n);
  }
}

template <class T>
void add_extreme(char* acc, T value, bool smallest) {
  const T best = load<T>(acc + 8);
  if (load<int64_t>(acc) == 0 || (smallest ? value < best : best < value)) store(acc + 8, value);
  store(acc, int64_t{1});
}

/// Bytes that have memory of their own are replaced, others are written over where they fit.
void set_bytes(char* acc, std::string_view value, ByteArena& arena) {
  auto there = load<Bytes>(acc + 8);
  const bool big = there.capacity > ByteArena::kPagedMax;
  if (there.data == nullptr || big || there.capacity < value.size()) {
    if (big) arena.drop_big(there.data, there.capacity);
    const size_t spare =
        std::min(ByteArena::kPagedMax, std::max<size_t>(16, value.size() + value.size() / 2));
    there.capacity = static_cast<uint32_t>(std::max(value.size(), spare));
    there.data = arena.allocate(there.capacity);
  } else {
    arena.touch(there.data, value.size());
  }
  if (!value.empty()) std::memcpy(there.data, value.data(), value.size());
  there.size = static_cast<uint32_t>(value.size());
  store(acc + 8, there);
}

std::string_view bytes_of(const char* acc) {
  const auto there = load<Bytes>(acc + 8);
  return {there.data, there.size};
}

void add_bytes(char* acc, std::string_view value, bool smallest, ByteArena& arena) {
  if (load<int64_t>(acc) == 0 || (smallest ? value < bytes_of(acc) : bytes_of(acc) < value)) {
    set_bytes(acc, value, arena);
  }
  store(acc, int64_t{1});
}

/// Calls f(read) with a function that reads a row of an integer-like column as int64.
template <class F>
void with_integers(const Column& column, F&& f) {
  switch (columnar::fixed_width(column.type()->kind)) {
    case 1:
      return f([v = column.values<int8_t>()](int64_t row) { return int64_t{v[row]}; });
    case 2:
      return f([v = column.values<int16_t>()](int64_t row) { return int64_t{v[row]}; });
    case 4:
      return f([v = column.values<int32_t>()](int64_t row) { return int64_t{v[row]}; });
    case 8:
      return f([v = column.values<int64_t>()](int64_t row) { return v[row]; });
    default:
      return f([&column](int64_t row) { return int64_t{column.boolean(row) ? 1 : 0}; });
  }
}

void append_integer(int64_t value, ColumnBuilder& out) {
  switch (columnar::fixed_width(out.type()->kind)) {
    case 1:
      return out.append(static_cast<int8_t>(value));
    case 2:
      return out.append(static_cast<int16_t>(value));
    case 4:
      return out.append(static_cast<int32_t>(value));
    case 8:
      return out.append(value);
    default:
      return out.append_boolean(value != 0);
  }
}

/// sum / n with `digits` more digits, rounded half up; false if 38 digits do not hold it.
bool decimal_average(Int128 sum, int64_t n, int digits, Int128& result) {
  static const Int128 kLimit = decimal_limit();
  const bool negative = sum < 0;
  Int128 rest = negative ? -sum : sum;
  Int128 quotient = rest / n;
  rest %= n;
  for (int i = 0; i < digits; ++i) {
    if (quotient >= kLimit / 10) return false;
    rest *= 10;
    quotient = quotient * 10 + rest / n;
    rest %= n;
  }
  if (rest * 2 >= n) ++quotient;
  result = negative ? -quotient : quotient;
  return quotient < kLimit;
}

}  // namespace

Status skip_bytes(ByteReader& in, size_t size) {
  STRAND_TRY([[maybe_unused]] const std::string_view bytes, in.get_raw(size));
  return Status();
}

Accumulators::Value Accumulators::value_of(const AccumulatorSpec& spec) {
  if (spec.op == AccumulatorOp::kCountStar || spec.op == AccumulatorOp::kCount) return Value::kNone;
  switch (spec.input->kind) {
    case TypeKind::kFloat:
      return spec.op == AccumulatorOp::kAvg ? Value::kDouble : Value::kFloat;
    case TypeKind::kDouble:
      return Value::kDouble;
    case TypeKind::kDecimal:
      return Value::kDecimal;
    case TypeKind::kString:
    case TypeKind::kBytes:
      return Value::kBytes;
    default:
      return Value::kInteger;
  }
}

Accumulators::Accumulators(std::vector<AccumulatorSpec> specs) {
  for (AccumulatorSpec& spec : specs) {
    Part part{std::move(spec), Value::kNone, bytes_, 0};
    part.value = value_of(part.spec);
    const bool wide = part.value == Value::kDecimal || part.value == Value::kBytes;
    part.value_bytes = part.value == Value::kNone ? 0 : wide ? 16 : 8;
    bytes_ += 8 + part.value_bytes;
    parts_.push_back(std::move(part));
  }
}

bool Accumulators::keeps_bytes() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.value == Value::kBytes; });
}

void Accumulators::update(const Batch& batch, std::span<const uint32_t> rows, std::span<char* const> accs,
                          ByteArena& arena) const {
  for (const Part& part : parts_) {
    const size_t at = part.offset;
    if (part.spec.op == AccumulatorOp::kCountStar) {
      for (size_t i = 0; i < rows.size(); ++i) store(accs[i] + at, load<int64_t>(accs[i] + at) + 1);
      continue;
    }
    const Column& column = batch.column(part.spec.column);
    if (part.spec.op != AccumulatorOp::kCount) {
      update_part(part, column, rows, accs, arena, nullptr);
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      store(accs[i] + at, load<int64_t>(accs[i] + at) + (column.is_null(rows[i]) ? 0 : 1));
    }
  }
}

/// Adds the values of a column; with `counts`, each of them stands for as many values as that column says.
void Accumulators::update_part(const Part& part, const Column& column, std::span<const uint32_t> rows,
                               std::span<char* const> accs, ByteArena& arena, const Column* counts) const {
  const bool sum = part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg;
  const bool smallest = part.spec.op == AccumulatorOp::kMin;
  const auto each = [&](const auto& read) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (column.is_null(rows[i])) continue;
      char* acc = accs[i] + part.offset;
      const auto value = read(int64_t{rows[i]});
      if (sum) {
        add_sum(acc, value, counts == nullptr ? 1 : counts->values<int64_t>()[rows[i]]);
      } else {
        add_extreme(acc, value, smallest);
      }
    }
  };
  const bool floats = column.type()->kind == TypeKind::kFloat;
  switch (part.value) {
    case Value::kFloat:
      return each([v = column.values<float>()](int64_t row) { return v[row]; });
    case Value::kDouble:
      if (floats) return each([v = column.values<float>()](int64_t row) { return double{v[row]}; });
      return each([v = column.values<double>()](int64_t row) { return v[row]; });
    case Value::kDecimal:
      return each([v = column.values<Int128>()](int64_t row) { return v[row]; });
    case Value::kInteger:
      return with_integers(column, each);
    case Value::kBytes:
      for (size_t i = 0; i < rows.size(); ++i) {
        if (!column.is_null(rows[i]))
          add_bytes(accs[i] + part.offset, column.string(rows[i]), smallest, arena);
      }
      return;
    case Value::kNone:
      return;
  }
}

void Accumulators::change(const Batch& batch, int64_t row, int64_t sign, char* acc) const {
  for (const Part& part : parts_) {
    char* at = acc + part.offset;
    if (part.spec.op == AccumulatorOp::kCountStar) {
      store(at, load<int64_t>(at) + sign);
      continue;
    }
    const Column& column = batch.column(part.spec.column);
    if (column.is_null(row)) continue;
    STRAND_CHECK(part.spec.op != AccumulatorOp::kMin && part.spec.op != AccumulatorOp::kMax);
    switch (part.value) {
      case Value::kNone:
        store(at, load<int64_t>(at) + sign);
        break;
      case Value::kFloat:
        add_signed(at, column.values<float>()[row], 1, sign);
        break;
      case Value::kDouble: {
        const bool floats = column.type()->kind == TypeKind::kFloat;
        add_signed(at, floats ? double{column.values<float>()[row]} : column.values<double>()[row], 1, sign);
        break;
      }
      case Value::kDecimal:
        add_signed(at, column.values<Int128>()[row], 1, sign);
        break;
      case Value::kInteger:
        with_integers(column, [&](const auto& read) { add_signed(at, read(row), 1, sign); });
        break;
      case Value::kBytes:
        break;
    }
  }
}

void Accumulators::change(const char* from, int64_t sign, char* acc) const {
  for (const Part& part : parts_) {
    const char* there = from + part.offset;
    char* at = acc + part.offset;
    const auto n = load<int64_t>(there);
    switch (part.value) {
      case Value::kNone:
        store(at, load<int64_t>(at) + sign * n);
        break;
      case Value::kFloat:
        add_signed(at, load<float>(there + 8), n, sign);
        break;
      case Value::kDouble:
        add_signed(at, load<double>(there + 8), n, sign);
        break;
      case Value::kDecimal:
        add_signed(at, load<Int128>(there + 8), n, sign);
        break;
      case Value::kInteger:
        add_signed(at, load<int64_t>(there + 8), n, sign);
        break;
      case Value::kBytes:
        break;
    }
  }
}

void Accumulators::append_result(size_t i, const char* acc, ColumnBuilder& out) const {
  const Part& part = parts_[i];
  const char* at = acc + part.offset;
  const auto n = load<int64_t>(at);
  if (part.value == Value::kNone) return out.append(n);
  if (n == 0 || n == kOverflowed) return out.append_null();
  const bool average = part.spec.op == AccumulatorOp::kAvg;
  switch (part.value) {
    case Value::kInteger:
      return append_integer(average ? load<int64_t>(at + 8) / n : load<int64_t>(at + 8), out);
    case Value::kFloat:
      return out.append(load<float>(at + 8));
    case Value::kDouble: {
      const double value = average ? load<double>(at + 8) / static_cast<double>(n) : load<double>(at + 8);
      return out.type()->kind == TypeKind::kFloat ? out.append(static_cast<float>(value)) : out.append(value);
    }
    case Value::kDecimal: {
      auto value = load<Int128>(at + 8);
      const int digits = out.type()->scale - part.spec.input->scale;
      if (average && !decimal_average(value, n, digits, value)) return out.append_null();
      return out.append(value);
    }
    case Value::kBytes:
      return out.append_string(bytes_of(at));
    case Value::kNone:
      return;
  }
}

int64_t Accumulators::count(size_t i, const char* acc) const { return load<int64_t>(acc + parts_[i].offset); }

void Accumulators::bump(size_t i, std::span<char* const> accs) const {
  const size_t at = parts_[i].offset;
  for (char* acc : accs) store(acc + at, load<int64_t>(acc + at) + 1);
}

bool Accumulators::equal(const char* a, const char* b) const {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    const char* x = a + part.offset;
    const char* y = b + part.offset;
    const auto n = load<int64_t>(x);
    const auto m = load<int64_t>(y);
    if (part.value == Value::kNone || part.spec.op == AccumulatorOp::kAvg) {
      return n == m && std::memcmp(x + 8, y + 8, part.value_bytes) == 0;
    }
    if ((n == 0) != (m == 0) || (n == kOverflowed) != (m == kOverflowed)) return false;
    if (part.value == Value::kBytes) return bytes_of(x) == bytes_of(y);
    return std::memcmp(x + 8, y + 8, part.value == Value::kFloat ? 4 : part.value_bytes) == 0;
  });
}

void Accumulators::combine(std::span<const char* const> from, std::span<char* const> to,
                           ByteArena& arena) const {
  for (const Part& part : parts_) {
    const size_t at = part.offset;
    const bool sum = part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg;
    const auto each = [&](auto of_type) {
      using T = decltype(of_type);
      for (size_t i = 0; i < from.size(); ++i) {
        const auto n = load<int64_t>(from[i] + at);
        if (sum) {
          add_sum(to[i] + at, load<T>(from[i] + at + 8), n);
        } else if (n != 0) {
          add_extreme(to[i] + at, load<T>(from[i] + at + 8), part.spec.op == AccumulatorOp::kMin);
        }
      }
    };
    switch (part.value) {
      case Value::kNone:
        for (size_t i = 0; i < from.size(); ++i) {
          store(to[i] + at, load<int64_t>(to[i] + at) + load<int64_t>(from[i] + at));
        }
        break;
      case Value::kInteger:
        each(int64_t{});
        break;
      case Value::kFloat:
        each(float{});
        break;
      case Value::kDouble:
        each(double{});
        break;
      case Value::kDecimal:
        each(Int128{});
        break;
      case Value::kBytes:
        for (size_t i = 0; i < from.size(); ++i) {
          if (load<int64_t>(from[i] + at) == 0) continue;
          add_bytes(to[i] + at, bytes_of(from[i] + at), part.spec.op == AccumulatorOp::kMin, arena);
        }
        break;
    }
  }
}

void Accumulators::copy(const char* from, char* to, ByteArena& arena) const {
  for (const Part& part : parts_) {
    const char* x = from + part.offset;
    char* y = to + part.offset;
    std::memcpy(y, x, 8);
    if (part.value != Value::kBytes) {
      std::memcpy(y + 8, x + 8, part.value_bytes);
    } else if (load<int64_t>(x) != 0) {
      set_bytes(y, bytes_of(x), arena);
    }
  }
}

TypePtr Accumulators::partial_type(const Part& part) {
  switch (part.value) {
    case Value::kNone:
      return columnar::make_type(TypeKind::kBigInt, false);
    case Value::kDecimal:
      return columnar::decimal_type(38, part.spec.input->scale);
    case Value::kDouble:
      return columnar::make_type(TypeKind::kDouble);
    case Value::kInteger:
      if (part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg) {
        return columnar::make_type(TypeKind::kBigInt);
      }
      [[fallthrough]];
    default:
      return columnar::with_nullable(part.spec.input, true);
  }
}

std::vector<TypePtr> Accumulators::partial_types() const {
  std::vector<TypePtr> types;
  for (const Part& part : parts_) {
    types.push_back(partial_type(part));
    const bool sum = part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg;
    if (sum) types.push_back(columnar::make_type(TypeKind::kBigInt, false));
  }
  return types;
}

void Accumulators::append_partial(const char* acc, std::span<ColumnBuilder* const> out) const {
  size_t column = 0;
  for (const Part& part : parts_) {
    ColumnBuilder& value = *out[column++];
    const char* at = acc + part.offset;
    const auto n = load<int64_t>(at);
    if (part.value == Value::kNone) {
      value.append(n);
      continue;
    }
    if (part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg) out[column++]->append(n);
    if (n == 0) {
      value.append_null();
    } else if (part.value == Value::kInteger) {
      append_integer(load<int64_t>(at + 8), value);
    } else if (part.value == Value::kFloat) {
      value.append(load<float>(at + 8));
    } else if (part.value == Value::kDouble) {
      value.append(load<double>(at + 8));
    } else if (part.value == Value::kDecimal) {
      value.append(load<Int128>(at + 8));
    } else {
      value.append_string(bytes_of(at));
    }
  }
}

void Accumulators::merge(const Batch& batch, size_t first, std::span<const uint32_t> rows,
                         std::span<char* const> accs, ByteArena& arena) const {
  size_t column = first;
  for (const Part& part : parts_) {
    const Column& values = batch.column(column++);
    if (part.value == Value::kNone) {
      const auto* n = values.values<int64_t>();
      for (size_t i = 0; i < rows.size(); ++i) {
        store(accs[i] + part.offset, load<int64_t>(accs[i] + part.offset) + n[rows[i]]);
      }
      continue;
    }
    const bool sum = part.spec.op == AccumulatorOp::kSum || part.spec.op == AccumulatorOp::kAvg;
    const Column* counts = sum ? &batch.column(column++) : nullptr;
    update_part(part, values, rows, accs, arena, counts);
  }
}

void Accumulators::encode(const char* acc, FrozenPages& memory, ByteWriter& out) const {
  for (const Part& part : parts_) {
    const char* at = acc + part.offset;
    if (part.value == Value::kBytes) {
      out.put(load<int64_t>(at));
      out.put_string(ByteArena::read(memory, bytes_of(at)));
    } else {
      out.put_raw(at, 8 + part.value_bytes);
    }
  }
}

Status Accumulators::decode(ByteReader& in, char* acc, ByteArena& arena) const {
  for (const Part& part : parts_) {
    char* at = acc + part.offset;
    STRAND_TRY(const std::string_view fixed,
               in.get_raw(part.value == Value::kBytes ? 8 : 8 + part.value_bytes));
    std::memcpy(at, fixed.data(), fixed.size());
    if (part.value != Value::kBytes) continue;
    STRAND_TRY(const std::string_view bytes, in.get_string());
    if (load<int64_t>(at) != 0) set_bytes(at, bytes, arena);
  }
  return Status();
}

Status Accumulators::skip(ByteReader& in) const {
  for (const Part& part : parts_) {
    STRAND_OK(skip_bytes(in, 8));
    size_t size = part.value_bytes;
    if (part.value == Value::kBytes) {
      STRAND_TRY(size, in.get<uint32_t>());
    }
    STRAND_OK(skip_bytes(in, size));
  }
  return Status();
}

}  // namespace strand::state
