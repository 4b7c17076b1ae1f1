// Where printed lines go.
#pragma once

#include <cstdio>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace strand::connect {

/// Takes whole lines, each with its '\n'. Thread-safe: lines of two callers are never mixed.
class LineWriter {
 public:
  virtual ~LineWriter() = default;
  virtual Status write(std::string_view lines) = 0;
};

/// Writes to a stream of the process at once. The stream must stay open. Where its reader has gone, no
/// attempt to write again can help (kSinkReadOnly).
class StreamLineWriter final : public LineWriter {
 public:
  explicit StreamLineWriter(std::FILE* stream) : stream_(stream) {}
  Status write(std::string_view lines) override;

 private:
  std::FILE* stream_;  // locks itself for the length of one fwrite
};

}  // namespace strand::connect
