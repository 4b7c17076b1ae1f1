#include "sql/writers.h"

#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTable =
    "CREATE TABLE t (k STRING, w STRING, fast_n BIGINT, late_n BIGINT, late_m BIGINT, PRIMARY KEY (k, w) NOT "
    "ENFORCED) "
    "WITH ('connector' = 'sqlite', 'path' = 'a.db', 'table-name' = 't');\n"
    "CREATE VIEW m AS SELECT ad_id, window_start AS s, window_time AS wt, COUNT(*) AS n FROM "
    "TABLE(TUMBLE(TABLE clicks, "
    "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end, window_time;\n";
const std::string kLast = " ON CONFLICT DO DEDUPLICATE";

plan::SinkWrite sink_of(const std::string& sql, size_t i = 0) {
  const plan::Plan plan = plan_of(kTable + sql);
  if (i >= plan.sinks.size()) return {};
  return std::get<plan::SinkWrite>(plan.sinks[i]->detail);
}

TEST(Writers, AreNamedByTheCommonPrefixOfTheirColumns) {
  const std::string from = " SELECT ad_id, ad_id, n FROM clicks" + kLast;
  EXPECT_EQ(sink_of("INSERT INTO t (k, w, fast_n)" + from).writer, "fast");
  EXPECT_EQ(
      sink_of("INSERT INTO t (k, w, late_n, late_m) SELECT ad_id, ad_id, n, n FROM clicks" + kLast).writer,
      "late");
  EXPECT_EQ(
      sink_of("INSERT INTO t (k, w, fast_n, late_m) SELECT ad_id, ad_id, n, n FROM clicks" + kLast).writer,
      "strand");
  EXPECT_EQ(sink_of("INSERT INTO t /*+ OPTIONS('strand.writer' = 'x1') */ (k, w, fast_n)" + from).writer,
            "x1");
  EXPECT_EQ(sink_of("INSERT INTO sink" + from).writer, "n");
}

TEST(Writers, OwnTheirColumnsAlone) {
  EXPECT_THAT(
      error_of(kTable + "INSERT INTO t (k, w, fast_n) SELECT ad_id, ad_id, n FROM clicks" + kLast +
               ";\n"
               "INSERT INTO t (k, w, fast_n, late_n) SELECT ad_id, ad_id, n, n FROM clicks;"),
      HasSubstr("STRAND-2008  job.sql:5:13: column 'fast_n' of 't' has a writer already, the INSERT at "
                "job.sql:4:13"));
  EXPECT_THAT(error_of(kTable + "INSERT INTO t (k, w, late_m) SELECT ad_id, ad_id, n FROM clicks" + kLast +
                       ";\n"
                       "INSERT INTO t (k, w, late_n) SELECT ad_id, ad_id, n FROM clicks;"),
              HasSubstr("'t' has a writer named 'late' already, the INSERT at job.sql:4:13"));
}

TEST(Writers, AreNumberedWhereATableHasNoKey) {
  const std::string inserts =
      "CREATE TABLE p (n BIGINT) WITH ('connector' = 'print'); INSERT INTO p SELECT n FROM clicks;"
      "INSERT INTO p SELECT n + 1 FROM clicks; INSERT INTO p /*+ OPTIONS('strand.writer' = 'own') */ SELECT "
      "n "
      "FROM clicks; INSERT INTO p SELECT n + 2 FROM clicks;";
  EXPECT_EQ(sink_of(inserts, 0).writer, "n");
  EXPECT_EQ(sink_of(inserts, 1).writer, "n_2");
  EXPECT_EQ(sink_of(inserts, 2).writer, "own");
  EXPECT_EQ(sink_of(inserts, 3).writer, "n_3");
  EXPECT_THAT(
      error_of(inserts + "INSERT INTO p /*+ OPTIONS('strand.writer' = 'n_2') */ SELECT n FROM clicks;"),
      HasSubstr("'p' has a writer named 'n_2' already"));
}

