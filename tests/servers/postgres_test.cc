// The connector of PostgreSQL: tables, types, errors, and a server that goes away.
#include <gmock/gmock.h>

#include <thread>

#include "connect/postgres/lookup.h"
#include "connect/postgres/values.h"
#include "connect/table/test_rows.h"
#include "tests/servers/postgres_backend.h"
#include "tests/servers/stalling_proxy.h"

namespace strand::connect::postgres {
namespace {

using columnar::TypeKind;
using sim::PostgresBackend;
using table::Answer;
using table::Request;
using table::test_record;
using table::test_request;
using table::test_tag;
using table::test_writer;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPut = Request::Kind::kPut;

class Postgres : public testing::Test {
 protected:
  Result<std::unique_ptr<table::TableStore>> opened(const table::WriterSpec& spec) {
    auto store = backend_.connect();
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
  /// One row of a table `t` with key k and a column of each type.
  static table::WriterSpec typed(std::vector<columnar::Field> fields) {
    table::WriterSpec spec;
    spec.job = "job";
    spec.table = "t";
    spec.writer = "w";
    spec.key = table::test_schema({{"k", TypeKind::kInt}});
    spec.values = std::make_shared<columnar::Schema>(fields);
    fields.insert(fields.begin(), spec.key->fields().front());
    spec.table_schema = std::make_shared<columnar::Schema>(std::move(fields));
    return spec;
  }
  static Request put(const columnar::Batch& batch) {
    Request request;
    request.batch = std::make_shared<const columnar::Batch>(batch);
    request.tag = test_tag(1, 1, 41, 1);
    columnar::encode_key(batch, std::vector<size_t>{0}, 0, request.key);
    return request;
  }
  /// Of a writer that stops while it sends rows, and waits for an answer no longer than it must.
  PostgresOptions through(const sim::StallingProxy& proxy) {
    PostgresOptions options = backend_.options();
    const size_t port = options.url.find(':', options.url.find("://") + 3) + 1;
    options.url.replace(port, options.url.find('/', port) - port, std::to_string(proxy.port()));
    options.request_timeout = Duration{500};
    return options;
  }
  uint16_t server_port() const {
    const std::string& url = backend_.options().url;
    return static_cast<uint16_t>(std::stoi(url.substr(url.find(':', url.find("://") + 3) + 1)));
  }
  PostgresOptions impatient() const {
    PostgresOptions options = backend_.options();
    options.request_timeout = Duration{2'000};
    return options;
  }
  PostgresBackend backend_;
};

TEST_F(Postgres, ATableIsCreatedWithTheJobsColumnsAndKey) {
  ASSERT_TRUE(opened(test_writer("fast")).ok());
  EXPECT_THAT(
      backend_.rows("SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute WHERE "
                    "attrelid = 'ad_metrics'::regclass AND attnum > 0 ORDER BY attnum"),
      ElementsAre("entity text", "bucket text", "fast_valid bigint", "late_valid bigint",
                  "final_valid bigint", "fast_ckpt bigint", "fast_gen bigint", "fast_attempt bigint",
                  "fast_ix text", "job_gen bigint"));
}

TEST_F(Postgres, AUsersTableGetsTheColumnsItLacksAndKeepsItsOwn) {
  backend_.run(
      "CREATE TABLE ad_metrics (note text DEFAULT 'mine', bucket varchar(10), entity text, PRIMARY KEY "
      "(bucket, "
      "entity)); INSERT INTO ad_metrics (entity, bucket) VALUES ('ad_1', 'H09')");
  auto store = opened(test_writer("late"));
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  const auto applied =
      (*store)->apply({test_request(test_writer("late"), kPut, {"ad_7", "H10", 1}, test_tag(1, 1, 41, 1))});
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();
  EXPECT_THAT(
      backend_.rows("SELECT concat_ws(' ', entity, note, late_valid) FROM ad_metrics ORDER BY entity"),
      ElementsAre("ad_1 mine", "ad_7 mine 1"));
}

TEST_F(Postgres, ATableWithAnotherKeyOrTypeIsRefusedByName) {
  backend_.run("CREATE TABLE ad_metrics (entity text PRIMARY KEY, bucket text, fast_valid bigint)");
  EXPECT_THAT(open_error(test_writer("fast")).to_string(),
              HasSubstr("expected a primary key or unique index on \"entity\", \"bucket\", found none"));
  backend_.run(
      "DROP TABLE ad_metrics; CREATE TABLE ad_metrics (entity text, bucket text, fast_valid integer, PRIMARY "
      "KEY (entity, bucket))");
  EXPECT_THAT(open_error(test_writer("fast")).to_string(),
              HasSubstr("expected column fast_valid to keep BIGINT (bigint), found it declared integer"));
}

TEST_F(Postgres, AColumnThatWouldChangeValuesIsRefused) {
  const auto kept = [](const char* declared, const columnar::TypePtr& type, bool key = false) {
    return keeps(declared, *type, key);
  };
  const auto decimal = columnar::decimal_type(12, 4);
  EXPECT_TRUE(kept("numeric", decimal));
  EXPECT_TRUE(kept("numeric(12,4)", decimal));
  EXPECT_FALSE(kept("numeric(10,2)", decimal)) << "1.2345 would become 1.23";
  EXPECT_FALSE(kept("numeric(11,4)", decimal));
  EXPECT_FALSE(kept("timestamp(0) without time zone", columnar::timestamp_type(3, false)));
  EXPECT_TRUE(kept("timestamp without time zone", columnar::timestamp_type(3, false)));
  EXPECT_FALSE(kept("timestamp with time zone", columnar::timestamp_type(3, false)));
  const auto text = columnar::make_type(TypeKind::kString);
  EXPECT_TRUE(kept("jsonb", text));
  EXPECT_FALSE(kept("jsonb", text, /*key=*/true)) << "it comes back in another form";
  EXPECT_FALSE(kept("character(5)", text)) << "it is padded";
  const auto whole = columnar::make_type(TypeKind::kInt);
  EXPECT_TRUE(kept("bigint", whole, /*key=*/true));
  EXPECT_TRUE(kept("numeric", whole));
  EXPECT_FALSE(kept("numeric", whole, /*key=*/true));
  EXPECT_FALSE(kept("smallint", whole));
}

TEST_F(Postgres, AKeyThatWouldLoseDecimalsIsRefused) {
  auto spec = typed({{"v", columnar::make_type(TypeKind::kInt)}});
  spec.key = std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"k", columnar::timestamp_type(9, false)}});
  EXPECT_THAT(open_error(spec).to_string(), HasSubstr("key column k of type TIMESTAMP(9) loses decimals"));
}

TEST_F(Postgres, ACommitWhoseAnswerWasLostIsNotDoneTwice) {
  auto spec = test_writer("fast");
  spec.key = std::make_shared<columnar::Schema>();
  spec.values = spec.table_schema = table::row_schema(test_writer("fast"));
  const auto rows = std::make_shared<const columnar::Batch>(
      table::test_batch(test_writer("fast"), {{"ad_7", "M10:14", 5}}));
  const table::Commit commit{{0, {1}, {1}, {40}}, {rows}};
  auto first = backend_.connect_transactions();
  ASSERT_TRUE(first->open(spec).ok());
  ASSERT_TRUE(first->claim({{1}, {1}}).ok());
  // The first commit is still under way on the server when it is repeated: it holds the row of its marker.
  auto session = Connection::open(backend_.options());
  ASSERT_TRUE(
      (*session)
          ->execute("INSERT INTO strandline_markers VALUES ('ad-clicks', 'ad_metrics.fast', 0, 0, 0, -1); "
                    "BEGIN; INSERT INTO ad_metrics (entity, bucket, fast_valid) VALUES ('ad_7', 'M10:14', 5);"
                    "UPDATE strandline_markers SET generation = 1, attempt = 1, epoch = 40 WHERE subtask = 0")
          .ok());
  std::thread ends([&] {
    while (backend_.rows("SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0] ==
           "0") {
    }
    EXPECT_TRUE((*session)->execute("COMMIT").ok());
  });
  const auto again = first->commit(commit);
  ends.join();
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(*again, table::CommitOutcome::kHad);
  EXPECT_THAT(backend_.rows("SELECT entity FROM ad_metrics"), ElementsAre("ad_7"));
}

TEST_F(Postgres, ADeletionThatFailedIsNotedWhenItIsRepeated) {
  const auto spec = test_writer("late");
  auto store = opened(spec);
  ASSERT_TRUE((*store)->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  const std::vector<Request> deletion = {
      test_request(spec, Request::Kind::kDelete, {"a", "H10", {}}, test_tag(1, 1, 42, 2))};
  backend_.run(
      "CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$ "
      "LANGUAGE "
      "plpgsql; CREATE CONSTRAINT TRIGGER at_commit AFTER DELETE ON ad_metrics DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH "
      "ROW EXECUTE FUNCTION fail()");
  EXPECT_EQ((*store)->apply(deletion).status().code(), ErrorCode::kSinkUnavailable);
  backend_.run("DROP TRIGGER at_commit ON ad_metrics");
  ASSERT_TRUE((*store)->apply(deletion).ok());
  EXPECT_TRUE((*store)->list({42}, {42})->deletes);
}

TEST_F(Postgres, APasswordInTheUrlIsRefusedAndNotShown) {
  for (const char* url : {"jdbc:postgresql://u:secret@h/db", "postgres://u:secret@h/db",
                          "jdbc:postgresql://h/db?password=secret", "jdbc:postgresql://u:secret%@h/db"}) {
    TableContext context;
    context.options = {{"url", url}};
    const auto options = postgres_options(context);
    ASSERT_FALSE(options.ok()) << url;
    EXPECT_THAT(options.status().to_string(), testing::Not(HasSubstr("secret")));
  }
}

TEST_F(Postgres, EveryTypeComesBackAsItWasWritten) {
  const auto spec = typed({{"b", columnar::make_type(TypeKind::kBoolean)},
                           {"i", columnar::make_type(TypeKind::kBigInt)},
                           {"f", columnar::make_type(TypeKind::kFloat)},
                           {"d", columnar::make_type(TypeKind::kDouble)},
                           {"s", columnar::make_type(TypeKind::kString)},
                           {"y", columnar::make_type(TypeKind::kBytes)},
                           {"day", columnar::make_type(TypeKind::kDate)},
                           {"at", columnar::timestamp_type(3, true)},
                           {"n", columnar::decimal_type(10, 2)},
                           {"none", columnar::make_type(TypeKind::kBigInt)}});
  columnar::BatchBuilder row(table::row_schema(spec));
  row.column(0).append(int32_t{1});
  row.column(1).append_boolean(true);
  row.column(2).append(int64_t{-9'000'000'000'000'000'001});
  row.column(3).append(0.1F);
  row.column(4).append(1.0e300);
  row.column(5).append_string("tab\there, \\N, line\nend, \xc3\xa4");
  row.column(6).append_string(std::string_view("\0\\\xff", 3));
  row.column(7).append(int32_t{20'492});
  row.column(8).append(int64_t{1'770'545'660'400});
  row.column(9).append(columnar::Int128{-1250});
  row.column(10).append_null();
  row.end_row();
  const columnar::Batch written = row.finish();
  auto store = opened(spec);
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  const auto applied = (*store)->apply({put(written)});
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();

  TableContext context;
  context.schema = table::row_schema(spec);
  context.lookup_keys = {"k"};
  const auto lookup = make_postgres_lookup(context, backend_.options(), "t");
  columnar::BatchBuilder found(context.schema);
  const columnar::Batch key(spec.key, {written.columns()[0]}, 1);
  const Status looked = lookup->find(key, 0, found);
  ASSERT_TRUE(looked.ok()) << looked.to_string();
  ASSERT_EQ(found.rows(), 1);
  const columnar::Batch read = found.finish();
  for (size_t c = 0; c < read.columns().size(); ++c) {
    EXPECT_EQ(columnar::value_to_string(read.column(c), 0), columnar::value_to_string(written.column(c), 0))
        << (*read.schema())[c].name;
  }
}

TEST_F(Postgres, ATextWithTheCharacterZeroIsRefusedByName) {
  auto store = opened(test_writer("late"));
  const auto applied = (*store)->apply(
      {test_request(test_writer("late"), kPut, {std::string("a\0b", 3), "H10", 1}, test_tag(1, 1, 41, 1))});
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.status().code(), ErrorCode::kSinkSchema);
  EXPECT_THAT(applied.status().to_string(), HasSubstr("a text of column entity holds the character U+0000"));
}

TEST_F(Postgres, NestedTypesAreRefusedByName) {
  EXPECT_THAT(
      open_error(typed({{"a", columnar::array_type(columnar::make_type(TypeKind::kInt))}})).to_string(),
      HasSubstr("column a of type ARRAY<INT> is not written to PostgreSQL"));
}

TEST_F(Postgres, SeveralChangesOfOneKeyKeepTheirOrder) {
  const auto spec = test_writer("late");
  auto store = opened(spec);
  const auto applied =
      (*store)->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1)),
                       test_request(spec, Request::Kind::kDelete, {"a", "H10", {}}, test_tag(1, 1, 41, 2)),
                       test_request(spec, kPut, {"a", "H10", 3}, test_tag(1, 1, 41, 3)),
                       test_request(spec, kPut, {"b", "H10", 4}, test_tag(1, 1, 41, 4))});
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();
  EXPECT_THAT(backend_.dump("ad_metrics", false), ElementsAre("a H10: late_valid=3", "b H10: late_valid=4"));
}

