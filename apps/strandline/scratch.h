// A folder for what one command keeps while it runs.
#pragma once

#include <cstdlib>
#include <map>
#include <string>

#include "engine/exit.h"
#include "env/env.h"

namespace strand::app {

/// `strandline-WHAT-…` below $TMPDIR or /tmp, new, and removed with its content at the end. `path` is empty
/// where it could not be made.
class Scratch {
 public:
  Scratch(env::FileSystem& files, const std::map<std::string, std::string>& environment,
          const std::string& what)
      : files_(files) {
    const auto dir = environment.find("TMPDIR");
    path_ =
        (dir == environment.end() ? std::string("/tmp") : dir->second) + "/strandline-" + what + "-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Scratch() {
    if (path_.empty()) return;
    const Status removed = files_.remove_all(path_);
    if (!removed.ok()) engine::report(removed);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// kIo with a way out where there is no folder.
  Status made() const {
    if (!path_.empty()) return Status();
    return Status(ErrorCode::kIo, "cannot make a folder for what the command keeps")
        .hint("set TMPDIR to a folder that can be written");
  }
  const std::string& path() const { return path_; }

 private:
  env::FileSystem& files_;
  std::string path_;
};

}  // namespace strand::app
