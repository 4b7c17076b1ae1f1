#include "checkpoint/coordinator.h"

#include <gmock/gmock.h>

#include <functional>

namespace strand::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kStart{1'000'000};

WallTime at(int64_t seconds) { return kStart + Duration{seconds * 1000}; }

std::string text_of(const Action& action) {
  struct Text {
    std::string operator()(const RecordEpoch& a) const { return "record " + std::to_string(a.epoch.value); }
    std::string operator()(const InjectBarrier& a) const {
      return "barrier " + std::to_string(a.epoch.value) +
             (a.kind == SnapshotKind::kSavepoint ? " savepoint" : "") + (a.stop ? " stop" : "") +
             (a.drain ? " drain" : "");
    }
    std::string operator()(const WriteManifest& a) const {
      return "write " + std::to_string(a.epoch.value) + " of " + std::to_string(a.parts.size()) + " tasks";
    }
    std::string operator()(const NotifyCommitted& a) const {
      return "committed " + std::to_string(a.epoch.value);
    }
    std::string operator()(const NotifyAborted& a) const {
      return "aborted " + std::to_string(a.epoch.value);
    }
    std::string operator()(const AnswerSavepoint& a) const {
      return "answer " + std::to_string(a.id) + (a.status.ok() ? " " + a.path : " failed");
    }
    std::string operator()(const StopJob&) const { return "stop"; }
    std::string operator()(const FailJob&) const { return "fail"; }
  };
  return std::visit(Text{}, action);
}

