#include "checkpoint/aligner.h"

#include <gmock/gmock.h>

#include <string>

namespace strand::checkpoint {
namespace {

using Outcome = Aligner::Outcome;

TEST(Aligner, HoldsBackWhatHasDeliveredUntilTheLastHas) {
  Aligner aligner(2);
  EXPECT_EQ(aligner.on_barrier(0, {1}), Outcome::kWait);
  EXPECT_TRUE(aligner.blocked(0));
  EXPECT_FALSE(aligner.blocked(1));
  EXPECT_EQ(aligner.aligning(), Epoch{1});
  EXPECT_EQ(aligner.on_barrier(1, {1}), Outcome::kAligned);
  aligner.release();
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_FALSE(aligner.blocked(1));
  EXPECT_EQ(aligner.aligning(), std::nullopt);
}

TEST(Aligner, HoldsNothingBackWhereItNeedNot) {
  Aligner aligner(2, /*hold_back=*/false);
  EXPECT_EQ(aligner.on_barrier(0, {1}), Outcome::kWait);
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_EQ(aligner.on_barrier(1, {1}), Outcome::kAligned);
}

TEST(Aligner, OneChannelIsAlignedAtOnce) {
  Aligner aligner(1);
  EXPECT_EQ(aligner.on_barrier(0, {1}), Outcome::kAligned);
}

TEST(Aligner, ALaterBarrierOvertakesAnAbortedEpoch) {
  Aligner aligner(2);
  aligner.on_barrier(0, {1});
  EXPECT_EQ(aligner.on_barrier(1, {2}), Outcome::kWait) << "channel 1 never saw barrier 1";
  EXPECT_FALSE(aligner.blocked(0)) << "its barrier 2 is still to come";
  EXPECT_EQ(aligner.on_barrier(0, {2}), Outcome::kAligned);
}

TEST(Aligner, AnAbortedEpochHoldsNothingBackAndItsLateBarriersAreIgnored) {
  Aligner aligner(2);
  aligner.on_barrier(0, {1});
  aligner.on_abort({1});
  EXPECT_FALSE(aligner.blocked(0));
  EXPECT_EQ(aligner.on_barrier(1, {1}), Outcome::kWait);
  EXPECT_FALSE(aligner.blocked(1));
  aligner.on_barrier(0, {2});
  aligner.on_abort({1});
  EXPECT_TRUE(aligner.blocked(0)) << "a late notice about 1 does not touch 2";
}

// ---- every interleaving

/// What a channel carries: records ('r') and barriers ('1', '2', ...).
struct Inputs {
  std::vector<std::string> channels;
  std::string aborts;  // notices that may come at any time, in this order
};

/// A task that reads its channels in every possible order. At each alignment the records it has read must be
/// exactly those before the barrier, and it must never stand still.
class EveryOrder {
 public:
  explicit EveryOrder(Inputs inputs) : inputs_(std::move(inputs)) {}

  void run() {
    step({Aligner(inputs_.channels.size()), std::vector<size_t>(inputs_.channels.size(), 0), 0, 0});
  }
  int64_t histories() const { return histories_; }
  int64_t snapshots() const { return snapshots_; }

 private:
  struct State {
    Aligner aligner;
    std::vector<size_t> read;
    size_t aborted;
    int aligned;  // bits of epochs
  };

  void step(const State& state) {
    bool moved = false;
    for (size_t c = 0; c < state.read.size(); ++c) {
      if (state.read[c] == inputs_.channels[c].size() || state.aligner.blocked(c)) continue;
      moved = true;
      State next = state;
      take(next, c);
      step(next);
    }
    if (state.aborted < inputs_.aborts.size()) {
      State next = state;
      next.aligner.on_abort({inputs_.aborts[next.aborted++] - '0'});
      step(next);
    } else if (!moved) {
      finish(state);
    }
  }

  void take(State& state, size_t c) {
    const char element = inputs_.channels[c][state.read[c]++];
    if (element == 'r') return;
    if (state.aligner.on_barrier(c, {element - '0'}) != Outcome::kAligned) return;
    check_cut(state, static_cast<char>('0' + state.aligner.aligning()->value));
    state.aligned |= 1 << state.aligner.aligning()->value;
    state.aligner.release();
    ++snapshots_;
  }

  void check_cut(const State& state, char barrier) {
    for (size_t c = 0; c < state.read.size(); ++c) {
      const std::string before = inputs_.channels[c].substr(0, state.read[c]);
      const size_t at = before.find(barrier);
      ASSERT_NE(at, std::string::npos) << "channel " << c << " had not delivered";
      ASSERT_EQ(before.find('r', at), std::string::npos) << "a record behind the barrier on channel " << c;
    }
  }

  void finish(const State& state) {
    ++histories_;
    for (size_t c = 0; c < state.read.size(); ++c) {
      ASSERT_EQ(state.read[c], inputs_.channels[c].size()) << "channel " << c << " stands still";
      ASSERT_FALSE(state.aligner.blocked(c));
    }
    const char last = '3';
    ASSERT_TRUE((state.aligned >> (last - '0')) & 1) << "the epoch that nobody gave up was not aligned";
  }

  Inputs inputs_;
  int64_t histories_ = 0;
  int64_t snapshots_ = 0;
};

TEST(AlignerEveryOrder, TheCutIsExactAndNothingStandsStill) {
  const std::vector<Inputs> all = {
      {{"r1r3r", "1rr3r"}, ""},     // two epochs, as usual
      {{"r1r2r3r", "1r2rr3"}, ""},  // three
      {{"r1r3", "r2r3"}, "12"},     // 1 and 2 were given up before they reached every source
      {{"r1r2r3", "r3r"}, "12"},    // neither reached channel 1
      {{"1r3", "r1r3", "1r3"}, ""}, {{"r1r3", "1rr3", "r1r3r"}, "1"}, {{"r3", "1r3", "r3"}, "1"},
  };
  int64_t histories = 0;
  int64_t snapshots = 0;
  for (const Inputs& inputs : all) {
    EveryOrder every(inputs);
    every.run();
    histories += every.histories();
    snapshots += every.snapshots();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(histories, 10'000);
  EXPECT_GT(snapshots, 10'000);
  RecordProperty("histories", std::to_string(histories));
}

}  // namespace
}  // namespace strand::checkpoint
