// The SQLite connector: tables, types, errors, and what a killed process leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "connect/registry.h"
#include "connect/sqlite/connector.h"
#include "connect/sqlite/flush_store.h"
#include "connect/sqlite/read.h"
#include "connect/sqlite/transaction_store.h"
#include "connect/sqlite/values.h"
#include "connect/table/test_rows.h"

namespace strand::connect::sqlite {
namespace {

using columnar::TypeKind;
using table::Request;
using table::test_record;
using table::test_request;
using table::test_tag;
using table::test_writer;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPut = Request::Kind::kPut;

class Sqlite : public testing::Test {
 protected:
  Sqlite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strand-sqlite-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~Sqlite() override { std::filesystem::remove_all(dir_); }

  std::string path() const { return dir_ + "/sink.db"; }
  void execute(const std::string& sql) {
    auto database = Database::open(path(), Database::Mode::kWrite, Duration{1000});
    ASSERT_TRUE(database.ok());
    const Status done = (*database)->execute(sql);
    ASSERT_TRUE(done.ok()) << done.to_string();
  }
  Result<std::unique_ptr<table::TableStore>> opened(const table::WriterSpec& spec,
                                                    Duration timeout = Duration{1000}) {
    auto store = make_flush_store({path(), timeout});
    STRAND_OK(store->open(spec));
    table::WriterClaim claim;
    claim.history = {test_record(1, 1, {}, 0)};
    STRAND_OK(store->claim(claim));
    return store;
  }
  Status open_error(const table::WriterSpec& spec) {
    auto store = opened(spec);
    return store.ok() ? Status() : store.status();
  }
  std::string dir_;
};

TEST_F(Sqlite, ATableIsCreatedWithTheJobsColumnsAndKey) {
  ASSERT_TRUE(opened(test_writer("fast")).ok());
  const auto rows = read_table(path(), "ad_metrics", /*bookkeeping=*/true);
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(rows->columns, ElementsAre("entity", "bucket", "fast_valid", "late_valid", "final_valid",
                                         "fast_ckpt", "fast_gen", "fast_attempt", "fast_ix", "job_gen"));
}

TEST_F(Sqlite, AUsersTableGetsTheColumnsItLacksAndKeepsItsOwn) {
  execute(
      "CREATE TABLE ad_metrics (note TEXT DEFAULT 'mine', bucket TEXT, entity TEXT, PRIMARY KEY (bucket, "
      "entity));"
      "INSERT INTO ad_metrics (entity, bucket) VALUES ('ad_1', 'H09')");
  auto store = opened(test_writer("late"));
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  ASSERT_TRUE(
      (*store)
          ->apply({test_request(test_writer("late"), kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))})
          .ok());
  const auto rows = read_table(path(), "ad_metrics");
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT(rows->columns,
              ElementsAre("note", "bucket", "entity", "fast_valid", "late_valid", "final_valid"));
  ASSERT_EQ(rows->rows.size(), 2u);
  EXPECT_EQ(rows->value(1, "note"), "mine");
  EXPECT_EQ(rows->value(1, "late_valid"), "1");
}

// F197: the index entry names generation, epoch and one of eight shards.
TEST_F(Sqlite, AWriteCarriesItsTagAndIndexEntry) {
  auto store = opened(test_writer("late"));
  ASSERT_TRUE(
      (*store)
          ->apply({test_request(test_writer("late"), kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))})
          .ok());
  const auto rows = read_table(path(), "ad_metrics", /*bookkeeping=*/true);
  EXPECT_EQ(rows->value(0, "late_ckpt"), "41");
  EXPECT_EQ(rows->value(0, "late_gen"), "1");
  EXPECT_EQ(rows->value(0, "late_attempt"), "1");
  EXPECT_EQ(rows->value(0, "job_gen"), "1");
  EXPECT_THAT(*rows->value(0, "late_ix"), testing::MatchesRegex("1#41#[0-7]"));
}