TEST_F(Postgres, ASessionThatWasEndedIsMadeAnew) {
  const auto spec = test_writer("late");
  auto store = opened(spec);
  backend_.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strandline' AND "
      "pid <> pg_backend_pid()");
  const std::vector<Request> requests = {test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))};
  const auto lost = (*store)->apply(requests);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.status().code(), ErrorCode::kSinkUnavailable) << lost.status().to_string();
  ASSERT_TRUE((*store)->apply(requests).ok());
  EXPECT_THAT(backend_.dump("ad_metrics", false), ElementsAre("a H10: late_valid=1"));
}

TEST_F(Postgres, AnAnswerThatDoesNotComeIsGivenUp) {
  PostgresOptions options = backend_.options();
  options.request_timeout = Duration{200};
  auto session = Connection::open(options);
  ASSERT_TRUE(session.ok());
  const auto slow = (*session)->query("SELECT pg_sleep(20)");
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.status().code(), ErrorCode::kSinkUnavailable);
  EXPECT_THAT(slow.status().to_string(), HasSubstr("statement timeout")) << "the server gives it up, too";
}

TEST_F(Postgres, WhoCannotBeReachedAndWhoIsRefusedAreToldApart) {
  PostgresOptions nobody = backend_.options();
  nobody.url = "postgresql://127.0.0.1:1/postgres";
  EXPECT_EQ(Connection::open(nobody).status().code(), ErrorCode::kSinkUnavailable);
  PostgresOptions other = backend_.options();
  other.url.replace(other.url.rfind("/postgres") + 1, 8, "nowhere");
  const Status refused = Connection::open(other).status();
  EXPECT_EQ(refused.code(), ErrorCode::kRefused) << refused.to_string();
  EXPECT_THAT(refused.to_string(), HasSubstr("database \"nowhere\" does not exist"));
}

