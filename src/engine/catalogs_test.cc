// Catalogs in files, as a command keeps them.
#include "engine/catalogs.h"

#include <gmock/gmock.h>

#include "tests/support/memory_file_system.h"

namespace strand::engine {
namespace {

using ::testing::HasSubstr;

sql::KeptCatalog catalog(std::optional<std::string> before, const std::string& text) {
  return {"c", "/kept/c.sql", std::move(before), text};
}

TEST(Catalogs, AFileIsMadeAndReplaced) {
  testing::MemoryFileSystem files;
  ASSERT_TRUE(keep_catalogs(files, {catalog({}, "one")}).ok());
  ASSERT_TRUE(keep_catalogs(files, {catalog("one", "two")}).ok());
  const auto text = read_catalog(files, "/kept/c.sql");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "two");
}

TEST(Catalogs, AFileThatIsNotThereIsAnEmptyCatalog) {
  testing::MemoryFileSystem files;
  const auto text = read_catalog(files, "/kept/c.sql");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, std::nullopt);
}

TEST(Catalogs, WhatHasNotChangedIsNotWritten) {
  testing::MemoryFileSystem files;
  ASSERT_TRUE(keep_catalogs(files, {catalog({}, "theirs")}).ok());
  EXPECT_TRUE(keep_catalogs(files, {catalog("ours", "ours")}).ok());
  EXPECT_EQ(*read_catalog(files, "/kept/c.sql"), "theirs");
}

/// Fails with what a file system tells of a lock that another process holds.
class LockedFileSystem : public testing::MemoryFileSystem {
 public:
  Result<std::unique_ptr<env::FileLock>> lock(const std::string& path, const std::string& owner) override {
    asked = path;
    if (held) return Status(ErrorCode::kStateInUse, "held");
    return MemoryFileSystem::lock(path, owner);
  }
  bool held = true;
  std::string asked;
};

TEST(Catalogs, OneWritesAtATime) {
  LockedFileSystem files;
  const Status refused = keep_catalogs(files, {catalog({}, "ours")});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.to_string(),
              HasSubstr("STRAND-2015  /kept/c.sql: catalog 'c' is being written by somebody else"));
  EXPECT_EQ(files.asked, "/kept/c.sql.lock");
  EXPECT_EQ(*read_catalog(files, "/kept/c.sql"), std::nullopt);
  files.held = false;
  EXPECT_TRUE(keep_catalogs(files, {catalog({}, "ours")}).ok());
}

TEST(Catalogs, WhatSomebodyElseHasWrittenIsNotLost) {
  testing::MemoryFileSystem files;
  ASSERT_TRUE(keep_catalogs(files, {catalog({}, "theirs")}).ok());
  for (const std::optional<std::string>& before :
       {std::optional<std::string>(), std::optional<std::string>("old")}) {
    const Status refused = keep_catalogs(files, {catalog(before, "ours")});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.to_string(),
                HasSubstr("STRAND-2015  /kept/c.sql: catalog 'c' was changed by somebody else"));
  }
  EXPECT_EQ(*read_catalog(files, "/kept/c.sql"), "theirs");
}

}  // namespace
}  // namespace strand::engine
