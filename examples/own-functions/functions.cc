// Functions of our own for SQL. Built to a shared library that needs nothing of Strandline but the header:
// g++ -shared -fPIC -O2 -I include -o own_functions.so examples/own-functions/functions.cc
#include <cmath>
#include <string>

#include "strandline/function_abi.h"

namespace {

/// Metres between two places on the earth, given in degrees (the haversine formula).
double metres(double latitude, double longitude, double to_latitude, double to_longitude) {
  constexpr double kEarthRadius = 6'371'000.0;
  constexpr double kRadians = 3.14159265358979323846 / 180.0;
  const double north = std::sin((to_latitude - latitude) * kRadians / 2);
  const double east = std::sin((to_longitude - longitude) * kRadians / 2);
  const double a =
      north * north + std::cos(latitude * kRadians) * std::cos(to_latitude * kRadians) * east * east;
  return 2 * kEarthRadius * std::asin(std::sqrt(a));
}

int distance(const strand_column* in, strand_rows rows, strand_result* out) {
  const auto column = [&](size_t i) { return static_cast<const double*>(in[i].values); };
  auto* result = static_cast<double*>(out->values);
  for (size_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows.rows[i];
    if (std::abs(column(0)[row]) > 90 || std::abs(column(2)[row]) > 90)
      return strand_fail(out, row, "a latitude is beyond a pole");
    result[row] = metres(column(0)[row], column(1)[row], column(2)[row], column(3)[row]);
    strand_set(out, row);
  }
  return 0;
}

/// The letters of a text without the marks of a card number's middle: `4111********1111`. Shorter texts are
/// NULL.
int mask_card(const strand_column* in, strand_rows rows, strand_result* out) {
  constexpr size_t kShown = 4;
  std::string masked;
  for (size_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows.rows[i];
    size_t size = 0;
    const char* text = strand_text(&in[0], row, &size);
    if (size <= 2 * kShown) continue;
    masked.assign(text, size);
    masked.replace(kShown, size - 2 * kShown, size - 2 * kShown, '*');
    strand_set_text(out, row, masked.data(), masked.size());
  }
  return 0;
}

/// Whether both are the same, where NULL is the same as NULL.
int same(const strand_column* in, strand_rows rows, strand_result* out) {
  const auto value = [&](size_t i, uint32_t row) { return static_cast<const int64_t*>(in[i].values)[row]; };
  for (size_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows.rows[i];
    const bool missing[] = {strand_is_null(&in[0], row) != 0, strand_is_null(&in[1], row) != 0};
    const bool equal = missing[0] || missing[1] ? missing[0] == missing[1] : value(0, row) == value(1, row);
    strand_set_boolean(out, row, equal ? 1 : 0);
  }
  return 0;
}

constexpr uint32_t kPlaces[] = {STRAND_DOUBLE, STRAND_DOUBLE, STRAND_DOUBLE, STRAND_DOUBLE};
constexpr uint32_t kText[] = {STRAND_STRING};
constexpr uint32_t kNumbers[] = {STRAND_BIGINT, STRAND_BIGINT};

constexpr strand_function kFunctions[] = {
    {"distance", 1, STRAND_DOUBLE, kPlaces, 4, /*takes_null=*/0, distance},
    {"mask_card", 1, STRAND_STRING, kText, 1, /*takes_null=*/0, mask_card},
    {"same", 1, STRAND_BOOLEAN, kNumbers, 2, /*takes_null=*/1, same},
};

}  // namespace

STRAND_EXPORT_FUNCTIONS(kFunctions);
