#include "runtime/restart.h"

#include <algorithm>
#include <cmath>

namespace strand::runtime {

std::optional<Duration> RestartPolicy::on_failure(const Status& error, WallTime started, WallTime failed) {
  final_ = error;
  if (error.reaction() == Reaction::kFailJob || options_.strategy == RestartOptions::Strategy::kNone)
    return std::nullopt;
  const bool about_a_row = static_cast<int>(error.code()) / 1000 == 3;
  const std::string row_error = about_a_row ? error.where() + error.message() : std::string();
  if (about_a_row && row_error == last_row_error_) {
    final_ = Status(ErrorCode::kPoisonRecord, "the same record failed the job twice: " + error.message())
                 .at(error.where())
                 .hint(error.hint().empty() ? "repair or remove the record, or let the table skip it"
                                            : error.hint());
    return std::nullopt;
  }
  last_row_error_ = row_error;
  failures_ = failed - started > options_.quiet ? 1 : failures_ + 1;
  if (failures_ > options_.attempts) return std::nullopt;
  if (options_.strategy == RestartOptions::Strategy::kFixedDelay) return options_.initial;
  const double wait =
      static_cast<double>(options_.initial.millis) * std::pow(options_.multiplier, failures_ - 1);
  return Duration{std::min(options_.longest.millis, static_cast<int64_t>(wait))};
}

}  // namespace strand::runtime
