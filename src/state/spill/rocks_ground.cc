#include "state/spill/rocks_ground.h"

namespace strand::state {

Status rocks_failure(const rocksdb::Status& status, const std::string& dir) {
  const bool full = status.IsNoSpace();
  return Status(full ? ErrorCode::kDiskFull : ErrorCode::kIo, dir + ": " + status.ToString())
      .hint(full ? "make room on that disk, or name another folder with 'state.backend.rocksdb.localdir'; "
                   "the job goes on from its newest checkpoint"
                 : "look at the disk; the job goes on from its newest checkpoint");
}

}  // namespace strand::state
