#include "expr/kernels.h"

namespace strand::expr {

BufferPtr combined_validity(std::span<const Value> args, int64_t length) {
  const Column* only = nullptr;
  size_t with_nulls = 0;
  for (const Value& arg : args) {
    if (arg.constant || !arg.column->has_nulls()) continue;
    only = arg.column.get();
    ++with_nulls;
  }
  if (with_nulls == 0) return nullptr;
  if (with_nulls == 1 && only->parts().offset == 0) return only->parts().validity;
  Bits bits(length, true);
  for (const Value& arg : args) {
    if (arg.constant || !arg.column->has_nulls()) continue;
    const WordReader validity = WordReader::of_validity(*arg.column, false);
    for (int64_t w = 0; w < bits.count(); ++w) bits.words()[w] &= validity[w];
  }
  return bits.take();
}

void Validity::own() {
  Bits bits(length_, true);
  if (shared_ != nullptr) {
    const WordReader from(shared_->data(), 0);
    for (int64_t w = 0; w < bits.count(); ++w) bits.words()[w] = from[w];
  }
  words_ = bits.words();
  own_ = bits.take();
}

}  // namespace strand::expr
