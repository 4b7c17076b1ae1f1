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

}  // namespace
}  // namespace strand::flow
