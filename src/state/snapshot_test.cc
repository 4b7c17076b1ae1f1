#include "state/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kDir = "job/files";

SnapshotBuilder builder(int64_t epoch) {
  SnapshotBuilder out(Epoch{epoch}, KeyGroupRange{0, 63});
  out.set_operator("window-1");
  return out;
}

std::vector<SectionRef> written(SnapshotBuilder& out, MemoryFileSystem& files) {
  auto refs = out.write(files, kDir);
  EXPECT_TRUE(refs.ok());
  return refs.ok() ? *refs : std::vector<SectionRef>{};
}

std::string read(MemoryFileSystem& files, const SectionRef& ref) {
  SnapshotReader reader(files, kDir);
  auto section = reader.read(ref);
  EXPECT_TRUE(section.ok());
  return section.ok() ? std::string(section->bytes()) : "";
}

TEST(Snapshot, SectionsOfATaskShareOneFileAndComeBack) {
  MemoryFileSystem files;
  SnapshotBuilder out = builder(7);
  out.add("windows", 1, "abc");
  out.add("empty", 1, "");
  out.set_operator("dedup-1");
  out.add_deferred("ids", 2, []() -> Result<std::string> { return std::string("later"); });

  const auto refs = written(out, files);

  ASSERT_THAT(refs, SizeIs(3));
  EXPECT_THAT(files.paths(), SizeIs(1));
  EXPECT_EQ(refs[0].file, refs[2].file);
  EXPECT_THAT(refs[0].file, StartsWith("e7-"));
  EXPECT_EQ(refs[0].operator_id, "window-1");
  EXPECT_EQ(refs[2].operator_id, "dedup-1");
  EXPECT_EQ(refs[2].version, 2);
  EXPECT_EQ(refs[2].groups, (KeyGroupRange{0, 63}));
  EXPECT_EQ(read(files, refs[0]), "abc");
  EXPECT_EQ(read(files, refs[1]), "");
  EXPECT_EQ(read(files, refs[2]), "later");
}

TEST(Snapshot, FilesAndTheirFolderAreSyncedOnce) {
  MemoryFileSystem files;
  SnapshotBuilder out = builder(1);
  out.add("a", 1, "1");
  out.add_own_file("b", 1, []() -> Result<SectionBytes> { return SectionBytes("2"); });

  const auto refs = written(out, files);

  EXPECT_NE(refs[0].file, refs[1].file);
  for (const std::string& path : files.paths()) EXPECT_TRUE(files.synced(path)) << path;
  EXPECT_TRUE(files.synced_dirs().contains(kDir));
  EXPECT_EQ(files.dir_syncs(), 1);
}

TEST(Snapshot, EqualContentOfOneEpochHasOneName) {
  MemoryFileSystem files;
  SnapshotBuilder first = builder(3);
  SnapshotBuilder second = builder(3);
  first.add("a", 1, "same");
  second.add("a", 1, "same");
  EXPECT_EQ(written(first, files)[0].file, written(second, files)[0].file);
}

TEST(Snapshot, AnEarlierSectionIsReferredToAndCanBeMerged) {
  MemoryFileSystem files;
  SnapshotBuilder first = builder(1);
  first.add_own_file("ids", 1, []() -> Result<SectionBytes> { return SectionBytes("old"); });
  const SectionRef old = written(first, files)[0];

  SnapshotBuilder second = builder(2);
  second.add_existing(old);
  second.add_merged("merged", 1, [old](SnapshotReader& reader) -> Result<SectionBytes> {
    STRAND_TRY(const Section section, reader.read(old));
    return SectionBytes(std::string(section.bytes()) + "+new");
  });
  const auto refs = written(second, files);

  ASSERT_THAT(refs, SizeIs(2));
  EXPECT_EQ(refs[0], old);
  EXPECT_EQ(read(files, refs[1]), "old+new");
}

TEST(Snapshot, NothingToWriteTouchesNoFile) {
  MemoryFileSystem files;
  SnapshotBuilder out = builder(1);
  EXPECT_THAT(written(out, files), SizeIs(0));
  EXPECT_EQ(files.dir_syncs(), 0);
}

TEST(Snapshot, EveryFailedCallFailsTheSnapshot) {
  for (const std::string call : {"append", "sync", "rename", "sync_dir"}) {
    MemoryFileSystem files;
    files.fail(call);
    SnapshotBuilder out = builder(1);
    out.add("a", 1, "1");
    const auto refs = out.write(files, kDir);
    ASSERT_FALSE(refs.ok()) << call;
    EXPECT_EQ(refs.status().code(), ErrorCode::kIo) << call;
  }
}

class DamagedFile : public ::testing::Test {
 protected:
  DamagedFile() {
    SnapshotBuilder out = builder(5);
    out.add("windows", 1, "0123456789");
    ref_ = written(out, files_)[0];
  }
  std::string path() const { return kDir + "/" + ref_.file; }
  void expect_refused(ErrorCode code, const std::string& words) {
    SnapshotReader reader(files_, kDir);
    const auto section = reader.read(ref_);
    ASSERT_FALSE(section.ok());
    EXPECT_EQ(section.status().code(), code);
    EXPECT_THAT(section.status().message(), HasSubstr(ref_.file));
    EXPECT_THAT(section.status().message(), HasSubstr(words));
  }
  MemoryFileSystem files_;
  SectionRef ref_;
};

TEST_F(DamagedFile, Missing) {
  ASSERT_TRUE(files_.remove(path()).ok());
  expect_refused(ErrorCode::kCheckpointUnreadable, "found none");
}

TEST_F(DamagedFile, CutAnywhere) {
  const std::string whole = files_.bytes(path());
  for (size_t length = 0; length < whole.size(); ++length) {
    files_.bytes(path()) = whole.substr(0, length);
    expect_refused(ErrorCode::kCheckpointUnreadable, "expected");
  }
}

TEST_F(DamagedFile, OneBitFlippedInTheSection) {
  for (uint64_t i = 0; i < ref_.length; ++i) {
    files_.bytes(path())[ref_.offset + i] ^= 4;
    expect_refused(ErrorCode::kCheckpointUnreadable, "checksum");
    files_.bytes(path())[ref_.offset + i] ^= 4;
  }
}

// The header of a large section fills a page, so that the section can be written without a copy.
TEST_F(DamagedFile, OneBitFlippedInFrontOfALargeSection) {
  SnapshotBuilder out = builder(6);
  const auto large = []() -> Result<SectionBytes> { return SectionBytes(std::string(10'000, 'x')); };
  out.add_own_file("ids", 1, large);
  ref_ = written(out, files_)[0];
  ASSERT_EQ(ref_.offset, 4096U);
  for (const uint64_t at : {12, 16, 1'000, 4'095}) {
    files_.bytes(path())[at] ^= 4;
    expect_refused(ErrorCode::kCheckpointUnreadable, "checksum");
    files_.bytes(path())[at] ^= 4;
  }
}

TEST_F(DamagedFile, OtherContent) {
  files_.bytes(path())[0] = 'X';
  expect_refused(ErrorCode::kCheckpointUnreadable, "other content");
}

TEST_F(DamagedFile, WrittenByANewerVersion) {
  files_.bytes(path())[8] = 2;
  expect_refused(ErrorCode::kNewerFormat, "found 2");
}

}  // namespace
}  // namespace strand::state
