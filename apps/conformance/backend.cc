#include "conformance/backend.h"

#include <unistd.h>

#include <filesystem>

#include "env/real.h"
#include "state/spill/memory_spill.h"
#include "state/spill/rocks_spill.h"

namespace strand::conformance {

namespace {
constexpr int64_t kRocksMemory = int64_t{64} << 20;
}  // namespace

state::MakeSpillSpace backend_of(const std::string& name) {
  if (name == "spill") {
    return [](env::FileSystem&) -> Result<std::unique_ptr<state::SpillSpace>> {
      return state::make_memory_space(0);
    };
  }
  if (name != "rocksdb") return {};
  const std::string dir =
      std::filesystem::temp_directory_path() / ("strandline-conformance-" + std::to_string(getpid()));
  return [dir](env::FileSystem&) {
    static env::PosixFileSystem disk;  // the cases' own file system is simulated
    return state::make_rocks_space(disk, {dir, kRocksMemory, 0, /*keep_nothing=*/true});
  };
}

}  // namespace strand::conformance
