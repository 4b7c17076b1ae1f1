#include "connect/file/finder.h"

#include <re2/re2.h>

#include <algorithm>

namespace strand::connect::file {
namespace {

constexpr int kDepthMax = 32;

bool hidden(const std::string& name) { return name.empty() || name[0] == '.' || name[0] == '_'; }

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::vector<std::string>> FileFinder::find() {
  auto root = files_.stat(options_.path);
  if (!root.ok()) {
    return std::move(root).status().hint(
        "set 'path' to a file or folder that is there; relative paths start at the "
        "working folder");
  }
  std::vector<std::string> found;
  if (root->is_dir) {
    STRAND_OK(search("", 0, found));
  } else {
    found.push_back(last_part(options_.path));
  }
  if (!options_.path_regex.empty()) {
    const re2::RE2 pattern(options_.path_regex, re2::RE2::Quiet);
    std::erase_if(found, [&](const std::string& shard) {
      const std::string path = root->is_dir ? options_.path + "/" + shard : options_.path;
      return !re2::RE2::FullMatch(path, pattern);
    });
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> wanted;
  for (std::string& shard : found) {
    STRAND_TRY(const bool belongs, partitions_.wants(shard));
    if (belongs) wanted.push_back(std::move(shard));
  }
  return wanted;
}

Status FileFinder::search(const std::string& below, int depth, std::vector<std::string>& found) {
  const std::string dir = below.empty() ? options_.path : options_.path + "/" + below;
  if (depth > kDepthMax) {
    return Status(ErrorCode::kBadOption, "folders lie more than 32 deep: " + dir)
        .hint("is there a circle of links?");
  }
  auto entries = files_.list(dir);
  if (!entries.ok()) {
    const bool gone_meanwhile = depth > 0 && entries.status().code() == ErrorCode::kFileNotFound;
    return gone_meanwhile ? Status() : std::move(entries).status();
  }
  for (const env::FileInfo& entry : *entries) {
    if (hidden(entry.name)) continue;
    std::string name = below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.is_dir) {
      STRAND_OK(search(name, depth + 1, found));
    } else {
      found.push_back(std::move(name));
    }
  }
  return Status();
}

Result<std::string> shard_path(env::FileSystem& files, const std::string& path, const std::string& shard) {
  STRAND_TRY(const env::FileInfo root, files.stat(path));
  return root.is_dir ? path + "/" + shard : path;
}

}  // namespace strand::connect::file
