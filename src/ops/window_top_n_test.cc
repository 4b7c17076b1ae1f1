#include "ops/window_top_n.h"

#include <gmock/gmock.h>

#include "base/bytes.h"
#include "base/random.h"
#include "ops/row_bytes.h"
#include "state/key_table.h"
#include "state/spill/memory_spill.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// (k STRING, v BIGINT, window_start, window_end TIMESTAMP(3))
SchemaPtr windowed() {
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"k", make_type(TypeKind::kString)},
                                   {"v", make_type(TypeKind::kBigInt)},
                                   {"window_start", columnar::timestamp_type(3, false)},
                                   {"window_end", columnar::timestamp_type(3, false)}});
}
struct Ranked {
  std::string key;
  int64_t value;
  int64_t end;
};
/// Windows of 10 s.
columnar::Batch rows_of(const std::vector<Ranked>& rows) {
  columnar::BatchBuilder builder(windowed());
  for (const Ranked& row : rows) {
    builder.column(0).append_string(row.key);
    builder.column(1).append(row.value);
    builder.column(2).append(row.end - 10'000);
    builder.column(3).append(row.end);
    builder.end_row();
  }
  return builder.finish();
}
WindowTopNOptions highest(int64_t from, int64_t to, std::vector<size_t> keys = {}) {
  WindowTopNOptions options;
  options.input = windowed();
  options.keys = std::move(keys);
  options.window_start = 2;
  options.window_end = 3;
  options.order = {{1, /*descending=*/true, /*nulls_last=*/true}};
  options.from = from;
  options.to = to;
  options.rank = true;
  std::vector<columnar::Field> fields = windowed()->fields();
  fields.push_back({"rn", make_type(TypeKind::kBigInt, false)});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}
OperatorHarness top(const WindowTopNOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_window_top_n(options); }, options.keys, parallelism);
}
std::string ranked(const std::string& key, int value, int end, int rank) {
  const auto second = [](int s) {
    return "1970-01-01 00:00:" + std::string(s == 0 ? "0" : "") + std::to_string(s) + ".000";
  };
  return "+I[" + key + ", " + std::to_string(value) + ", " + second(end - 10) + ", " + second(end) + ", " +
         std::to_string(rank) + "]";
}

