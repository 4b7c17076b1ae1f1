// The bytes of one shard file, decompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "env/env.h"

namespace strand::connect::file {

/// A file as a run of bytes, whatever it is packed in. Offsets count the unpacked bytes. Bytes that were
/// there stay there; a file may grow. Belongs to one thread.
class Input {
 public:
  virtual ~Input() = default;
  /// Reads up to `size` bytes at `offset`; fewer only where the bytes that are there end. Offsets behind the
  /// last read are cheap, as are those a little before; a packed file is unpacked anew for others. Errors:
  /// kIo; kCorruptInput.
  virtual Result<size_t> read_at(uint64_t offset, char* into, size_t size) = 0;
  /// How long the file on disk must be at least, having been read to `position`: a shorter one has lost
  /// something.
  virtual uint64_t disk_needed(uint64_t position) const = 0;
  /// `read_at` has come to the end of the file. kShardShrank if that lies before `position`; if nobody writes
  /// to the file any more (`complete`): kCorruptInput if a packed file stops in the middle.
  virtual Status check_end(uint64_t position, bool complete) const = 0;
};

/// By the ending of the name: `.gz` gzip (several members behind each other are one), `.zst` Zstandard
/// (several frames likewise), anything else as it is. kFileNotFound if it is not there.
Result<std::unique_ptr<Input>> open_input(env::FileSystem& files, const std::string& path);

}  // namespace strand::connect::file
