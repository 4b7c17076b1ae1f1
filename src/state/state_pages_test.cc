#include "state/state_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace strand::state {
namespace {

constexpr size_t kBlock = FrozenPages::kBlockBytes;

void write(StatePages& memory, char* at, char value, size_t size = 8) {
  memory.touch(at, size);
  std::memset(at, value, size);
}

TEST(StatePages, WhatIsFrozenStaysAsItWasWhileTheOwnerWritesOn) {
  StatePages memory;
  char* const page = memory.take();
  write(memory, page, 'a', StatePages::kPageBytes);
  const auto frozen = memory.freeze();
  write(memory, page + 10, 'b');
  write(memory, page + 3 * kBlock - 4 - StatePages::kHeadBytes, 'c');  // in two blocks
  const std::string all(StatePages::kPageBytes, 'a');
  EXPECT_EQ(frozen->read(page + 8, 100), std::string(100, 'a'));
  EXPECT_EQ(std::string_view(frozen->take(page, StatePages::kPageBytes), StatePages::kPageBytes), all);
  EXPECT_EQ(page[10], 'b');
}

TEST(StatePages, EverySnapshotSeesItsOwnInstant) {
  StatePages memory;
  char* const page = memory.take();
  write(memory, page, 'a');
  auto first = memory.freeze();
  write(memory, page, 'b');
  const auto second = memory.freeze();
  write(memory, page, 'c');
  EXPECT_EQ(first->read(page, 1), "a");
  EXPECT_EQ(second->read(page, 1), "b");
  first = nullptr;
  write(memory, page, 'd');
  EXPECT_EQ(second->read(page, 1), "b");
}

TEST(StatePages, APageThatASnapshotMayReadIsNotHandedOutAgain) {
  StatePages memory;
  char* const page = memory.take();
  write(memory, page, 'a');
  auto frozen = memory.freeze();
  memory.give(page);
  char* const other = memory.take();
  EXPECT_NE(other, page);
  memory.give(other);  // came after the freeze
  EXPECT_EQ(memory.take(), other);
  EXPECT_EQ(frozen->read(page, 1), "a");
  frozen = nullptr;
  EXPECT_EQ(memory.take(), page);
}

TEST(StatePages, TellsWhichPagesHaveChangedSinceAFreeze) {
  StatePages memory;
  char* const page = memory.take();
  char* const other = memory.take();
  const uint32_t id = StatePages::id_of(page);
  memory.freeze();
  write(memory, other, 'a');
  EXPECT_LT(memory.changed(id), memory.freezes());
  EXPECT_EQ(memory.changed(StatePages::id_of(other)), memory.freezes());
  memory.freeze();
  EXPECT_LT(memory.changed(StatePages::id_of(other)), memory.freezes());
}

TEST(StatePages, CopiesAreUsedAgain) {
  StatePages memory;
  char* const page = memory.take();
  size_t bytes = 0;
  for (int round = 0; round < 10; ++round) {
    const auto frozen = memory.freeze();
    write(memory, page, 'x', StatePages::kPageBytes);
    if (round == 1) bytes = memory.bytes();
  }
  EXPECT_EQ(memory.bytes(), bytes);
}

TEST(StatePages, AFrozenPageOutlivesItsOwner) {
  std::shared_ptr<FrozenPages> frozen;
  const char* at = nullptr;
  {
    StatePages memory;
    char* const page = memory.take();
    write(memory, page, 'a');
    frozen = memory.freeze();
    write(memory, page, 'b');
    at = page;
  }
  EXPECT_EQ(frozen->read(at, 1), "a");
}

// The writer overtakes the reader somewhere, or the other way round: the reader sees one instant either way.
TEST(StatePages, AThreadMayReadWhileTheOwnerWrites) {
  StatePages memory;
  std::vector<char*> pages;
  for (int i = 0; i < 64; ++i) pages.push_back(memory.take());
  for (int round = 0; round < 20; ++round) {
    const char value = static_cast<char>('a' + round);
    for (char* page : pages) write(memory, page, value, StatePages::kPageBytes);
    size_t wrong = 0;
    std::thread reader([&, frozen = memory.freeze()] {
      for (const char* page : pages) {
        wrong += static_cast<size_t>(frozen->read(page + 100, 1)[0] != value);
        const std::string_view all(frozen->take(page, StatePages::kPageBytes), StatePages::kPageBytes);
        wrong += static_cast<size_t>(all.find_first_not_of(value) != std::string_view::npos);
      }
    });
    for (size_t i = pages.size(); i-- > 0;) {
      for (size_t at = 0; at + 8 < StatePages::kPageBytes; at += kBlock / 2)
        write(memory, pages[i] + at, '-');
    }
    reader.join();
    EXPECT_EQ(wrong, 0u);
  }
}

}  // namespace
}  // namespace strand::state
