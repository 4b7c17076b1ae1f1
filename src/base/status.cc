#include "base/status.h"

#include <array>

namespace strand {

namespace {
constexpr std::array kErrors = {
#define STRAND_X(name, number, reaction, title) ErrorInfo{ErrorCode::name, #name, Reaction::reaction, title},
    STRAND_ERRORS(STRAND_X)
#undef STRAND_X
};
}  // namespace

std::span<const ErrorInfo> all_errors() { return kErrors; }

const ErrorInfo& error_info(ErrorCode code) {
  for (const ErrorInfo& info : kErrors) {
    if (info.code == code) return info;
  }
  check_failed(__FILE__, __LINE__, "every ErrorCode is in STRAND_ERRORS");
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string text = "STRAND-" + std::to_string(static_cast<int>(code())) + "  ";
  if (!where().empty()) text += where() + ": ";
  text += message();
  if (!hint().empty()) text += "\n  " + hint();
  return text;
}

}  // namespace strand
