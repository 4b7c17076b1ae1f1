#include "engine/progress.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/reports/story_view_test.h"
#include "env/real.h"

namespace strand::engine {
namespace {

TEST(Progress, WhatWasReadBeyondTheRestoredPositionIsReadAgain) {
  const reports::StoryView story;
  checkpoint::Manifest manifest;
  checkpoint::OperatorPart first;
  first.shards = {{"S1", "", 4}, {"S2", "", 4}};
  manifest.operators["clicks/Scan"] = {first};
  const Progress restored = progress_of(manifest, story.plan);
  const Progress reached = progress_of(*story.view.attempt);
  EXPECT_EQ(reached, (Progress{{"clicks/S1", 6}, {"clicks/S2", 4}, {"clicks/S3", 3}}));
  EXPECT_EQ(records_again(reached, restored), 5) << "2 of S1, and S3 from its start";
  EXPECT_EQ(records_again({}, restored), 0);
  EXPECT_EQ(records_again({{"clicks/S1", 1}}, restored), 0) << "the file may be older than the checkpoint";
}

TEST(Progress, TheFurtherPositionCounts) {
  Progress progress{{"a", 5}, {"b", 1}};
  merge(progress, {{"a", 3}, {"b", 2}, {"c", 1}});
  EXPECT_EQ(progress, (Progress{{"a", 5}, {"b", 2}, {"c", 1}}));
}

TEST(Progress, ADamagedFileIsNone) {
  std::string dir = ::testing::TempDir() + "strand-progress-XXXXXX";
  dir = ::mkdtemp(dir.data());
  env::PosixFileSystem files;
  EXPECT_TRUE(load_progress(files, dir).empty());
  ASSERT_TRUE(save_progress(files, dir, {{"a/b", 7}}).ok());
  EXPECT_EQ(load_progress(files, dir), (Progress{{"a/b", 7}}));
  ASSERT_TRUE(env::write_atomically(files, dir, "progress", "{\"a/b\":").ok());
  EXPECT_TRUE(load_progress(files, dir).empty());
  EXPECT_TRUE(files.remove_all(dir).ok());
}

}  // namespace
}  // namespace strand::engine
