// The fast way through JSON lines: writers nearly always repeat one layout, so the text between the values of
// a line is expected to be the same, byte for byte, as that of an earlier line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "codec/json_reader.h"

namespace strand::codec {

/// How the fast way reads a value. Whatever it does not know how to read, it asks JsonReader for.
enum class FastValue : uint8_t { kSkip, kString, kInt, kBigInt, kBoolean, kTimestamp, kOther };

/// Text between two values. Not longer than 64, so that it is compared in two steps.
struct Literal {
  static constexpr size_t kMax = 64;
  std::array<char, kMax> text = {};
  uint32_t size = 0;
};

/// One layout of lines: a literal in front of each value, and one behind the last.
struct JsonLayout {
  struct Step {
    Literal before;
    FastValue kind = FastValue::kSkip;
    int place = JsonShape::kNoPlace;
  };
  static constexpr size_t kStepsMax = 256;
  std::vector<Step> steps;
  Literal tail;              // ends in '\n'
  std::vector<int> missing;  // places that the line does not have, fields of ROWs that are missing left out
  std::vector<int> rows;     // places of its ROWs, inner ones first
  int64_t lines = 0;         // how many had it

  /// The layout of a line that JsonReader has read. Nothing if it is unfit: a literal is too long, a wanted
  /// name comes twice, or a missing one is an error.
  static std::optional<JsonLayout> learn(std::string_view line, const JsonMembers& members,
                                         const JsonShape& shape, const JsonOptions& options);
};

/// Where values of a place go.
struct JsonPlace {
  const JsonShape* shape;
  columnar::ColumnBuilder* column;
};

/// Lines for the kernels. Every line up to `end` ends in '\n', and 64 bytes behind `end` can be read.
struct FastLines {
  const char* p;
  const char* end;
  int64_t rows_max;
  const JsonPlace* places;
  TimestampForm form;
  JsonReader* reader;
};

/// Reads the values of lines while they have the layout, at most rows_max; moves `p` behind the last one and
/// returns how many. Values of the line that deviates may have been appended.
using FastKernel = int64_t (*)(const JsonLayout&, FastLines&);
int64_t fast_lines_portable(const JsonLayout& layout, FastLines& lines);
#if STRAND_HAS_V3
int64_t fast_lines_v3(const JsonLayout& layout, FastLines& lines);
#endif
FastKernel fast_kernel(CpuLevel level);

}  // namespace strand::codec
