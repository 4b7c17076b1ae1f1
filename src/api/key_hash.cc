// Hashes of keys, as Java's hashCode gives them.
#include "state/keyed/key_group.h"
#include "strandline/detail/build.h"

namespace strandline::detail {

namespace java_hash = strand::state::java_hash;

int32_t hash_text(std::string_view text) { return java_hash::of_string(text); }
int32_t hash_long(int64_t value) { return java_hash::of_long(value); }
int32_t hash_bool(bool value) { return java_hash::of_boolean(value); }
int32_t hash_float(float value) { return java_hash::of_float(value); }
int32_t hash_double(double value) { return java_hash::of_double(value); }
int32_t hash_tuple(const std::vector<int32_t>& fields) { return java_hash::of_tuple(fields); }

}  // namespace strandline::detail
