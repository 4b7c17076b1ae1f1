// The barrier of two inputs, on the story's own small input: A = 1, B, 2 and B = 10, 20, B, 30.
#include <numeric>

#include "runtime/in_flight.h"
#include "runtime/pipeline_task.h"
#include "sim/env/env.h"
#include "tests/story/story.h"

namespace strand::story {
namespace {

/// Adds up its rows.
class Sum final : public flow::Operator {
 public:
  Status open(flow::OperatorContext&) override { return Status(); }
  Status process(int, const flow::Batch& batch, flow::Emitter&) override {
    batch.for_each_row([&](int64_t row) { sum_ += batch.column(0).values<int64_t>()[row]; });
    return Status();
  }
  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    out.add("sum", 1, std::to_string(sum_));
    saved_ = true;
    return Status();
  }
  bool saved() const { return saved_; }
  int64_t state_rows() const override { return sum_; }

 private:
  int64_t sum_ = 0;
  bool saved_ = false;
};

flow::Element number(int64_t value) {
  const auto schema = std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt, false)}});
  columnar::BatchBuilder rows(schema);
  rows.column(0).append(value);
  rows.end_row();
  return flow::Rows{rows.finish(), false};
}

class Alignment : public ::testing::Test {
 protected:
  Alignment() {
    context_.env = world_.env();
    context_.master = &master_;
    context_.memory = &memory_;
    context_.memory_watch = &watch_;
    context_.snapshot_dir = "/files";
    EXPECT_TRUE(world_.files.make_dirs("/files").ok());
  }
  void start(bool hold_back) {
    auto chain = std::make_unique<runtime::Chain>();
    chain->defences.hold_back = hold_back;
    chain->slots.emplace_back();
    chain->slots[0].context.operator_id = "sum";
    chain->slots[0].context.ledger = &chain->slots[0].ledger;
    auto sum = std::make_unique<Sum>();
    sum_ = sum.get();
    chain->slots[0].op = std::move(sum);
    const std::vector<std::vector<runtime::Target>> entries = {{{false, 0, 0, 0}}, {{false, 0, 0, 1}}};
    task_ = std::make_unique<runtime::PipelineTask>(0, "sum", nullptr, std::move(chain),
                                                    std::vector<flow::Channel*>{&a_, &b_}, entries,
                                                    KeyGroupRange{0, 127}, context_);
    task_->let_overtake({"n BIGINT", "n BIGINT"});
    for (flow::Channel* channel : {&a_, &b_}) channel->push(flow::HeldEnd{});
    step();
  }
  /// One unit of time, in which these elements arrive.
  void step() {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(task_->step(WallTime{0}, runtime::Phase::kCompletions).ok());
    Random order(0);
    while (world_.executor.run_one(order)) {
    }
  }

  /// What the snapshot and the operator hold.
  struct Outcome {
    std::vector<int64_t> sums;  // of the operator, at each instant
    std::string saved;
    std::vector<int64_t> in_flight;
    int taken = -1;    // when the operator was saved
    int written = -1;  // and the snapshot with all that it needs
  };
  Outcome run(WallTime overtakes = WallTime::never());
  void read(const std::vector<state::SectionRef>& refs, Outcome& out);

  sim::SimEnv world_{1, WallTime{0}};
  runtime::Mailbox<runtime::MasterMessage> master_;
  obs::MemoryAccount memory_;
  runtime::MemoryWatch watch_{memory_};
  runtime::AttemptContext context_;
  flow::Channel a_{nullptr};
  flow::Channel b_{nullptr};
  Sum* sum_ = nullptr;
  std::unique_ptr<runtime::PipelineTask> task_;
};

constexpr int kFirstBarrier = 1;

Alignment::Outcome Alignment::run(WallTime overtakes) {
  const flow::Barrier barrier{Epoch{1}, flow::BarrierKind::kCheckpoint, overtakes};
  const std::multimap<int, std::pair<flow::Channel*, flow::Element>> arrivals = {
      {0, {&a_, number(1)}},  {0, {&b_, number(10)}}, {kFirstBarrier, {&a_, barrier}}, {2, {&a_, number(2)}},
      {3, {&b_, number(20)}}, {5, {&b_, barrier}},    {6, {&b_, number(30)}}};
  Outcome out;
  for (int t = 0; t <= 6; ++t) {
    const auto [from, to] = arrivals.equal_range(t);
    for (auto at = from; at != to; ++at) at->second.first->push(at->second.second);
    step();
    step();
    out.sums.push_back(sum_->state_rows());
    if (out.taken < 0 && sum_->saved()) out.taken = t;
    for (const auto& message : master_.take()) {
      const auto* done = std::get_if<runtime::Acknowledged>(&message);
      if (done == nullptr) continue;
      out.written = t;
      read(done->parts.at("sum").sections, out);
    }
  }
  return out;
}

void Alignment::read(const std::vector<state::SectionRef>& refs, Outcome& out) {
  state::SnapshotReader reader(world_.files, context_.snapshot_dir);
  for (const auto& ref : refs) {
    const auto section = reader.read(ref);
    ASSERT_TRUE(section.ok());
    if (ref.name == "sum") out.saved = section->bytes();
    if (ref.name != runtime::kInFlightSection) continue;
    const auto rows = runtime::decode_in_flight(section->bytes());
    ASSERT_TRUE(rows.ok());
    for (const auto& one : *rows) out.in_flight.push_back(one.rows.column(0).values<int64_t>()[0]);
  }
}

std::string numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> texts;
  for (const int64_t value : values) texts.push_back(text(value));
  return list_of(texts);
}

TEST_F(Alignment, F143_WhatIsBehindABarrierWaitsForTheOtherOne) {
  start(/*hold_back=*/true);
  const Outcome out = run();
  EXPECT_EQ(out.sums, (std::vector<int64_t>{11, 11, 11, 31, 31, 33, 63})) << "the 2 is held back until 5";
  fact("F143", tuple(out.saved, numbers(out.in_flight), out.taken - kFirstBarrier));
}

TEST_F(Alignment, F144_WithoutThatItIsInTheSnapshotAndCountedAgain) {
  start(/*hold_back=*/false);
  const Outcome out = run();
  EXPECT_EQ(out.sums, (std::vector<int64_t>{11, 11, 13, 33, 33, 33, 63}));
  fact("F144", out.saved);
}

TEST_F(Alignment, F145_ABarrierThatOvertakesHoldsNothingBackAndSavesWhatIsInFrontOfIt) {
  start(/*hold_back=*/true);
  const Outcome out = run(/*overtakes=*/WallTime{0});
  EXPECT_EQ(out.sums, (std::vector<int64_t>{11, 11, 13, 33, 33, 33, 63})) << "nothing is held back";
  EXPECT_EQ(out.saved, "11");
  EXPECT_EQ(out.written, 5) << "with the barrier of the other channel";
  const int64_t all = std::accumulate(out.in_flight.begin(), out.in_flight.end(), std::stoll(out.saved));
  fact("F145", tuple(all, numbers(out.in_flight), out.taken - kFirstBarrier));
}

}  // namespace
}  // namespace strand::story