// F199: a writer that only adds columns leaves the row, with its key and job_gen.
TEST_F(Sqlite, AWriterThatDoesNotOwnRowsLeavesThem) {
  auto spec = test_writer("late");
  spec.owns_rows = false;
  auto store = opened(spec);
  ASSERT_TRUE((*store)->apply({test_request(spec, kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  const auto removed = (*store)->apply({test_request(spec, Request::Kind::kRemove, {"ad_7", "H10", {}},
                                                     test_tag(1, 1, 41), test_tag(1, 1, 41))});
  ASSERT_TRUE(removed.ok());
  EXPECT_THAT(*removed, ElementsAre(table::Answer::kWritten));
  const auto rows = read_table(path(), "ad_metrics", /*bookkeeping=*/true);
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_EQ(rows->value(0, "late_valid"), std::nullopt);
  EXPECT_EQ(rows->value(0, "late_ix"), std::nullopt);
  EXPECT_EQ(rows->value(0, "job_gen"), "1");
}

// Another job may add a writer while this one runs: its values keep the row from being deleted.
TEST_F(Sqlite, ARowIsNotDeletedWhileAWriterThatCameLaterHasValuesInIt) {
  auto spec = test_writer("late");
  auto store = opened(spec);
  ASSERT_TRUE((*store)->apply({test_request(spec, kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  auto later = test_writer("audit", "another-job");
  later.table_schema = table::row_schema(later);
  auto other = opened(later);
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  ASSERT_TRUE((*other)->apply({test_request(later, kPut, {"ad_7", "H10", 9}, test_tag(1, 1, 3, 1))}).ok());
  ASSERT_TRUE((*store)
                  ->apply({test_request(spec, Request::Kind::kRemove, {"ad_7", "H10", {}}, test_tag(1, 1, 41),
                                        test_tag(1, 1, 41))})
                  .ok());
  const auto rows = read_table(path(), "ad_metrics");
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_EQ(rows->value(0, "audit_valid"), "9");
}

TEST_F(Sqlite, EveryTypeComesBackAsItWasWritten) {
  const auto field = [](const char* name, columnar::TypePtr type) {
    return columnar::Field{name, std::move(type)};
  };
  using columnar::make_type;
  table::WriterSpec spec = test_writer("all");
  spec.table = "types";
  spec.key = std::make_shared<columnar::Schema>(
      std::vector{field("k", columnar::timestamp_type(6, false)), field("d", columnar::decimal_type(20, 3))});
  spec.values = std::make_shared<columnar::Schema>(std::vector{
      field("boolean", make_type(TypeKind::kBoolean)), field("tiny", make_type(TypeKind::kTinyInt)),
      field("big", make_type(TypeKind::kBigInt)), field("real", make_type(TypeKind::kDouble)),
      field("text", make_type(TypeKind::kString)), field("bytes", make_type(TypeKind::kBytes)),
      field("date", make_type(TypeKind::kDate)), field("ts", columnar::timestamp_type(3, true))});
  spec.table_schema = row_schema(spec);
  columnar::BatchBuilder builder(row_schema(spec));
  builder.column(0).append(int64_t{1'770'545'640'123'456});
  builder.column(1).append(columnar::Int128{-12'345'678});
  builder.column(2).append_boolean(true);
  builder.column(3).append(int8_t{-5});
  builder.column(4).append(INT64_MIN);
  builder.column(5).append(0.1);
  builder.column(6).append_string(std::string_view("it's \0 nul", 10));
  builder.column(7).append_string(std::string_view("\xff\x00", 2));
  builder.column(8).append(int32_t{-1});
  builder.column(9).append(int64_t{1'770'545'640'000});
  builder.end_row();
  Request request;
  request.batch = std::make_shared<const columnar::Batch>(builder.finish());
  request.tag = test_tag(1, 1, 41, 1);
  const std::vector<size_t> keys = {0, 1};
  columnar::encode_key(*request.batch, keys, 0, request.key);
  auto store = opened(spec);
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  ASSERT_TRUE((*store)->apply({request}).ok());

  const auto rows = read_table(path(), "types");
  EXPECT_THAT(rows->rows[0],
              ElementsAre("2026-02-08 10:14:00.123456", "-12345.678", "1", "-5", "-9223372036854775808",
                          "0.1", std::string("it's \0 nul", 10), std::string("\xff\x00", 2), "1969-12-31",
                          "2026-02-08 10:14:00.000"));
  const auto batches = read_batches(path(), "types", row_schema(spec));
  ASSERT_TRUE(batches.ok()) << batches.status().to_string();
  EXPECT_EQ(columnar::row_to_string((*batches)[0], 0), columnar::row_to_string(*request.batch, 0));
  const auto listing = (*store)->list({41}, {41});
  ASSERT_TRUE(listing.ok()) << listing.status().to_string();
  EXPECT_EQ(listing->values[0].key, request.key);
}

TEST_F(Sqlite, AColumnOfAnotherTypeIsRefused) {
  execute(
      "CREATE TABLE ad_metrics (entity TEXT, bucket TEXT, late_valid TEXT, PRIMARY KEY (entity, bucket))");
  const Status status = open_error(test_writer("late"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kSinkSchema);
  EXPECT_THAT(status.to_string(), testing::AllOf(HasSubstr(path()), HasSubstr("late_valid"),
                                                 HasSubstr("TEXT"), HasSubstr("BIGINT")));
}

TEST_F(Sqlite, AnotherKeyIsRefused) {
  execute("CREATE TABLE ad_metrics (entity TEXT PRIMARY KEY, bucket TEXT)");
  EXPECT_EQ(open_error(test_writer("late")).code(), ErrorCode::kSinkSchema);
  execute("CREATE UNIQUE INDEX both ON ad_metrics (bucket, entity)");
  EXPECT_TRUE(open_error(test_writer("late")).ok());
}

TEST_F(Sqlite, ATypeThatSqliteCannotHoldIsRefused) {
  auto spec = test_writer("late");
  spec.values = std::make_shared<columnar::Schema>(
      std::vector{columnar::Field{"late_valid", columnar::array_type(columnar::make_type(TypeKind::kInt))}});
  spec.table_schema = row_schema(spec);
  const Status status = open_error(spec);
  EXPECT_EQ(status.code(), ErrorCode::kSinkSchema);
  EXPECT_THAT(status.hint(), HasSubstr("CAST"));
}

TEST_F(Sqlite, AWriterOfAnotherJobIsTaken) {
  ASSERT_TRUE(opened(test_writer("late")).ok());
  const Status status = open_error(test_writer("late", "other"));
  EXPECT_EQ(status.code(), ErrorCode::kWriterTaken);
  EXPECT_THAT(status.to_string(),
              testing::AllOf(HasSubstr("ad-clicks"), HasSubstr("strand.writer"), HasSubstr(path())));
}

TEST_F(Sqlite, AReadOnlyFileIsNamed) {
  ASSERT_TRUE(opened(test_writer("late")).ok());
  auto store = make_flush_store({"file:" + path() + "?mode=ro", Duration{1000}});
  const Status status = store->open(test_writer("late"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kSinkReadOnly);
  EXPECT_THAT(status.to_string(), HasSubstr(path()));
}

TEST_F(Sqlite, AFolderThatIsNotThereIsNamed) {
  auto store = make_flush_store({dir_ + "/nowhere/sink.db", Duration{1000}});
  const Status status = store->open(test_writer("late"));
  EXPECT_EQ(status.code(), ErrorCode::kFileNotFound);
  EXPECT_THAT(status.to_string(), HasSubstr("/nowhere/sink.db"));
}

TEST_F(Sqlite, AFileThatIsNoDatabaseIsNamed) {
  FILE* file = fopen(path().c_str(), "w");
  fputs(std::string(4096, 'x').c_str(), file);
  fclose(file);
  EXPECT_EQ(open_error(test_writer("late")).code(), ErrorCode::kSinkSchema);
}

TEST_F(Sqlite, ALockThatLastsIsUnavailableAndThenGone) {
  auto store = opened(test_writer("late"), Duration{1});
  ASSERT_TRUE(store.ok());
  const std::vector<Request> rows = {
      test_request(test_writer("late"), kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))};
  {
    auto other = Database::open(path(), Database::Mode::kWrite, Duration{1});
    auto holder = Transaction::begin(**other);
    ASSERT_TRUE(holder.ok());
    const auto refused = (*store)->apply(rows);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), ErrorCode::kSinkUnavailable);
    EXPECT_THAT(refused.status().hint(), HasSubstr("strand.busy-timeout"));
  }
  EXPECT_TRUE((*store)->apply(rows).ok());
}

TEST_F(Sqlite, AFullDiskIsSaidSo) {
  auto database = Database::open(path(), Database::Mode::kWrite, Duration{1000});
  ASSERT_TRUE((*database)->execute("CREATE TABLE t (x TEXT); PRAGMA max_page_count = 4").ok());
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i)
    status = (*database)->execute("INSERT INTO t VALUES (hex(randomblob(1000)))");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kDiskFull);
}

TEST_F(Sqlite, ReadingATableThatIsNotThereSaysSo) {
  EXPECT_EQ(read_table(path(), "ad_metrics").status().code(), ErrorCode::kFileNotFound);
  execute("CREATE TABLE other (x)");
  EXPECT_EQ(read_table(path(), "ad_metrics").status().code(), ErrorCode::kUnknownTable);
}

// A process that is killed in the middle of its batches leaves whole batches, and every one that was
// acknowledged.
TEST_F(Sqlite, AKilledProcessLeavesWholeBatchesAndAllThatWereAcknowledged) {
  constexpr int64_t kRows = 50;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = opened(test_writer("late"));
    for (int64_t batch = 0; store.ok(); ++batch) {
      std::vector<Request> requests;
      for (int64_t i = 0; i < kRows; ++i) {
        requests.push_back(test_request(test_writer("late"), kPut, {"ad_" + std::to_string(i), "H10", batch},
                                        test_tag(1, 1, batch, i)));
      }
      if (!(*store)->apply(requests).ok() || write(pipe_ends[1], &batch, sizeof batch) != sizeof batch) break;
    }
    _exit(1);
  }
  close(pipe_ends[1]);
  int64_t acknowledged = -1;
  int64_t heard = 0;
  while (acknowledged < 15 && read(pipe_ends[0], &heard, sizeof heard) == sizeof heard) acknowledged = heard;
  kill(child, SIGKILL);
  while (read(pipe_ends[0], &heard, sizeof heard) == sizeof heard) acknowledged = heard;
  close(pipe_ends[0]);
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFSIGNALED(ended));

  const auto rows = read_table(path(), "ad_metrics");
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  ASSERT_EQ(rows->rows.size(), static_cast<size_t>(kRows));
  const std::string value = *rows->value(0, "late_valid");
  for (size_t row = 0; row < rows->rows.size(); ++row) EXPECT_EQ(rows->value(row, "late_valid"), value);
  EXPECT_GE(std::stoll(value), acknowledged);
}

TEST_F(Sqlite, TransactionModeUpsertsByKeyAndDeletes) {
  auto store = make_transaction_store({path(), Duration{1000}});
  const auto spec = test_writer("fast");
  ASSERT_TRUE(store->open(spec).ok());
  ASSERT_TRUE(store->claim({{1}, {1}}).ok());
  const auto rows = std::make_shared<const columnar::Batch>(
      test_batch(spec, {{"ad_7", "M10:14", 5},
                        {"ad_9", "M10:14", 2},
                        {"ad_7", "M10:14", 6},
                        {"ad_9", "M10:14", 2, columnar::RowKind::kDelete}}));
  ASSERT_TRUE(store->commit({{0, {1}, {1}, {41}}, {rows}}).ok());
  const auto found = read_table(path(), "ad_metrics");
  ASSERT_EQ(found->rows.size(), 1u);
  EXPECT_EQ(found->value(0, "fast_valid"), "6");
}

/// Rows (name, rate) of the table rates by its key.
class SqliteLookupTest : public Sqlite {
 protected:
  static columnar::SchemaPtr schema(std::vector<columnar::Field> fields) {
    return std::make_shared<const columnar::Schema>(std::move(fields));
  }
  Result<std::unique_ptr<flow::Lookup>> make(const std::string& table) const {
    Registry registry;
    add_sqlite_connector(registry);
    TableContext context;
    context.table = table;
    context.options = {{"connector", "sqlite"}, {"path", path()}};
    context.schema = schema(
        {{"name", columnar::make_type(TypeKind::kString)}, {"rate", columnar::make_type(TypeKind::kInt)}});
    context.lookup_keys = {"id"};
    STRAND_TRY(const Connector* connector, registry.find(context.options, TableUse::kLookup));
    return connector->lookup(context);
  }
  /// `name,rate` of each row found.
  static std::vector<std::string> find(flow::Lookup& lookup, int64_t id, Status& status) {
    columnar::BatchBuilder keys(schema({{"id", columnar::make_type(TypeKind::kBigInt)}}));
    keys.column(0).append(id);
    keys.end_row();
    columnar::BatchBuilder found(schema(
        {{"name", columnar::make_type(TypeKind::kString)}, {"rate", columnar::make_type(TypeKind::kInt)}}));
    status = lookup.find(keys.finish(), 0, found);
    const columnar::Batch rows = found.finish();
    std::vector<std::string> texts;
    for (int64_t row = 0; row < rows.rows(); ++row)
      texts.push_back(columnar::value_to_string(rows.column(0), row) + "," +
                      columnar::value_to_string(rows.column(1), row));
    return texts;
  }
};

TEST_F(SqliteLookupTest, FindsTheRowsOfAKeyAsTheLastCommitHasLeftThem) {
  execute("CREATE TABLE rates (id INTEGER, name TEXT, rate INTEGER)");
  execute("INSERT INTO rates VALUES (1, 'one', 10), (2, 'two', NULL), (1, 'uno', 11)");
  auto lookup = make("rates");
  ASSERT_TRUE(lookup.ok()) << lookup.status().to_string();
  Status status;
  EXPECT_THAT(find(**lookup, 1, status), ElementsAre("one,10", "uno,11"));
  EXPECT_THAT(find(**lookup, 2, status), ElementsAre("two,null"));
  EXPECT_THAT(find(**lookup, 3, status), ElementsAre());
  execute("UPDATE rates SET rate = 12 WHERE name = 'two'");
  EXPECT_THAT(find(**lookup, 2, status), ElementsAre("two,12"));
  EXPECT_TRUE(status.ok());
}

TEST_F(SqliteLookupTest, WhatIsNotThereIsAnErrorWithThePath) {
  auto lookup = make("rates");
  ASSERT_TRUE(lookup.ok());
  Status status;
  find(**lookup, 1, status);
  EXPECT_EQ(status.code(), ErrorCode::kFileNotFound);
  execute("CREATE TABLE other (id INTEGER)");
  find(**lookup, 1, status);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.to_string(), HasSubstr("rates"));
}

class SqliteOptionsTest : public Sqlite {
 protected:
  Status make(std::map<std::string, std::string> options,
              std::vector<std::string> key = {"entity", "bucket"}) {
    Registry registry;
    add_sqlite_connector(registry);
    options["connector"] = "sqlite";
    const auto connector = registry.find(options, TableUse::kWrite);
    if (!connector.ok()) return connector.status();
    TableContext context;
    context.job = "ad-clicks";
    context.table = "ad_metrics";
    context.schema = row_schema(test_writer("fast"));
    context.table_schema = test_writer("fast").table_schema;
    context.primary_key = std::move(key);
    context.writer = "fast";
    context.options = std::move(options);
    const auto sink = (*connector)->sink(context);
    return sink.ok() ? Status() : sink.status();
  }
};

TEST_F(SqliteOptionsTest, TheGoodOnesAreTaken) {
  EXPECT_TRUE(make({{"path", path()}}).ok());
  EXPECT_TRUE(make({{"path", path()}, {"table-name", "t"}, {"sink.mode", "transaction"}}, {}).ok());
  EXPECT_TRUE(
      make({{"path", path()}, {"sink.buffer-flush.max-rows", "1000"}, {"strand.busy-timeout", "30 s"}}).ok());
}

TEST_F(SqliteOptionsTest, TheBadOnesAreNamed) {
  EXPECT_EQ(make({}).code(), ErrorCode::kBadOption);
  EXPECT_EQ(make({{"path", path()}, {"sink.mode", "append"}}).code(), ErrorCode::kBadOption);
  EXPECT_EQ(make({{"path", path()}, {"sink.buffer-flush.max-rows", "0"}}).code(), ErrorCode::kBadOption);
  EXPECT_EQ(make({{"path", path()}, {"sink.buffer-flush.max-rows", "many"}}).code(), ErrorCode::kBadOption);
  EXPECT_EQ(make({{"path", path()}, {"strand.busy-timeout", "soon"}}).code(), ErrorCode::kBadOption);
  EXPECT_EQ(make({{"path", path()}, {"pth", "x"}}).code(), ErrorCode::kUnknownOption);
  const Status keyless = make({{"path", path()}}, {});
  EXPECT_EQ(keyless.code(), ErrorCode::kBadOption);
  EXPECT_THAT(keyless.hint(), HasSubstr("sink.mode"));
}

}  // namespace
}  // namespace strand::connect::sqlite