TEST_F(Postgres, AWriterThatStopsWhileItSendsRowsDoesNotHoldItsSuccessorBack) {
  const auto spec = test_writer("late");
  table::WriterClaim claim;
  claim.attempt = {1};
  claim.history = {test_record(1, 1, {}, 0)};
  sim::StallingProxy proxy(server_port(), "COPY ");
  auto stopped = make_flush_store(through(proxy));
  ASSERT_TRUE(stopped->open(spec).ok());
  ASSERT_TRUE(stopped->claim(claim).ok());
  const std::vector<Request> requests = {test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))};
  EXPECT_EQ(stopped->apply(requests).status().code(), ErrorCode::kSinkUnavailable);
  ASSERT_TRUE(proxy.stalled());

  auto successor = make_flush_store(impatient());
  ASSERT_TRUE(successor->open(spec).ok());
  claim.attempt = {2};
  claim.history.push_back(test_record(1, 2, 41, 41));
  const Status claimed = successor->claim(claim);
  EXPECT_TRUE(claimed.ok()) << claimed.to_string();
}

TEST_F(Postgres, AWriterThatStopsWhileItSendsACommitDoesNotHoldItsSuccessorBack) {
  auto spec = test_writer("fast");
  sim::StallingProxy proxy(server_port(), "COPY ");
  auto stopped = make_transaction_store(through(proxy));
  ASSERT_TRUE(stopped->open(spec).ok());
  ASSERT_TRUE(stopped->claim({{1}, {1}}).ok());
  const auto rows = std::make_shared<const columnar::Batch>(table::test_batch(spec, {{"ad_7", "M10:14", 5}}));
  EXPECT_EQ(stopped->commit({{0, {1}, {1}, {40}}, {rows}}).status().code(), ErrorCode::kSinkUnavailable);
  ASSERT_TRUE(proxy.stalled());

  auto successor = make_transaction_store(impatient());
  ASSERT_TRUE(successor->open(spec).ok());
  const Status claimed = successor->claim({{1}, {2}});
  EXPECT_TRUE(claimed.ok()) << claimed.to_string();
}

TEST_F(Postgres, ADeadAttemptsTransactionHoldsItsSuccessorBack) {
  const auto spec = test_writer("late");
  auto session = Connection::open(backend_.options());
  auto store = opened(spec);
  ASSERT_TRUE((*session)->execute("BEGIN; SELECT 1 FROM strandline_attempts FOR SHARE").ok());
  PostgresOptions options = backend_.options();
  options.request_timeout = Duration{300};
  auto successor = make_flush_store(options);
  ASSERT_TRUE(successor->open(spec).ok());
  table::WriterClaim claim;
  claim.attempt = {2};
  claim.history = {test_record(1, 1, {}, 0), test_record(1, 2, 41, 41)};
  EXPECT_EQ(successor->claim(claim).code(), ErrorCode::kSinkUnavailable);
  ASSERT_TRUE((*session)->execute("COMMIT").ok());
  EXPECT_TRUE(successor->claim(claim).ok());
  EXPECT_EQ(
      (*store)->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))}).status().code(),
      ErrorCode::kFenced);
}

}  // namespace
}  // namespace strand::connect::postgres
