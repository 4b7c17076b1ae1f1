#include "obs/log.h"

namespace strand::obs {

void Log::on_event(Event event) {
  if (event.level < lowest_) return;
  std::string line = format_ == LogFormat::kJson ? to_json(event, job_) : to_logfmt(event, job_);
  line += '\n';
  const std::lock_guard lock(mutex_);
  const bool written =
      std::fwrite(line.data(), 1, line.size(), out_) == line.size() && std::fflush(out_) == 0;
  if (written) return;
  std::clearerr(out_);
  ++lost_;
}

int64_t Log::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace strand::obs