TEST(WindowTopN, RowsComeByRankWhenTheirWindowCloses) {
  auto op = top(highest(1, 2));
  op.batch(rows_of({{"a", 10, 10'000}, {"b", 20, 10'000}, {"c", 15, 10'000}, {"d", 1, 20'000}}));
  op.watermark(EventTime{9'998});
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(EventTime{9'999});
  EXPECT_THAT(op.output(), ElementsAre(ranked("b", 20, 10, 1), ranked("c", 15, 10, 2)));
  EXPECT_EQ(op.op().state_rows(), 1);
  EXPECT_EQ(op.memory_used(), op.op().state_bytes());
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(ranked("d", 1, 20, 1)));
  EXPECT_EQ(op.op().state_rows(), 0);
}

TEST(WindowTopN, NoMoreRowsAreKeptThanMayRank) {
  auto op = top(highest(1, 2));
  for (int i = 0; i < 50; ++i) op.batch(rows_of({{"a", i, 10'000}}));
  EXPECT_EQ(op.op().state_rows(), 2);
  op.watermark(EventTime{9'999});
  EXPECT_THAT(op.output(), ElementsAre(ranked("a", 49, 10, 1), ranked("a", 48, 10, 2)));
}

TEST(WindowTopN, RanksBelowTheFirstThatIsAskedForAreNotEmitted) {
  auto op = top(highest(2, 3));
  op.batch(rows_of({{"a", 1, 10'000}, {"b", 2, 10'000}, {"c", 3, 10'000}, {"d", 4, 10'000}}));
  op.watermark(EventTime{9'999});
  EXPECT_THAT(op.output(), ElementsAre(ranked("c", 3, 10, 2), ranked("b", 2, 10, 3)));
}

TEST(WindowTopN, OfEqualRowsTheFirstRanksFirstUnlessTheLastIsAskedFor) {
  WindowTopNOptions options = highest(1, 1);
  for (const bool last : {false, true}) {
    options.last_of_equal = last;
    auto op = top(options);
    op.batch(rows_of({{"first", 5, 10'000}, {"last", 5, 10'000}}));
    op.watermark(EventTime{9'999});
    EXPECT_THAT(op.output(), ElementsAre(ranked(last ? "last" : "first", 5, 10, 1)));
  }
}

TEST(WindowTopN, ARowOfAClosedWindowIsLateAndOpenWindowsGoOnAfterARestore) {
  auto op = top(highest(1, 1, {0}));
  std::vector<Ranked> rows;
  for (int key = 0; key < 20; ++key) rows.push_back({std::to_string(key), key, 20'000});
  op.batch(rows_of(rows));
  op.watermark(EventTime{9'999});
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {3, 1}) {
    op.restore(snapshot, parallelism);
    op.batch(rows_of({{"7", 99, 10'000}}));
    EXPECT_THAT(op.output(Port::kLate),
                ElementsAre("+I[7, 99, 1970-01-01 00:00:00.000, 1970-01-01 00:00:10.000]"));
    op.batch(rows_of({{"7", 99, 20'000}, {"8", 1, 20'000}}));
    op.watermark(EventTime{19'999});
    const auto output = op.output();
    EXPECT_EQ(output.size(), 20u);
    EXPECT_THAT(output, ::testing::Contains(ranked("7", 99, 20, 1)));
    EXPECT_THAT(output, ::testing::Contains(ranked("8", 8, 20, 1)));
  }
}

/// Rows of a few windows at random.
columnar::Batch some_rows(Random& random, int64_t first_end) {
  std::vector<Ranked> rows;
  for (uint64_t n = random.below(30) + 1; n > 0; --n) {
    rows.push_back({std::string(1 + random.below(3), static_cast<char>('a' + random.below(6))),
                    static_cast<int64_t>(random.below(10)),
                    first_end + 10'000 * static_cast<int64_t>(random.below(3))});
  }
  return rows_of(rows);
}

// Keys of a window come in the order in which they came, however often the job was restored in between.
TEST(WindowTopN, TheOrderOutlivesRestoresAndMemoryThatHoldsNothing) {
  Random random(7);
  const auto space = state::make_memory_space(0);
  const WindowTopNOptions options = highest(1, 3, {0});
  auto straight = top(options);
  OperatorHarness restored([options] { return make_window_top_n(options); }, options.keys, 1,
                           std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  EXPECT_TRUE(restored.op().spills());
  size_t rows = 0;
  for (int64_t end = 10'000; end < 400'000; end += 10'000) {
    const columnar::Batch batch = some_rows(random, end);
    for (OperatorHarness* op : {&straight, &restored}) {
      op->batch(batch);
      op->watermark(EventTime{end - 1});
    }
    const auto emitted = straight.output();
    ASSERT_EQ(restored.output(), emitted);
    rows += emitted.size();
    restored.restore(restored.snapshot(end % 70'000 == 0), 1);
  }
  EXPECT_GT(rows, 200u);
}

// Before rows lay in a log, a snapshot held the rows of each key by rank.
TEST(WindowTopN, RowsOfAnEarlierFormAreRead) {
  const auto options = highest(1, 2, {0});
  auto op = top(options);
  const columnar::Batch batch = rows_of({{"a", 9, 10'000}, {"a", 5, 10'000}});
  std::vector<uint64_t> hashes;
  columnar::hash_rows(batch, options.keys, hashes);
  ByteWriter bytes;
  bytes.put(int64_t{10'000});
  bytes.put(int64_t{0});
  state::KeyTable::encode_key(hashes[0], "a", bytes);
  bytes.put(int64_t{2});
  for (int64_t row = 0; row < 2; ++row) {
    std::string sort_key;
    columnar::append_sort_key(batch, options.order, row, sort_key);
    bytes.put_string(sort_key);
    bytes.put_string(RowBytes(options.input->size()).encode(batch, row));
  }
  state::SnapshotBuilder builder(Epoch{1}, {0, 127});
  builder.set_operator("op");
  builder.add("windows", 1, bytes.take());
  auto sections = builder.write(*op.files(), "files");
  ASSERT_TRUE(sections.ok());
  obs::Ledger ledger;
  ledger.add(obs::Entry::kIn, 2);
  op.restore({Epoch{1}, *sections, {}, ledger}, 1);
  op.batch(rows_of({{"a", 7, 10'000}}));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(ranked("a", 9, 10, 1), ranked("a", 7, 10, 2)));
}

}  // namespace
}  // namespace strand::ops
