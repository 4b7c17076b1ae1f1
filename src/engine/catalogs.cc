#include "engine/catalogs.h"

namespace strand::engine {

namespace {
constexpr uint64_t kCatalogBytesMax = 8 << 20;  // as much as a script may have
}  // namespace

Result<std::optional<std::string>> read_catalog(env::FileSystem& files, const std::string& path) {
  const auto info = files.stat(path);
  if (!info.ok() && info.status().code() == ErrorCode::kFileNotFound) return std::optional<std::string>();
  if (!info.ok()) return info.status();
  if (info->is_dir || info->size > kCatalogBytesMax) {
    return Status(ErrorCode::kBadCatalog,
                  "expected the file of a catalog, found " +
                      std::string(info->is_dir ? "a folder" : "a file of more than 8 MiB"))
        .at(path)
        .hint("name a file that CREATE CATALOG has made, or one that is not there yet");
  }
  STRAND_TRY(std::string text, env::read_all(files, path, kCatalogBytesMax));
  return std::optional(std::move(text));
}

namespace {

/// Held while the file is read, compared and replaced.
Result<std::unique_ptr<env::FileLock>> lock_of(env::FileSystem& files, const sql::KeptCatalog& catalog) {
  auto lock = files.lock(catalog.path + ".lock", "catalog " + catalog.name);
  if (lock.ok() || lock.status().code() != ErrorCode::kStateInUse) return lock;
  return Status(ErrorCode::kBadCatalog, "catalog '" + catalog.name + "' is being written by somebody else")
      .at(catalog.path)
      .hint("run the statements again: they are then read behind what the other has made");
}

}  // namespace

Status keep_catalog(env::FileSystem& files, const sql::KeptCatalog& catalog) {
  if (!catalog.changed()) return Status();
  const size_t slash = catalog.path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : slash == 0 ? "/" : catalog.path.substr(0, slash);
  STRAND_OK(files.make_dirs(dir));
  STRAND_TRY(const std::unique_ptr<env::FileLock> lock, lock_of(files, catalog));
  STRAND_TRY(const auto now, read_catalog(files, catalog.path));
  if (now != catalog.before) {
    return Status(ErrorCode::kBadCatalog,
                  "catalog '" + catalog.name + "' was changed by somebody else meanwhile")
        .at(catalog.path)
        .hint("run the statements again: they are then read behind what the other has made");
  }
  return env::write_atomically(files, dir, catalog.path.substr(slash + 1), catalog.text);
}

Status keep_catalogs(env::FileSystem& files, const std::vector<sql::KeptCatalog>& catalogs) {
  for (const sql::KeptCatalog& catalog : catalogs) STRAND_OK(keep_catalog(files, catalog));
  return Status();
}

}  // namespace strand::engine
