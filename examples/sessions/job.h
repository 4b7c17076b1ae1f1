// Sessions: what a user does without a pause of ten minutes, and the clicks that came too late to count.
#pragma once

#include <map>
#include <string>

#include "strandline/stream.h"

namespace sessions {

using Options = std::map<std::string, std::string>;

struct Click {
  std::string user;
  std::string page;
  strandline::Timestamp at;
  static auto fields() {
    return strandline::fields("user", &Click::user, "page", &Click::page, "at", &Click::at);
  }
};

struct Session {
  std::string user;
  strandline::Timestamp begin;
  strandline::Timestamp end;
  int64_t clicks = 0;
  static auto fields() {
    return strandline::fields("user", &Session::user, "begin_at", &Session::begin, "end_at", &Session::end,
                              "clicks", &Session::clicks);
  }
};

/// Reads `clicks`; writes `sessions` and `late_clicks`.
strandline::Job make(const Options& clicks, const Options& sessions, const Options& late_clicks);

}  // namespace sessions
