#include "env/env.h"

#include "env/fresh_file.h"

namespace strand::env {

Result<std::string> read_all(FileSystem& files, const std::string& path, uint64_t limit) {
  STRAND_TRY(const std::unique_ptr<ReadFile> file, files.open_read(path));
  STRAND_TRY(const uint64_t size, file->size());
  if (size > limit) {
    return Status(ErrorCode::kIo, "expected at most " + std::to_string(limit) + " bytes, found a file of " +
                                      std::to_string(size) + " bytes")
        .at(path);
  }
  std::string bytes(size, '\0');
  STRAND_TRY(const size_t got, file->read_at(0, bytes.data(), bytes.size()));
  bytes.resize(got);
  return bytes;
}

Status write_fresh(FileSystem& files, const std::string& path, std::string_view bytes) {
  Status removed = files.remove(path);
  if (!removed.ok() && removed.code() != ErrorCode::kFileNotFound) return removed;
  STRAND_TRY(const std::unique_ptr<WriteFile> file, files.create(path));
  STRAND_OK(file->append(bytes));
  STRAND_OK(file->sync());
  return file->close();
}

Status write_atomically(FileSystem& files, const std::string& dir, const std::string& name,
                        std::string_view bytes) {
  const std::string path = dir + "/" + name;
  const std::string temporary = path + std::string(kTemporarySuffix);
  Status written = write_fresh(files, temporary, bytes);
  if (written.ok()) written = files.rename(temporary, path);
  if (!written.ok()) {
    // The first error is the one to report; what stays behind is removed by the next attempt.
    static_cast<void>(files.remove(temporary).ok());
    return written;
  }
  return files.sync_dir(dir);
}

}  // namespace strand::env