/// A coordinator of two tasks that is told what happens, second by second.
class Seconds {
 public:
  explicit Seconds(CoordinatorOptions options = {.interval = Duration{10'000}}, int32_t tasks = 2)
      : coordinator_(options, tasks, Epoch{40}, kStart) {}

  std::vector<std::string> on(const Event& event, int64_t second) {
    last_ = coordinator_.on(event, at(second));
    std::vector<std::string> texts;
    for (const Action& action : last_) texts.push_back(text_of(action));
    return texts;
  }
  std::vector<std::string> tick(int64_t second) { return on(TimePassed{}, second); }
  std::vector<std::string> recorded(int64_t epoch, int64_t second) {
    return on(EpochRecorded{{epoch}, Status()}, second);
  }
  std::vector<std::string> ack(int32_t task, int64_t epoch, int64_t second, std::string position = "") {
    return on(TaskAcknowledged{{epoch}, task, parts(std::move(position))}, second);
  }
  std::vector<std::string> written(int64_t epoch, int64_t second) {
    return on(ManifestWritten{{epoch}, Status(), "path"}, second);
  }
  /// A checkpoint of both tasks from its begin to its end.
  void complete(int64_t epoch, int64_t second) {
    recorded(epoch, second);
    ack(0, epoch, second);
    ack(1, epoch, second);
    EXPECT_THAT(written(epoch, second), ::testing::Contains("committed " + std::to_string(epoch)));
  }
  static TaskParts parts(std::string position) {
    TaskParts parts;
    parts["source"].shards = {{"S", std::move(position), 0}};
    return parts;
  }
  template <class A>
  const A& action(size_t i) const {
    return std::get<A>(last_[i]);
  }
  Coordinator& operator*() { return coordinator_; }
  Coordinator* operator->() { return &coordinator_; }

 private:
  Coordinator coordinator_;
  std::vector<Action> last_;
};

Status io_error() { return Status(ErrorCode::kIo, "broken"); }

TEST(Coordinator, TheLifeOfACheckpoint) {
  Seconds run;
  EXPECT_EQ(run->next_wakeup(), at(10));
  EXPECT_THAT(run.tick(9), IsEmpty());
  EXPECT_THAT(run.tick(10), ElementsAre("record 41"));
  EXPECT_THAT(run.recorded(41, 11), ElementsAre("barrier 41"));
  EXPECT_THAT(run.ack(1, 41, 12), IsEmpty());
  EXPECT_EQ(run->view().missing, std::set<int32_t>{0});
  EXPECT_THAT(run.ack(0, 41, 13), ElementsAre("write 41 of 2 tasks"));
  EXPECT_EQ(run.action<WriteManifest>(0).taken, at(11)) << "the instant of the barrier";
  EXPECT_THAT(run.written(41, 14), ElementsAre("committed 41"));
  EXPECT_EQ(run->view().last_complete, Epoch{41});
  EXPECT_EQ(run->next_wakeup(), at(20)) << "the interval runs from begin to begin";
}

TEST(Coordinator, NoBarrierWithoutItsNumberBeingDurable) {
  Seconds run({.interval = Duration{10'000}, .tolerable_failures = 1});
  run.tick(10);
  EXPECT_THAT(run.ack(0, 41, 10), IsEmpty());
  EXPECT_THAT(run.on(EpochRecorded{{41}, io_error()}, 11), ElementsAre("aborted 41"));
  EXPECT_THAT(run.tick(20), ElementsAre("record 42")) << "the number is used up";
  EXPECT_THAT(run.recorded(41, 21), IsEmpty()) << "an answer about 41 does not inject 42";
}

TEST(Coordinator, ADeclineEndsTheEpochAndItsLateAcknowledgementsAreIgnored) {
  Seconds run({.interval = Duration{10'000}, .tolerable_failures = 1});
  run.tick(10);
  run.recorded(41, 10);
  run.ack(0, 41, 11);
  EXPECT_THAT(run.on(TaskDeclined{{41}, 1, io_error()}, 12), ElementsAre("aborted 41"));
  run.tick(20);
  run.recorded(42, 20);
  EXPECT_THAT(run.ack(0, 42, 20), IsEmpty());
  EXPECT_THAT(run.ack(1, 41, 21), IsEmpty());
  EXPECT_THAT(run.ack(0, 42, 21), IsEmpty()) << "twice from one task is once";
  EXPECT_THAT(run.ack(1, 42, 22), ElementsAre("write 42 of 2 tasks"));
}

TEST(Coordinator, TheTimeoutNamesWhoIsMissing) {
  Seconds run({.interval = Duration{10'000}, .timeout = Duration{60'000}, .tolerable_failures = 1});
  run.tick(10);
  run.recorded(41, 11);
  run.ack(0, 41, 12);
  EXPECT_EQ(run->next_wakeup(), at(70));
  EXPECT_THAT(run.tick(69), IsEmpty());
  EXPECT_THAT(run.tick(70), ElementsAre("aborted 41", "record 42"));
  const Status& reason = run.action<NotifyAborted>(0).reason;
  EXPECT_EQ(reason.code(), ErrorCode::kCheckpointTimeout);
  EXPECT_THAT(reason.message(), HasSubstr("waiting for task 1"));
}

TEST(Coordinator, ALateManifestOfAnEpochGivenUpIsNotAnnounced) {
  Seconds run({.interval = Duration{10'000}, .timeout = Duration{5'000}, .tolerable_failures = 1});
  run.tick(10);
  run.recorded(41, 10);
  run.ack(0, 41, 10);
  run.ack(1, 41, 10);
  EXPECT_THAT(run.tick(15), ElementsAre("aborted 41"));
  EXPECT_THAT(run.written(41, 16), IsEmpty());
}

TEST(Coordinator, TheJobFailsBeyondTheToleratedFailuresInARow) {
  Seconds run({.interval = Duration{10'000}, .tolerable_failures = 1});
  const auto fail = [&run](int64_t epoch, int64_t second) {
    run.tick(second);
    return run.on(EpochRecorded{{epoch}, io_error()}, second);
  };
  EXPECT_THAT(fail(41, 10), ElementsAre("aborted 41"));
  run.tick(20);
  run.complete(42, 20);
  EXPECT_THAT(fail(43, 30), ElementsAre("aborted 43")) << "a success in between starts the count anew";
  EXPECT_THAT(fail(44, 40), ElementsAre("aborted 44", "fail"));
  EXPECT_EQ(run.action<FailJob>(1).status.code(), ErrorCode::kTooManyCheckpointFailures);
  EXPECT_THAT(run.tick(100), IsEmpty());
  EXPECT_EQ(run->next_wakeup(), WallTime::never());
}

TEST(Coordinator, ThePauseRunsFromTheEndOfTheLast) {
  Seconds run({.interval = Duration{10'000}, .min_pause = Duration{8'000}});
  run.tick(10);
  run.complete(41, 17);
  EXPECT_EQ(run->next_wakeup(), at(25));
  EXPECT_THAT(run.tick(24), IsEmpty());
  EXPECT_THAT(run.tick(25), ElementsAre("record 42"));
}

TEST(Coordinator, AlignedBarriersComeAtWholeMultiplesOfTheInterval) {
  Seconds run({.interval = Duration{30'000}, .min_pause = Duration{5'000}, .align_to_interval = true});
  EXPECT_EQ(run->next_wakeup(), WallTime{1'020'000});  // kStart is 1,000 s
  EXPECT_THAT(run.tick(20), ElementsAre("record 41"));
  run.complete(41, 48);
  EXPECT_EQ(run->next_wakeup(), WallTime{1'080'000}) << "1,050 s would be within the pause";
}

TEST(Coordinator, ASavepointWaitsForTheOneUnderWayButNotForThePause) {
  Seconds run({.interval = Duration{10'000}, .min_pause = Duration{8'000}});
  run.tick(10);
  EXPECT_THAT(run.on(SavepointAsked{{.id = 7}}, 11), IsEmpty());
  run.recorded(41, 12);
  run.ack(0, 41, 12);
  run.ack(1, 41, 12);
  EXPECT_THAT(run.written(41, 13), ElementsAre("committed 41", "record 42"));
  EXPECT_THAT(run.recorded(42, 13), ElementsAre("barrier 42 savepoint"));
  run.ack(0, 42, 14);
  run.ack(1, 42, 14);
  EXPECT_THAT(run.written(42, 15), ElementsAre("committed 42", "answer 7 path"));
}

TEST(Coordinator, WithoutAnIntervalThereAreOnlySavepoints) {
  Seconds run(CoordinatorOptions{});
  EXPECT_EQ(run->next_wakeup(), WallTime::never());
  EXPECT_THAT(run.tick(1'000'000), IsEmpty());
  EXPECT_THAT(run.on(SavepointAsked{{.id = 1}}, 1'000'001), ElementsAre("record 41"));
}

TEST(Coordinator, AStopEndsTheJobAndWhoeverAsksLaterIsAnswered) {
  Seconds run;
  EXPECT_THAT(run.on(SavepointAsked{{.id = 1, .stop = true, .drain = true}}, 1), ElementsAre("record 41"));
  EXPECT_THAT(run.recorded(41, 1), ElementsAre("barrier 41 savepoint stop drain"));
  EXPECT_THAT(run.on(SavepointAsked{{.id = 2}}, 2), IsEmpty());
  run.ack(0, 41, 2);
  run.ack(1, 41, 2);
  EXPECT_TRUE(run.action<WriteManifest>(0).drained);
  EXPECT_THAT(run.written(41, 3), ElementsAre("committed 41", "answer 1 path", "stop", "answer 2 failed"));
  EXPECT_THAT(run.on(SavepointAsked{{.id = 3}}, 4), ElementsAre("answer 3 failed"));
}

TEST(Coordinator, AFailedStopLetsTheJobGoOn) {
  Seconds run;
  run.on(SavepointAsked{{.id = 1, .stop = true}}, 1);
  run.recorded(41, 1);
  EXPECT_THAT(run.on(TaskDeclined{{41}, 0, io_error()}, 2), ElementsAre("aborted 41", "answer 1 failed"));
  EXPECT_THAT(run.tick(10), ElementsAre("record 42"));
}

TEST(Coordinator, AFailedDrainFailsTheJobBecauseEventTimeHasEnded) {
  Seconds run;
  run.on(SavepointAsked{{.id = 1, .stop = true, .drain = true}}, 1);
  run.recorded(41, 1);
  EXPECT_THAT(run.on(TaskDeclined{{41}, 0, io_error()}, 2),
              ElementsAre("aborted 41", "answer 1 failed", "fail"));
  EXPECT_TRUE(run.action<FailJob>(2).drain);
  Seconds early;
  early.on(SavepointAsked{{.id = 1, .stop = true, .drain = true}}, 1);
  EXPECT_THAT(early.on(EpochRecorded{{41}, io_error()}, 2), ElementsAre("aborted 41", "answer 1 failed"))
      << "no source has seen the barrier";
}

TEST(Coordinator, ACheckpointCanBeAskedFor) {
  Seconds run(CoordinatorOptions{});
  EXPECT_THAT(run.on(CheckpointAsked{}, 1), ElementsAre("record 41"));
  EXPECT_THAT(run.on(CheckpointAsked{}, 2), IsEmpty());
  run.recorded(41, 2);
  run.ack(0, 41, 2);
  run.ack(1, 41, 2);
  EXPECT_THAT(run.written(41, 3), ElementsAre("committed 41", "record 42"))
      << "what was asked while one was under way may lie behind its barrier";
}

TEST(Coordinator, AWallClockThatGoesBackMakesNoWaitLonger) {
  Seconds run({.interval = Duration{10'000}, .timeout = Duration{5'000}, .tolerable_failures = 1});
  run.tick(10);
  run.tick(-100'000);
  EXPECT_EQ(run->next_wakeup(), at(-99'995));
  EXPECT_THAT(run.tick(-99'995), ElementsAre("aborted 41"));
  EXPECT_EQ(run->next_wakeup(), at(-99'990));
}

TEST(Coordinator, OnlySoManySavepointsWait) {
  Seconds run;
  for (int64_t id = 0; id < 17; ++id) run.on(SavepointAsked{{.id = id}}, 1);
  EXPECT_THAT(run.on(SavepointAsked{{.id = 99}}, 1), ElementsAre("answer 99 failed"));
}

// ---- every interleaving

/// The world around a coordinator of two tasks: what it was asked to do and has not answered. `step` tries
/// everything that can happen next, to a depth; the rules are checked after each event.
class EveryHistory {
 public:
  explicit EveryHistory(int depth) : depth_(depth) {}
  void run() {
    const World world;
    step(world, depth_);
  }
  int64_t events() const { return events_; }
  int64_t commits() const { return commits_; }

 private:
  struct World {
    Coordinator coordinator{{.interval = Duration{10}, .timeout = Duration{25}, .tolerable_failures = 1},
                            2,
                            Epoch{7},
                            WallTime{0}};
    WallTime now{0};
    int64_t highest = 7;               // number given out
    std::optional<int64_t> under_way;  // begun and not ended
    std::set<int64_t> recording;       // answers that may still come, in any order
    std::set<int64_t> durable;
    std::map<int64_t, std::set<int32_t>>
        can_ack;  // of a barrier that was injected: tasks that have not answered
    std::map<int64_t, std::set<int32_t>> acked;
    std::set<int64_t> writing;
    std::optional<int64_t> manifest_ok;  // the event being handled
    std::set<int64_t> unanswered;
    int savepoints_left = 2;
    bool over = false;
  };

  void step(const World& world, int depth) {
    if (depth == 0 || ::testing::Test::HasFatalFailure()) return;
    const auto tried = [&](const Event& event, const std::function<void(World&)>& change) {
      World next = world;
      change(next);
      deliver(next, event);
      step(next, depth - 1);
    };
    if (const WallTime wake = world.coordinator.next_wakeup(); wake != WallTime::never()) {
      tried(TimePassed{}, [wake](World& w) { w.now = std::max(w.now, wake); });
    }
    for (const int64_t e : world.recording) {
      tried(EpochRecorded{{e}, Status()}, [e](World& w) { w.recording.erase(e), w.durable.insert(e); });
      tried(EpochRecorded{{e}, io_error()}, [e](World& w) { w.recording.erase(e); });
    }
    for (const auto& [e, tasks] : world.can_ack) {
      for (const int32_t task : tasks) {
        tried(TaskAcknowledged{{e}, task, {}},
              [e = e, task](World& w) { w.can_ack[e].erase(task), w.acked[e].insert(task); });
        tried(TaskDeclined{{e}, task, io_error()}, [e = e, task](World& w) { w.can_ack[e].erase(task); });
      }
    }
    for (const int64_t e : world.writing) {
      tried(ManifestWritten{{e}, Status(), "p"}, [e](World& w) { w.writing.erase(e), w.manifest_ok = e; });
      tried(ManifestWritten{{e}, io_error(), ""}, [e](World& w) { w.writing.erase(e); });
    }
    if (world.savepoints_left > 0) {
      const int64_t id = world.savepoints_left;
      tried(SavepointAsked{{.id = id, .stop = id == 1}}, [id](World& w) {
        --w.savepoints_left;
        w.unanswered.insert(id);
      });
    }
  }

  void deliver(World& world, const Event& event) {
    ++events_;
    for (const Action& action : world.coordinator.on(event, world.now)) {
      std::visit([&](const auto& a) { check(world, a); }, action);
    }
    world.manifest_ok.reset();
    ASSERT_EQ(world.coordinator.view().under_way.has_value(), world.under_way.has_value());
    ASSERT_TRUE(!world.over || world.unanswered.empty()) << "nobody waits for a job that has ended";
  }

  void check(World& world, const RecordEpoch& a) {
    ASSERT_FALSE(world.over);
    ASSERT_FALSE(world.under_way) << "one at a time";
    ASSERT_EQ(a.epoch.value, world.highest + 1) << "numbers grow by one and are never used again";
    world.highest = a.epoch.value;
    world.under_way = a.epoch.value;
    world.recording.insert(a.epoch.value);
  }
  void check(World& world, const InjectBarrier& a) {
    ASSERT_EQ(world.under_way, a.epoch.value);
    ASSERT_TRUE(world.durable.contains(a.epoch.value)) << "E1";
    ASSERT_TRUE(world.can_ack[a.epoch.value].empty()) << "one barrier for each number";
    world.can_ack[a.epoch.value] = {0, 1};
  }
  void check(World& world, const WriteManifest& a) {
    ASSERT_EQ(world.under_way, a.epoch.value);
    for (const int32_t task : {0, 1}) {
      ASSERT_TRUE(world.acked[a.epoch.value].contains(task)) << "task " << task << " has not acknowledged";
    }
    ASSERT_EQ(a.parts.size(), 2u) << "every task stands in it, once";
    world.writing.insert(a.epoch.value);
  }
  void check(World& world, const NotifyCommitted& a) {
    ++commits_;
    ASSERT_EQ(world.under_way, a.epoch.value);
    ASSERT_EQ(world.manifest_ok, a.epoch.value) << "only after its manifest is written";
    world.under_way.reset();
  }
  void check(World& world, const NotifyAborted& a) {
    ASSERT_EQ(world.under_way, a.epoch.value);
    ASSERT_NE(world.manifest_ok, a.epoch.value);
    world.under_way.reset();
  }
  void check(World& world, const AnswerSavepoint& a) {
    ASSERT_EQ(world.unanswered.erase(a.id), 1u) << "one answer for each question";
    ASSERT_TRUE(!a.status.ok() || world.manifest_ok.has_value());
  }
  void check(World& world, const StopJob& a) {
    ASSERT_EQ(world.manifest_ok, a.epoch.value);
    world.over = true;
  }
  void check(World& world, const FailJob&) { world.over = true; }

  int depth_;
  int64_t events_ = 0;
  int64_t commits_ = 0;
};

TEST(CoordinatorEveryHistory, OneUnderWayNumbersOnceAndCommittedOnlyWhenComplete) {
  EveryHistory every(/*depth=*/10);
  every.run();
  EXPECT_GT(every.events(), 1'000'000);
  EXPECT_GT(every.commits(), 1'000);
  RecordProperty("events", std::to_string(every.events()));
}

}  // namespace
}  // namespace strand::checkpoint
