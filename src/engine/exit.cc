#include "engine/exit.h"

#include <cstdio>

namespace strand::engine {

Exit exit_of(const Status& error) {
  // A setting or an option of a table that the command line gives.
  if (error.where().starts_with("--set") || error.where().starts_with("--with")) return kBadUsage;
  switch (error.code()) {
    case ErrorCode::kBadUsage:
    case ErrorCode::kFileNotFound:
    case ErrorCode::kBadProfile:
    case ErrorCode::kNotSimulated:
      return kBadUsage;
    case ErrorCode::kNoSuchJob:
      return kNoSuchJob;
    case ErrorCode::kPortInUse:
    case ErrorCode::kFenced:
    case ErrorCode::kWriterTaken:
    case ErrorCode::kSinkAhead:
    case ErrorCode::kSinkReadOnly:
    case ErrorCode::kSinkSchema:
      return kRefused;
    default:
      return static_cast<int>(error.code()) / 1000 == 5 ? kRefused : kAnswerIsNo;
  }
}

Exit exit_of_failure(const Status& error) {
  switch (error.code()) {
    case ErrorCode::kSinkAhead:
    case ErrorCode::kWriterTaken:
    case ErrorCode::kSinkSchema:
      return kRefused;
    default:
      return kFailed;
  }
}

Exit report(const Status& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return exit_of(error);
}

}  // namespace strand::engine
