#include "ops/materialize.h"

#include <gmock/gmock.h>

#include "tests/support/change_rows.h"

namespace strand::ops {
namespace {

using strand::testing::change_batch;
using strand::testing::change_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

OperatorHarness by_key(int32_t parallelism = 1) {
  return OperatorHarness([] { return make_materialize({change_schema(), {0}}); }, {0}, parallelism);
}

TEST(Materialize, TheLastRowOfAKeyStandsThereAndTheOneBeforeComesBack) {
  auto op = by_key();
  op.batch(change_batch({{"+I", "a", 1}, {"+I", "a", 2}, {"+U", "a", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1]", "+U[a, 2]", "+U[a, 3]"));
  op.batch(change_batch({{"-D", "a", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+U[a, 2]"));
  op.batch(change_batch({{"-U", "a", 1}}));
  EXPECT_THAT(op.output(), IsEmpty()) << "it did not stand there";
  op.batch(change_batch({{"-U", "a", 2}, {"+U", "a", 5}}));
  EXPECT_THAT(op.output(), ElementsAre("-D[a, 2]", "+I[a, 5]"));
  EXPECT_EQ(op.op().state_rows(), 1);
}

TEST(Materialize, WhatWasNeverSeenIsNotTakenBack) {
  auto op = by_key();
  op.batch(change_batch({{"-D", "a", 1}, {"+I", "a", 2}, {"-D", "a", 1}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 2]"));
}

TEST(Materialize, TellsTheStandingRowsAfterARestoreAndGoesOn) {
  auto op = by_key();
  op.batch(change_batch({{"+I", "a", 1}, {"+I", "a", 2}, {"+I", "b", 3}}));
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {1, 3}) {
    op.restore(snapshot, parallelism);
    EXPECT_THAT(op.held(), UnorderedElementsAre("+I[a, 2]", "+I[b, 3]"));
    op.output();
    op.batch(change_batch({{"-D", "a", 2}}));
    EXPECT_THAT(op.output(), ElementsAre("+U[a, 1]"));
  }
}

}  // namespace
}  // namespace strand::ops
