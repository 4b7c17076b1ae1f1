// The log: one line for each event.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "obs/events.h"

namespace strand::obs {

enum class LogFormat : uint8_t { kLogfmt, kJson };

/// Writes events of at least `lowest` level to a stream, one line each, flushed at once so that a crash loses
/// none. Lines of several threads never mix. A stream that takes no more (a closed pipe, a full disk) loses
/// lines, never the job; `lost` counts them. The stream stays the caller's and must outlive the log.
class Log final : public EventSink {
 public:
  Log(std::FILE* out, LogFormat format, Level lowest, std::string job)
      : out_(out), format_(format), lowest_(lowest), job_(std::move(job)) {}

  void on_event(Event event) override;
  int64_t lost() const;

 private:
  std::FILE* out_;
  LogFormat format_;
  Level lowest_;
  std::string job_;
  mutable std::mutex mutex_;
  int64_t lost_ = 0;
};

}  // namespace strand::obs
