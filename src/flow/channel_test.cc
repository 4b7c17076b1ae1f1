#include "flow/channel.h"

#include <gtest/gtest.h>

#include <thread>

namespace strand::flow {
namespace {

EventTime time_of(const Element& e) { return std::get<Watermark>(e).time; }

TEST(Channel, KeepsTheOrderBeyondItsBound) {
  Channel channel(nullptr);
  for (int64_t i = 0; i < 200; ++i) channel.push(Watermark{{i}});
  EXPECT_TRUE(channel.full());
  int64_t next = 0;
  while (next < 200) {
    while (Element* e = channel.front()) {
      EXPECT_EQ(time_of(*e).millis, next++);
      channel.pop();
    }
    channel.full();
  }
  EXPECT_FALSE(channel.full());
}

TEST(Channel, GivesItsMemoryBack) {
  obs::MemoryAccount account;
  {
    Channel channel(&account);
    channel.push(EndOfInput{});
    channel.push(EndOfInput{});
    EXPECT_EQ(account.used(), 128);
    channel.pop();
    EXPECT_EQ(account.used(), 64);
  }
  EXPECT_EQ(account.used(), 0);
}

TEST(Channel, WakesAProducerThatWaits) {
  Channel channel(nullptr);
  int woken = 0;
  channel.set_producer_waker([&] { ++woken; });
  for (int64_t i = 0; i < 64; ++i) channel.push(Watermark{{i}});
  ASSERT_TRUE(channel.full());
  while (channel.front() != nullptr) channel.pop();
  EXPECT_EQ(woken, 1);
}

TEST(Channel, CarriesElementsBetweenThreads) {
  Channel channel(nullptr);
  constexpr int64_t kCount = 100'000;
  std::thread producer([&] {
    for (int64_t i = 0; i < kCount; ++i) {
      while (channel.full()) std::this_thread::yield();
      channel.push(Watermark{{i}});
    }
    while (channel.full()) std::this_thread::yield();
  });
  for (int64_t next = 0; next < kCount;) {
    if (Element* e = channel.front()) {
      ASSERT_EQ(time_of(*e).millis, next++);
      channel.pop();
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
}

// ---- barriers that overtake

Rows row(int64_t value, bool held = false) {
  const auto schema = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt, false)}});
  columnar::BatchBuilder builder(schema);
  builder.column(0).append(value);
  builder.end_row();
  return {builder.finish(), held};
}
std::vector<int64_t> values(const std::vector<Batch>& batches) {
  std::vector<int64_t> values;
  for (const Batch& batch : batches) values.push_back(batch.column(0).values<int64_t>()[0]);
  return values;
}
constexpr Barrier kOvertakes{Epoch{3}, BarrierKind::kCheckpoint, WallTime{0}};

TEST(ChannelBarrier, IsAnnouncedWithTheRowsInFrontOfIt) {
  Channel channel(nullptr);
  channel.push(row(1, /*held=*/true));
  channel.push(Watermark{{5}});
  channel.push(row(2));
  EXPECT_EQ(channel.announced(), std::nullopt);
  channel.push(kOvertakes);
  channel.push(row(3));
  ASSERT_NE(channel.announced(), std::nullopt);
  EXPECT_EQ(channel.announced()->epoch, Epoch{3});
  EXPECT_EQ(values(channel.overtaken()), std::vector<int64_t>{2});
  for (int i = 0; i < 3; ++i) channel.pop();
  EXPECT_EQ(values(channel.overtaken()), std::vector<int64_t>{});
  channel.pop();
  EXPECT_EQ(channel.announced(), std::nullopt) << "it has been read";
}

TEST(ChannelBarrier, ThatIsAlignedIsNotAnnounced) {
  Channel channel(nullptr);
  channel.push(Barrier{Epoch{3}, BarrierKind::kSavepoint});
  EXPECT_EQ(channel.announced(), std::nullopt);
}

TEST(ChannelBarrier, FindsRowsThatFoundNoRoomInTheRing) {
  Channel channel(nullptr);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 200; ++i) {
    channel.push(row(i));
    all.push_back(i);
  }
  channel.push(kOvertakes);
  EXPECT_EQ(values(channel.overtaken()), all);
  for (int i = 0; i < 64; ++i) channel.pop();
  channel.full();
  EXPECT_EQ(values(channel.overtaken()), std::vector<int64_t>(all.begin() + 64, all.end()));
}

TEST(ChannelBarrier, MayBeAskedForWhileTheProducerGoesOn) {
  Channel channel(nullptr);
  constexpr int64_t kCount = 20'000;
  std::thread producer([&] {
    for (int64_t i = 1; i <= kCount; ++i) {
      channel.push(row(i));
      if (i % 100 == 0) channel.push(Barrier{Epoch{i}, BarrierKind::kCheckpoint, WallTime{0}});
      if (i % 300 == 0) {
        while (channel.full()) std::this_thread::yield();
      }
    }
    while (channel.full()) std::this_thread::yield();
  });
  int64_t read = 0;
  for (int64_t popped = 0; popped < kCount + kCount / 100;) {
    if (const auto barrier = channel.announced()) {
      const std::vector<int64_t> rows = values(channel.overtaken());
      if (!rows.empty()) {
        ASSERT_EQ(rows.front(), read + 1);
        ASSERT_GE(rows.back(), barrier->epoch.value);
      }
    }
    if (Element* element = channel.front()) {
      if (const auto* rows = std::get_if<Rows>(element)) read = rows->batch.column(0).values<int64_t>()[0];
      channel.pop();
      ++popped;
    }
  }
  producer.join();
  EXPECT_EQ(read, kCount);
}

}  // namespace
}  // namespace strand::flow