TEST(Writers, WriteClosedRowsWhereTheKeyNamesWindowAndKeys) {
  EXPECT_TRUE(
      sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, DATE_FORMAT(s, 'HH:mm'), n FROM m").closed_rows);
  EXPECT_TRUE(sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, CAST(s AS STRING), n FROM m UNION ALL "
                      "SELECT ad_id, 'x' || CAST(s AS STRING), n FROM m")
                  .closed_rows);
  EXPECT_FALSE(sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, 'latest', n FROM m" + kLast).closed_rows);
  EXPECT_FALSE(
      sink_of("INSERT INTO t (k, w, fast_n) SELECT 'all', CAST(s AS STRING), n FROM m" + kLast).closed_rows);
  EXPECT_FALSE(
      sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, ad_id, COUNT(*) FROM clicks GROUP BY ad_id")
          .closed_rows);
  EXPECT_FALSE(
      sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, click_id, n FROM clicks" + kLast).closed_rows);
}

TEST(Writers, TheStartNamesNoCumulatingWindow) {
  const std::string view =
      "CREATE VIEW w AS SELECT ad_id, window_start AS s, window_end AS e, COUNT(*) AS n FROM "
      "TABLE(CUMULATE(TABLE "
      "clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)) GROUP BY ad_id, window_start, "
      "window_end;\n";
  const std::string insert = "INSERT INTO t (k, w, fast_n) SELECT ad_id, CAST(";
  EXPECT_FALSE(sink_of(view + insert + "s AS STRING), n FROM w" + kLast).closed_rows);
  EXPECT_TRUE(sink_of(view + insert + "e AS STRING), n FROM w").closed_rows);
}

TEST(Writers, OfEarlyRowsAreProvisionalAndStayApart) {
  const auto early = sink_of("INSERT INTO t (k, w, fast_n) SELECT ad_id, CAST(s AS STRING), n FROM m$early");
  EXPECT_TRUE(early.provisional);
  EXPECT_FALSE(early.closed_rows);
  EXPECT_THAT(
      error_of(kTable +
               "INSERT INTO t (k, w, fast_n) SELECT ad_id, CAST(s AS STRING), n FROM m$early UNION ALL "
               "SELECT ad_id, CAST(s AS STRING), n FROM m"),
      HasSubstr("STRAND-2008"));
}

TEST(Writers, RefuseNewRowsThatMayReplaceEachOther) {
  const std::string to = "INSERT INTO t (k, w, fast_n) ";
  const std::string refused = "may agree in the primary key of 't' (k, w) and would replace each other";
  for (const char* rows : {"SELECT ad_id, click_id, n FROM clicks", "SELECT ad_id, 'latest', n FROM m",
                           "SELECT 'a', w, n FROM (VALUES ('x', 1), ('y', 2)) AS v (w, n) UNION ALL SELECT "
                           "ad_id, click_id, n FROM clicks",
                           "SELECT a.k, a.k, n FROM (SELECT DISTINCT ad_id AS k FROM clicks) AS a JOIN "
                           "clicks AS b ON a.k = b.ad_id"}) {
    EXPECT_THAT(error_of(kTable + to + rows), HasSubstr(refused)) << rows;
    EXPECT_EQ(error_of(kTable + to + rows + kLast), "it compiles") << rows;
  }
  for (const char* rows :
       {"SELECT ad_id, 'M' || CAST(s AS STRING), n FROM m", "VALUES ('a', 'b', 1), ('c', 'd', 2)",
        "SELECT click_id, 'x', n FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY "
        "read_time) = 1",
        "SELECT a.ad_id, CAST(a.s AS STRING), a.n FROM m AS a JOIN m AS b ON a.ad_id = b.ad_id AND a.wt = "
        "b.wt"}) {
    EXPECT_EQ(error_of(kTable + to + rows), "it compiles") << rows;
  }
  EXPECT_EQ(error_of("SET 'table.exec.sink.require-on-conflict' = 'false';\n" + kTable + to +
                     "SELECT ad_id, click_id, n FROM clicks"),
            "it compiles");
}

TEST(Writers, TakeOneEventTime) {
  const std::string table =
      "CREATE TABLE u (a TIMESTAMP_LTZ(3), b TIMESTAMP_LTZ(3)) WITH ('connector' = 'filesystem', 'path' = "
      "'u', "
      "'format' = 'json');\n";
  const std::string windows = " FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE))";
  EXPECT_THAT(
      error_of(table + "INSERT INTO u SELECT ts, window_time" + windows),
      HasSubstr("STRAND-2004  job.sql:3:15: the query gives 'u' more than one event time: ts, window_time"));
  EXPECT_EQ(error_of(table + "INSERT INTO u SELECT ts, CAST(window_time AS TIMESTAMP_LTZ(3))" + windows),
            "it compiles");
}

TEST(Writers, GetTheirColumnsInTheOrderTheyAreNamedAndCast) {
  const plan::Plan plan =
      plan_of(kTable + "INSERT INTO t (fast_n, w, k) SELECT 1, ad_id, click_id FROM clicks" + kLast);
  const plan::Node& sink = *plan.sinks[0];
  EXPECT_THAT(std::get<plan::SinkWrite>(sink.detail).columns, ElementsAre("fast_n", "w", "k"));
  const columnar::Schema& rows = *sink.inputs[0].node->output;
  EXPECT_EQ(rows[0].type->kind, columnar::TypeKind::kBigInt);
  EXPECT_THAT(sink.inputs[0].hash_keys, ElementsAre(2u, 1u));
}

TEST(Writers, PrintBareSelectsWithTheOldRowBeforeTheNew) {
  const plan::Plan plan = plan_of("SELECT ad_id, COUNT(*) AS c FROM clicks GROUP BY ad_id");
  const auto sink = std::get<plan::SinkWrite>(plan.sinks[0]->detail);
  EXPECT_EQ(sink.table.options.at("connector"), "print");
  EXPECT_THAT(sink.columns, ElementsAre("ad_id", "c"));
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(plan, "print/group").update_before);
}

const std::string kTopic =
    "CREATE TABLE topic (id BIGINT, sent TIMESTAMP(3) METADATA FROM 'timestamp', ad STRING, "
    "place BIGINT METADATA FROM 'offset' VIRTUAL) WITH ('connector' = 'kafka');\n";

/// With a connector that writes metadata: its `timestamp` alone.
SqlInput with_timestamps(const std::string& sql) {
  SqlInput input{.text = sql, .file = "job.sql"};
  input.checks.written_metadata = [](const plan::TableSpec&) {
    return std::vector<columnar::Field>{{"timestamp", columnar::timestamp_type(3, /*ltz=*/true)}};
  };
  return input;
}

TEST(Writers, SetMetadataThatIsNotVirtualAtItsPlaceAmongTheColumns) {
  const plan::Plan plan =
      job_of(with_timestamps(kTopic + "INSERT INTO topic SELECT n, other, ad_id FROM clicks;")).plan;
  const auto sink = std::get<plan::SinkWrite>(plan.sinks[0]->detail);
  EXPECT_THAT(sink.columns, ElementsAre("id", "sent", "ad"));
  ASSERT_EQ(sink.table.metadata.size(), 1U) << "what is VIRTUAL is only read";
  EXPECT_EQ(sink.table.metadata[0].key, "timestamp");
  EXPECT_EQ(columnar::to_string(*(*plan.sinks[0]->inputs[0].node->output)[1].type), "TIMESTAMP_LTZ(3)")
      << "in the type of the connector";
  const plan::Plan named =
      job_of(with_timestamps(kTopic + "INSERT INTO topic (ad, sent) SELECT ad_id, other FROM clicks;")).plan;
  EXPECT_THAT(std::get<plan::SinkWrite>(named.sinks[0]->detail).columns, ElementsAre("ad", "sent"));
}

TEST(Writers, RefuseMetadataThatTheConnectorDoesNotWrite) {
  const auto refusal = [](const std::string& column) {
    const auto job = compile(with_timestamps(kDeclarations + "CREATE TABLE topic (id BIGINT, " + column +
                                             ") WITH ('connector' = 'kafka');\n"
                                             "INSERT INTO topic (id) SELECT n FROM clicks;"));
    return job.ok() ? "it compiles" : job.status().to_string();
  };
  EXPECT_THAT(refusal("place BIGINT METADATA FROM 'offset'"),
              HasSubstr("STRAND-2003  job.sql:2:32: metadata 'offset' of 'topic' cannot be written"));
  EXPECT_EQ(refusal("place BIGINT METADATA FROM 'offset' VIRTUAL"), "it compiles");
  EXPECT_THAT(refusal("sent ARRAY<INT> METADATA FROM 'timestamp'"), HasSubstr("STRAND-2004  job.sql:2:32"));
  EXPECT_THAT(
      error_of(kTopic + "INSERT INTO topic (id) SELECT n FROM clicks;"),
      HasSubstr("STRAND-2003  job.sql:2:32: metadata column 'sent' of 'topic' would be written, and its "
                "connector writes no metadata"));
}

}  // namespace
}  // namespace strand::sql
