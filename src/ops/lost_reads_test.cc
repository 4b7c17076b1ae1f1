// A read of the local disk that fails is an error of the operator, wherever it strikes; nothing wrong goes
// out.
#include "tests/support/lost_reads.h"

#include "ops/regular_join.h"
#include "ops/rowtime_deduplicate.h"
#include "ops/temporal_join.h"
#include "ops/timed_rows_test.h"
#include "ops/top_n.h"
#include "tests/support/change_rows.h"

namespace strand::ops {
namespace {

using columnar::RowKind;
using strand::testing::change_batch;
using strand::testing::change_schema;
using strand::testing::check_each_lost_read;
using strand::testing::OperatorHarness;
using strand::testing::Steps;
using strand::testing::timed_batch;
using strand::testing::timed_schema;

TEST(LostReads, OfATopN) {
  TopNOptions options;
  options.input = options.output = change_schema();
  options.keys = {0};
  options.order = {{1, /*descending=*/true, /*nulls_last=*/true}};
  options.to = 2;
  options.changes = true;
  const Steps before = {[](OperatorHarness& op) {
    op.batch(change_batch({{"+I", "a", 4}, {"+I", "a", 2}, {"+I", "b", 9}, {"+I", "a", 1}}));
  }};
  const Steps after = {
      [](OperatorHarness& op) { op.batch(change_batch({{"-D", "a", 2}, {"+I", "b", 7}, {"+I", "b", 8}})); },
      [](OperatorHarness& op) { op.batch(change_batch({{"-D", "b", 9}, {"-D", "a", 4}, {"+I", "a", 5}})); }};
  EXPECT_GT(check_each_lost_read([=] { return make_top_n(options); }, {0}, before, after), 5);
}

TEST(LostReads, OfADeduplicationByEventTime) {
  RowtimeDeduplicateOptions options;
  options.input = timed_schema();
  options.keys = {0};
  options.time_column = 2;
  options.last = true;
  options.update_before = true;
  const Steps before = {
      [](OperatorHarness& op) { op.batch(timed_batch({{"a", 1, 1'000}, {"b", 2, 1'000}})); }};
  const Steps after = {[](OperatorHarness& op) {
    op.batch(timed_batch({{"b", 3, 2'000}, {"c", 3, 2'000}, {"a", 3, 2'000}, {"c", 4, 3'000}}));
  }};
  EXPECT_GT(check_each_lost_read([=] { return make_rowtime_deduplicate(options); }, {0}, before, after), 1);
}

/// With a key, or of each row with each, where the rows of a side are one list.
void check_join(std::vector<size_t> keys) {
  RegularJoinOptions options;
  for (auto& side : options.sides) side = {change_schema(), keys, /*outer=*/true};
  std::vector<columnar::Field> both = change_schema()->fields();
  for (const columnar::Field& field : options.sides[1].schema->fields()) both.push_back(field);
  options.output = std::make_shared<const columnar::Schema>(std::move(both));
  const Steps before = {
      [](OperatorHarness& op) { op.batch(change_batch({{"+I", "a", 1}, {"+I", "a", 2}}), 0); },
      [](OperatorHarness& op) { op.batch(change_batch({{"+I", "a", 1}, {"+I", "b", 2}}), 1); }};
  const Steps after = {[](OperatorHarness& op) {
                         op.batch(change_batch({{"-D", "a", 1}, {"-D", "a", 2}, {"+I", "a", 3}}), 0);
                       },
                       [](OperatorHarness& op) {
                         op.batch(change_batch({{"-D", "a", 1}, {"+I", "a", 3}, {"-D", "b", 2}}), 1);
                       }};
  EXPECT_GT(check_each_lost_read([=] { return make_regular_join(options); }, keys, before, after), 10);
}
TEST(LostReads, OfAJoin) { check_join({0}); }
TEST(LostReads, OfAJoinWithoutAKey) { check_join({}); }

TEST(LostReads, OfATemporalJoin) {
  TemporalJoinOptions options;
  for (auto& side : options.sides) side = {timed_schema(), {0}, 2};
  options.pairs = options.output = timed_schema(timed_schema()->fields());
  const Steps before = {[](OperatorHarness& op) {
    op.batch(timed_batch({{"a", 1, 1'000}, {"a", 2, 2'000}, {"b", 3, 1'000}}), 1);
  }};
  const Steps after = {[](OperatorHarness& op) {
                         op.batch(timed_batch({{"a", 7, 2'000, RowKind::kUpdateAfter}, {"b", 4, 5'000}}), 1);
                       },
                       [](OperatorHarness& op) {
                         op.batch(timed_batch({{"a", 1, 1'500}, {"a", 2, 2'500}, {"b", 3, 6'000}}), 0);
                       },
                       [](OperatorHarness& op) { op.watermark(EventTime{6'000}); }};
  EXPECT_GT(check_each_lost_read([=] { return make_temporal_join(options); }, {0}, before, after), 3);
}

}  // namespace
}  // namespace strand::ops
