// The barrier of two inputs, on the story's own small input: A = 1, B, 2 and B = 10, 20, B, 30.
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
    return Status();
  }
  int64_t state_rows() const override { return sum_; }

 private:
  int64_t sum_ = 0;
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
    auto chain = std::make_unique<runtime::Chain>();
    chain->slots.emplace_back();
    chain->slots[0].context.operator_id = "sum";
    chain->slots[0].context.ledger = &chain->slots[0].ledger;
    chain->slots[0].op = std::make_unique<Sum>();
    sum_ = chain->slots[0].op.get();
    const std::vector<std::vector<runtime::Target>> entries = {{{false, 0, 0, 0}}, {{false, 0, 0, 1}}};
    task_ = std::make_unique<runtime::PipelineTask>(0, "sum", nullptr, std::move(chain),
                                                    std::vector<flow::Channel*>{&a_, &b_}, entries,
                                                    KeyGroupRange{0, 127}, context_);
  }
  /// One unit of time, in which these elements arrive.
  void step() {
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(task_->step(WallTime{0}, runtime::Phase::kCompletions).ok());
    Random order(0);
    while (world_.executor.run_one(order)) {
    }
  }

  sim::SimEnv world_{1, WallTime{0}};
  runtime::Mailbox<runtime::MasterMessage> master_;
  obs::MemoryAccount memory_;
  runtime::MemoryWatch watch_{memory_};
  runtime::AttemptContext context_;
  flow::Channel a_{nullptr};
  flow::Channel b_{nullptr};
  flow::Operator* sum_ = nullptr;
  std::unique_ptr<runtime::PipelineTask> task_;
};

TEST_F(Alignment, F143_WhatIsBehindABarrierWaitsForTheOtherOne) {
  const flow::Barrier barrier{Epoch{1}, flow::BarrierKind::kCheckpoint};
  const std::multimap<int, std::pair<flow::Channel*, flow::Element>> arrivals = {
      {0, {&a_, number(1)}},  {0, {&b_, number(10)}}, {1, {&a_, barrier}},   {2, {&a_, number(2)}},
      {3, {&b_, number(20)}}, {5, {&b_, barrier}},    {6, {&b_, number(30)}}};
  constexpr int kFirstBarrier = 1;
  std::string saved;
  std::vector<std::string> in_flight;
  int aligned = -1;
  for (int t = 0; t <= 6; ++t) {
    const auto [from, to] = arrivals.equal_range(t);
    for (auto at = from; at != to; ++at) at->second.first->push(at->second.second);
    step();
    step();
    EXPECT_EQ(sum_->state_rows(), t < 3    ? 11
                                  : t < 5  ? 31
                                  : t == 5 ? 33
                                           : 63)
        << "at " << t << ": the 2 is held back";
    for (const auto& message : master_.take()) {
      const auto* done = std::get_if<runtime::Acknowledged>(&message);
      if (done == nullptr) continue;
      aligned = t;
      state::SnapshotReader reader(world_.files, context_.snapshot_dir);
      for (const auto& ref : done->parts.at("sum").sections) {
        const auto section = reader.read(ref);
        ASSERT_TRUE(section.ok());
        if (ref.name == "sum") saved = section->bytes();
        if (ref.name != "sum") in_flight.push_back(ref.name);
      }
    }
  }
  EXPECT_EQ(sum_->state_rows(), 63);
  fact("F143", "(" + saved + ", " + list_of(in_flight) + ", " + text(aligned - kFirstBarrier) + ")");
}

}  // namespace
}  // namespace strand::story
