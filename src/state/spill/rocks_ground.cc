#include "state/spill/rocks_ground.h"

#include <cerrno>
#include <system_error>

namespace strand::state {

namespace {

std::string way_out(const rocksdb::Status& status) {
  if (status.IsNoSpace())
    return "make room on that disk, or name another folder with 'state.backend.rocksdb.localdir'";
  const std::string reason = status.ToString();
  for (const int error : {EMFILE, ENFILE}) {
    if (reason.find(std::generic_category().message(error)) != std::string::npos)
      return "allow more open files (ulimit -Hn), or give the job more memory";
  }
  return "look at the disk";
}

}  // namespace

Status rocks_failure(const rocksdb::Status& status, const std::string& dir) {
  return Status(status.IsNoSpace() ? ErrorCode::kDiskFull : ErrorCode::kIo, dir + ": " + status.ToString())
      .hint(way_out(status) + "; the job goes on from its newest checkpoint");
}

}  // namespace strand::state
