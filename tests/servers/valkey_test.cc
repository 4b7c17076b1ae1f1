// The connector of Valkey: rows, types, errors, and a connection that was given up.
#include <gmock/gmock.h>

#include "connect/table/test_rows.h"
#include "connect/valkey/lookup.h"
#include "tests/servers/stalling_proxy.h"
#include "tests/servers/valkey_backend.h"

namespace strand::connect::valkey {
namespace {

using columnar::TypeKind;
using sim::ValkeyBackend;
using table::Request;
using table::test_record;
using table::test_request;
using table::test_tag;
using table::test_writer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr auto kPut = Request::Kind::kPut;

class Valkey : public testing::Test {
 protected:
  std::unique_ptr<table::TableStore> opened(const table::WriterSpec& spec, const ValkeyOptions& options,
                                            int64_t attempt = 1) {
    auto store = make_flush_store(options);
    const Status open = store->open(spec);
    EXPECT_TRUE(open.ok()) << open.to_string();
    table::WriterClaim claim;
    claim.attempt = {attempt};
    for (int64_t a = 1; a <= attempt; ++a) claim.history.push_back(test_record(1, a, 40, 41));
    const Status claimed = store->claim(claim);
    EXPECT_TRUE(claimed.ok()) << claimed.to_string();
    return store;
  }
  ValkeyOptions through(const sim::StallingProxy& proxy) {
    ValkeyOptions options = backend_.options();
    options.port = proxy.port();
    options.request_timeout = Duration{300};
    return options;
  }
  Status refused(const std::map<std::string, std::string>& more) {
    TableContext context;
    context.options = {{"url", "redis://127.0.0.1:6379"}};
    for (const auto& [key, value] : more) context.options[key] = value;
    const auto options = valkey_options(context);
    return options.ok() ? Status() : options.status();
  }
  ValkeyBackend backend_;
};

TEST_F(Valkey, ARowIsAHashUnderTheTablesNameAndItsKey) {
  const auto spec = test_writer("late");
  auto store = opened(spec, backend_.options());
  ASSERT_TRUE(store->apply({test_request(spec, kPut, {"a:b", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  auto row = backend_.row("ad_metrics:a\\:b:H10");
  row.erase("late_ix");
  EXPECT_THAT(row, ElementsAre(Pair("bucket", "H10"), Pair("entity", "a:b"), Pair("job_gen", "1"),
                               Pair("late_attempt", "1"), Pair("late_ckpt", "41"), Pair("late_gen", "1"),
                               Pair("late_valid", "1")));
}

TEST_F(Valkey, FieldsThatTheJobDoesNotWriteStay) {
  backend_.call({"HSET", "ad_metrics:a:H10", "note", "mine", "late_valid", "9"});
  const auto spec = test_writer("late");
  auto store = opened(spec, backend_.options());
  ASSERT_TRUE(store->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  EXPECT_EQ(backend_.row("ad_metrics:a:H10")["note"], "mine");
  ASSERT_TRUE(
      store->apply({test_request(spec, Request::Kind::kDelete, {"a", "H10", {}}, test_tag(1, 1, 41, 2))})
          .ok());
  EXPECT_THAT(backend_.row("ad_metrics:a:H10"), testing::Contains(Pair("note", "mine")));
  EXPECT_FALSE(backend_.row("ad_metrics:a:H10").contains("late_valid"));
}

TEST_F(Valkey, AKeyThatHoldsSomethingElseIsAnErrorThatNamesIt) {
  backend_.call({"SET", "ad_metrics:a:H10", "text"});
  const auto spec = test_writer("late");
  auto store = opened(spec, backend_.options());
  const auto applied = store->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))});
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.status().code(), ErrorCode::kSinkSchema) << applied.status().to_string();
  EXPECT_THAT(applied.status().to_string(), HasSubstr("WRONGTYPE"));
}

TEST_F(Valkey, ATagThatSomebodyElseHasWrittenIsAnErrorAndNoCrash) {
  const auto spec = test_writer("late");
  auto store = opened(spec, backend_.options());
  ASSERT_TRUE(store->apply({test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))}).ok());
  backend_.call({"HSET", "ad_metrics:a:H10", "late_gen", "mine"});
  const auto listed = store->list({0}, {50});
  ASSERT_FALSE(listed.ok());
  EXPECT_THAT(listed.status().to_string(), HasSubstr("has a tag that is none, generation 'mine'"));
}

/// The server reads what was sent on the old connection only when newer writes are done.
TEST_F(Valkey, AWriteOfAConnectionThatWasGivenUpIsRefusedWhenItArrives) {
  const auto spec = test_writer("late");
  sim::StallingProxy proxy(static_cast<uint16_t>(backend_.options().port), "ad_metrics:a:H10",
                           /*holds=*/true);
  auto store = opened(spec, through(proxy));
  const std::vector<Request> first = {test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))};
  EXPECT_EQ(store->apply(first).status().code(), ErrorCode::kSinkUnavailable);
  ASSERT_TRUE(proxy.stalled());
  ASSERT_TRUE(store->apply(first).ok());
  ASSERT_TRUE(store->apply({test_request(spec, kPut, {"a", "H10", 2}, test_tag(1, 1, 41, 2))}).ok());
  proxy.release();
  EXPECT_EQ(backend_.row("ad_metrics:a:H10")["late_valid"], "2");
}

