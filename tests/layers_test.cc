// src/LAYERS is law: every #include of a folder is allowed by it, and its graph has no cycle.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using Layers = std::map<std::string, std::set<std::string>>;

/// The table, with everything that comes along.
Layers read_layers() {
  Layers layers;
  std::ifstream file("src/LAYERS");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(':');
    std::istringstream names(line.substr(colon + 1));
    std::set<std::string>& allowed = layers[line.substr(0, colon)];
    for (std::string name; names >> name;) {
      allowed.insert(name);
      EXPECT_TRUE(layers.count(name) != 0) << name << " must stand above " << line;
      allowed.insert(layers[name].begin(), layers[name].end());
    }
  }
  return layers;
}

/// The folder of the table that a path below src/ belongs to: the longest that fits (`sim/env` before `sim`).
std::string folder_of(const std::string& path, const Layers& layers) {
  std::string best;
  for (const auto& [folder, allowed] : layers) {
    if (path.starts_with(folder + "/") && folder.size() > best.size()) best = folder;
  }
  return best;
}

/// The folders of ours that a file includes.
std::set<std::string> included_folders(const fs::path& path, const Layers& layers) {
  static const std::regex kInclude(R"re(^\s*#include\s+"([a-z_/0-9]+\.h)")re");
  std::set<std::string> folders;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::smatch match;
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string folder = folder_of(match[1], layers);
    if (!folder.empty()) folders.insert(folder);
  }
  return folders;
}

bool is_source(const fs::path& path) { return path.extension() == ".cc" || path.extension() == ".h"; }

TEST(Layers, EveryIncludeIsAllowed) {
  const Layers layers = read_layers();
  ASSERT_GT(layers.size(), 10U);
  int files = 0;
  for (const char* root : {"src", "apps"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string path = entry.path().string();
      // Tests may use the simulated machine and the fakes of tests/support.
      if (!is_source(entry.path()) || path.ends_with("_test.cc") || path.find("/test_") != std::string::npos) continue;
      ++files;
      const std::string folder =
          std::string(root) == "apps" ? "apps" : folder_of(fs::relative(path, root).string(), layers);
      ASSERT_FALSE(folder.empty()) << path << " lies in no folder of src/LAYERS";
      for (const std::string& other : included_folders(entry.path(), layers)) {
        if (other == folder) continue;
        EXPECT_TRUE(layers.at(folder).count(other) != 0)
            << path << " includes " << other << "/, which " << folder << " may not (src/LAYERS)";
      }
    }
  }
  EXPECT_GT(files, 50);
}

TEST(Layers, EveryFolderHasALayer) {
  const Layers layers = read_layers();
  for (const auto& entry : fs::directory_iterator("src")) {
    if (!entry.is_directory()) continue;
    EXPECT_TRUE(layers.count(entry.path().filename()) != 0) << entry.path();
  }
}

TEST(Layers, ClocksAndSleepsAreOnlyInEnv) {
  static const std::regex kTime(
      R"re((system|steady|high_resolution)_clock|sleep_(for|until)|\b(u|nano)sleep\(|clock_gettime|gettimeofday)re");
  for (const char* root : {"src", "apps"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string path = entry.path().string();
      if (!is_source(entry.path()) || path.starts_with("src/env/") || path.ends_with("_test.cc")) continue;
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        EXPECT_FALSE(std::regex_search(line, kTime)) << path << ": " << line;
      }
    }
  }
}

TEST(Layers, NoFileIsLongerThanAThousandLines) {
  for (const char* root : {"src", "apps", "include", "tests"}) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!is_source(entry.path())) continue;
      std::ifstream file(entry.path());
      int lines = 0;
      for (std::string line; std::getline(file, line);) ++lines;
      EXPECT_LE(lines, 1000) << entry.path();
    }
  }
}

}  // namespace
