// Functions that are declared wrongly, or do what they must not.
#include <stdexcept>
#include <string>

#include "strandline/function_abi.h"

namespace {

int nothing(const strand_column*, strand_rows, strand_result*) { return 0; }
int without_reason(const strand_column*, strand_rows, strand_result*) { return 7; }
int throws(const strand_column*, strand_rows, strand_result*) { throw std::runtime_error("no more"); }

int fails_for_odd(const strand_column* in, strand_rows rows, strand_result* out) {
  for (size_t i = 0; i < rows.count; ++i) {
    const int32_t value = static_cast<const int32_t*>(in[0].values)[rows.rows[i]];
    if (value % 2 != 0) return strand_fail(out, rows.rows[i], "odd numbers are not taken");
    static_cast<int32_t*>(out->values)[rows.rows[i]] = value / 2;
    strand_set(out, rows.rows[i]);
  }
  return 0;
}

int no_utf8(const strand_column*, strand_rows rows, strand_result* out) {
  for (size_t i = 0; i < rows.count; ++i) strand_set_text(out, rows.rows[i], "\xff", 1);
  return 0;
}

int backwards(const strand_column*, strand_rows rows, strand_result* out) {
  strand_set_text(out, rows.rows[0], "a", 1);
  strand_set_text(out, rows.rows[0], "b", 1);
  return 0;
}

/// Sets all 64 rows of the first word, and those after them that it was asked for.
int sets_all(const strand_column*, strand_rows rows, strand_result* out) {
  for (size_t i = 0; i < rows.count; ++i) static_cast<int32_t*>(out->values)[rows.rows[i]] = 1;
  for (uint32_t row = 0; row < 64; ++row) strand_set(out, row);
  return 0;
}

int throws_no_utf8(const strand_column*, strand_rows, strand_result*) {
  throw std::runtime_error(
      "Stra\xdf"
      "e");
}

int fails_without_utf8(const strand_column*, strand_rows rows, strand_result* out) {
  return strand_fail(out, rows.rows[0], ("\xff" + std::string(5'000, 'x')).c_str());
}

constexpr uint32_t kInt[] = {STRAND_INT};
constexpr uint32_t kUnknown[] = {99};

constexpr strand_function kFunctions[] = {
    {"nothing", 1, STRAND_INT, kInt, 1, 0, nothing},
    {"without_reason", 1, STRAND_INT, kInt, 1, 0, without_reason},
    {"throws", 1, STRAND_INT, kInt, 1, 0, throws},
    {"fails_for_odd", 3, STRAND_INT, kInt, 1, 0, fails_for_odd},
    {"no_utf8", 1, STRAND_STRING, kInt, 1, 0, no_utf8},
    {"backwards", 1, STRAND_STRING, kInt, 1, 0, backwards},
    {"sets_all", 1, STRAND_INT, kInt, 1, 0, sets_all},
    {"throws_no_utf8", 1, STRAND_INT, kInt, 1, 0, throws_no_utf8},
    {"fails_without_utf8", 1, STRAND_INT, kInt, 1, 0, fails_without_utf8},
    {"no_code", 1, STRAND_INT, kInt, 1, 0, nullptr},
    {"unknown_result", 1, 77, kInt, 1, 0, nothing},
    {"unknown_argument", 1, STRAND_INT, kUnknown, 1, 0, nothing},
    {"hidden_arguments", 1, STRAND_INT, nullptr, 1, 0, nothing},
};

}  // namespace

STRAND_EXPORT_FUNCTIONS(kFunctions);