TEST_F(Valkey, AServerThatIsRestartedWithoutItsMemoryIsWrittenAnew) {
  const auto spec = test_writer("late");
  auto store = opened(spec, backend_.options());
  const std::vector<Request> requests = {test_request(spec, kPut, {"a", "H10", 1}, test_tag(1, 1, 41, 1))};
  backend_.call({"FLUSHALL"});
  const auto lost = store->apply(requests);
  EXPECT_EQ(lost.status().code(), ErrorCode::kSinkUnavailable) << lost.status().to_string();
  EXPECT_THAT(lost.status().to_string(), HasSubstr("the server no longer knows the connection"));
  ASSERT_TRUE(store->apply(requests).ok());
  EXPECT_THAT(backend_.dump("ad_metrics", false), ElementsAre("a H10: late_valid=1"));
}

TEST_F(Valkey, AServerThatDoesNotKeepWhatItAcknowledgesIsRefusedByName) {
  backend_.call({"CONFIG", "SET", "appendfsync", "everysec"});
  const bool waits = (*Client::open(backend_.options()))->call({"WAITAOF", "0", "0", "1"}).ok();
  const auto spec = test_writer("late");
  const Status everysec = make_flush_store(backend_.options())->open(spec);
  EXPECT_EQ(everysec.ok(), waits) << everysec.to_string();
  EXPECT_THAT(everysec.to_string(), HasSubstr(waits ? "" : "appendfsync is not 'always'"));
  ValkeyOptions server = backend_.options();
  server.durability = Durability::kServer;
  EXPECT_TRUE(make_flush_store(server)->open(spec).ok());

  backend_.call({"CONFIG", "SET", "appendonly", "no"});
  EXPECT_THAT(make_flush_store(server)->open(spec).to_string(), HasSubstr("it keeps no append-only file"));
  server.durability = Durability::kMemory;
  EXPECT_TRUE(make_flush_store(server)->open(spec).ok());

  backend_.call({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const Status evicts = make_flush_store(server)->open(spec);
  EXPECT_EQ(evicts.code(), ErrorCode::kBadOption);
  EXPECT_THAT(evicts.to_string(), HasSubstr("maxmemory-policy allkeys-lru"));
  backend_.call(
      {"CONFIG", "SET", "maxmemory-policy", "noeviction", "appendonly", "yes", "appendfsync", "always"});
}

TEST_F(Valkey, EveryTypeComesBackAsItWasWritten) {
  const auto ltz = columnar::timestamp_type(3, true);
  auto spec = test_writer("w");
  spec.table = "t";
  spec.key = table::test_schema({{"k", TypeKind::kInt}});
  std::vector<columnar::Field> fields = {{"b", columnar::make_type(TypeKind::kBoolean)},
                                         {"i", columnar::make_type(TypeKind::kBigInt)},
                                         {"f", columnar::make_type(TypeKind::kFloat)},
                                         {"s", columnar::make_type(TypeKind::kString)},
                                         {"y", columnar::make_type(TypeKind::kBytes)},
                                         {"day", columnar::make_type(TypeKind::kDate)},
                                         {"at", ltz},
                                         {"precise", columnar::timestamp_type(9, false)},
                                         {"n", columnar::decimal_type(10, 2)},
                                         {"none", columnar::make_type(TypeKind::kBigInt)}};
  spec.values = std::make_shared<columnar::Schema>(fields);
  columnar::BatchBuilder builder(table::row_schema(spec));
  builder.column(0).append(int32_t{1});
  builder.column(1).append_boolean(true);
  builder.column(2).append(int64_t{-9'000'000'000'000'000'001});
  builder.column(3).append(0.1F);
  builder.column(4).append_string("tab\there, \\N, line\nend, \xc3\xa4");
  builder.column(5).append_string(std::string_view("\0\\\xff", 3));
  builder.column(6).append(int32_t{20'492});
  builder.column(7).append(int64_t{1'770'545'660'400});
  builder.column(8).append(int64_t{1'770'545'660'400'123'456});
  builder.column(9).append(columnar::Int128{-1250});
  builder.column(10).append_null();
  builder.end_row();
  Request request;
  request.batch = std::make_shared<const columnar::Batch>(builder.finish());
  request.tag = test_tag(1, 1, 41, 1);
  columnar::encode_key(*request.batch, std::vector<size_t>{0}, 0, request.key);
  auto store = opened(spec, backend_.options());
  ASSERT_TRUE(store->apply({request}).ok());

  TableContext context;
  context.schema = table::row_schema(spec);
  context.primary_key = context.lookup_keys = {"k"};
  const auto lookup = make_valkey_lookup(context, backend_.options(), "t");
  columnar::BatchBuilder found(context.schema);
  const Status looked =
      (*lookup)->find(columnar::Batch(spec.key, {request.batch->columns()[0]}, 1), 0, found);
  ASSERT_TRUE(looked.ok()) << looked.to_string();
  ASSERT_EQ(found.rows(), 1);
  const columnar::Batch read = found.finish();
  for (size_t c = 0; c < read.columns().size(); ++c) {
    EXPECT_EQ(columnar::value_to_string(read.column(c), 0),
              columnar::value_to_string(request.batch->column(c), 0))
        << (*read.schema())[c].name;
  }
}

TEST_F(Valkey, ALookupNeedsTheWholeKey) {
  TableContext context;
  context.table = "t";
  context.schema = table::test_schema({{"a", TypeKind::kInt}, {"b", TypeKind::kInt}});
  context.primary_key = {"a", "b"};
  context.lookup_keys = {"a"};
  const auto lookup = make_valkey_lookup(context, backend_.options(), "t");
  ASSERT_FALSE(lookup.ok());
  EXPECT_THAT(lookup.status().to_string(), HasSubstr("rows of table t are found by their primary key"));
}

TEST_F(Valkey, WhoCannotBeReachedAndWhoIsRefusedAreToldApart) {
  ValkeyOptions nobody = backend_.options();
  nobody.port = 1;
  EXPECT_EQ(Client::open(nobody).status().code(), ErrorCode::kSinkUnavailable);
  ValkeyOptions other = backend_.options();
  other.user = "nobody";
  other.password = "secret";
  const Status status = Client::open(other).status();
  EXPECT_EQ(status.code(), ErrorCode::kRefused) << status.to_string();
  EXPECT_THAT(status.to_string(), testing::Not(HasSubstr("secret")));
}

TEST_F(Valkey, OptionsThatCannotBeReadAreNamedAndPasswordsNotShown) {
  EXPECT_THAT(refused({{"url", "http://h"}}).to_string(),
              HasSubstr("expected 'url' of a Valkey or Redis server"));
  for (const char* url : {"redis://u:secret@h:1/0", "redis://h:port", "redis://h:1/x", "redis://h:70000"}) {
    const Status status = refused({{"url", url}});
    EXPECT_EQ(status.code(), ErrorCode::kBadOption) << url;
    EXPECT_THAT(status.to_string(), testing::Not(HasSubstr("secret")));
  }
  EXPECT_THAT(refused({{"strand.durability", "maybe"}}).to_string(), HasSubstr("found 'maybe'"));
  EXPECT_TRUE(refused({{"url", "valkey://[::1]:6380/2"}}).ok());
}

}  // namespace
}  // namespace strand::connect::valkey
