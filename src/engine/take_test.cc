// A program that runs a job and takes its rows.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <map>
#include <stdexcept>

#include "env/real.h"
#include "strandline/stream.h"

namespace strandline {
namespace {

class Take : public ::testing::Test {
 protected:
  Take() {
    std::string pattern = ::testing::TempDir() + "strand-take-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~Take() override { EXPECT_TRUE(strand::env::PosixFileSystem().remove_all(dir_).ok()); }

  static Stream numbers(Job& job) {
    job.set("parallelism.default", "2");
    const Table table{"numbers",
                      {{"n", "BIGINT"}},
                      {{"connector", "datagen"},
                       {"rows-per-second", "1000000"},
                       {"fields.n.kind", "sequence"},
                       {"fields.n.start", "1"},
                       {"fields.n.end", "100"}}};
    return job.source(table, {col("n"), (col("n") * lit(2)).as("twice")});
  }
  int run_job(Job& job) {
    std::string program = "program";
    std::string option = "--state";
    char* words[] = {program.data(), option.data(), dir_.data()};
    return run(job, 3, words);
  }
  std::string dir_;
};

TEST_F(Take, RowsComeAsArrowColumns) {
  Job job("taken");
  int64_t sum = 0;
  int64_t twice = 0;
  numbers(job).filter(col("n") > lit(50)).take("big", [&](const Batch& batch) {
    ArrowSchema schema;
    ArrowArray array;
    batch.to_arrow(&schema, &array);
    EXPECT_STREQ(schema.children[1]->name, "twice");
    EXPECT_EQ(array.length, batch.rows());
    for (int64_t row = 0; row < array.length; ++row) {
      EXPECT_EQ(batch.change(row), Change::kInsert);
      sum += static_cast<const int64_t*>(array.children[0]->buffers[1])[row + array.children[0]->offset];
      twice += static_cast<const int64_t*>(array.children[1]->buffers[1])[row + array.children[1]->offset];
    }
    schema.release(&schema);
    array.release(&array);
  });
  EXPECT_EQ(run_job(job), 0);
  EXPECT_EQ(sum, 3'775);
  EXPECT_EQ(twice, 2 * sum);
}

TEST_F(Take, AFunctionThatThrowsFailsTheJobAndIsNamed) {
  Job job("thrown");
  numbers(job).take("all", [](const Batch&) { throw std::runtime_error("full"); });
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_job(job), 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("the function of the program that takes 'all' has thrown: full"));
}

TEST_F(Take, AFunctionMayThrowAnything) {
  Job job("thrown");
  numbers(job).take("all", [](const Batch&) { throw 7; });
  EXPECT_EQ(run_job(job), 3);
}

struct Number {
  int64_t n = 0;
  int64_t twice = 0;
  static auto fields() { return strandline::fields("n", &Number::n, "twice", &Number::twice); }
};
/// The running total of each key.
class Total : public KeyedProcessFunction<int64_t, Number, std::pair<int64_t, int64_t>> {
 public:
  void process_element(const Number& number, KeyedContext<int64_t>& context,
                       Collector<std::pair<int64_t, int64_t>>& out) override {
    total_.update(total_.value_or(0) + number.twice);
    out.collect({context.current_key(), *total_.value()});
  }

 private:
  ValueState<int64_t> total_{*this, "total"};
};

TEST_F(Take, TypedStreamsRunOnThreadsAndGiveTheirElements) {
  Job job("typed");
  std::map<int64_t, int64_t> totals;  // the sink is one, and one thread steps it
  numbers(job)
      .as<Number>()
      .key_by([](const Number& number) { return number.n % 3; })
      .process<Total>()
      .for_each("totals",
                [&](const std::pair<int64_t, int64_t>& total) { totals[total.first] = total.second; });
  EXPECT_EQ(run_job(job), 0);
  EXPECT_THAT(totals, ::testing::ElementsAre(::testing::Pair(0, 3'366), ::testing::Pair(1, 3'434),
                                             ::testing::Pair(2, 3'300)));
}

TEST_F(Take, TwoStreamsNeedTwoNames) {
  Job job("twice");
  const Stream stream = numbers(job);
  stream.take("all", [](const Batch&) {});
  stream.take("all", [](const Batch&) {});
  EXPECT_THAT(job.error(), ::testing::HasSubstr("two streams are taken as 'all'"));
}

}  // namespace
}  // namespace strandline
