// Printed rows look as Flink prints them.
#include "connect/print/print_sink.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "sim/env/env.h"

namespace strand::connect::print {
namespace {

class Kept final : public LineWriter {
 public:
  Status write(std::string_view lines) override {
    if (!error.ok()) return error;
    text += lines;
    return Status();
  }
  std::string text;
  Status error;
};

columnar::Batch rows() {
  columnar::BatchBuilder builder(std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"ad", columnar::make_type(columnar::TypeKind::kString)},
                                   {"n", columnar::make_type(columnar::TypeKind::kBigInt)}}));
  builder.column(0).append_string("ad_7");
  builder.column(1).append(int64_t{6});
  builder.end_row();
  builder.column(0).append_string("ad_7");
  builder.column(1).append(int64_t{7});
  builder.end_row(columnar::RowKind::kUpdateAfter);
  return builder.finish();
}

struct Printed {
  std::shared_ptr<Kept> out = std::make_shared<Kept>();
  sim::SimEnv env{1, WallTime{0}};
  Random random{1};

  std::string text(const std::string& identifier, int32_t subtask, int32_t parallelism) {
    PrintSink sink(out, identifier, env.executor);
    flow::SinkStart start;
    start.subtask = subtask;
    start.parallelism = parallelism;
    EXPECT_TRUE(sink.start(start).ok());
    EXPECT_TRUE(sink.write(rows(), {}).ok());
    EXPECT_FALSE(*sink.drained()) << "a barrier waits for what is not printed yet";
    while (env.executor.run_one(random)) {
    }
    EXPECT_TRUE(*sink.drained());
    EXPECT_EQ(sink.counts().written, 2);
    return std::exchange(out->text, {});
  }
};

TEST(PrintSink, LinesAreThoseOfFlink) {
  Printed printed;
  EXPECT_EQ(printed.text("", 0, 1), "+I[ad_7, 6]\n+U[ad_7, 7]\n");
  EXPECT_EQ(printed.text("id", 0, 1), "id> +I[ad_7, 6]\nid> +U[ad_7, 7]\n");
  EXPECT_EQ(printed.text("id", 1, 2), "id:2> +I[ad_7, 6]\nid:2> +U[ad_7, 7]\n");
  EXPECT_EQ(printed.text("", 0, 2), "1> +I[ad_7, 6]\n1> +U[ad_7, 7]\n");
}

TEST(PrintSink, AnOutputThatIsClosedIsAnError) {
  Printed printed;
  printed.out->error = Status(ErrorCode::kSinkUnavailable, "closed");
  PrintSink sink(printed.out, "", printed.env.executor);
  ASSERT_TRUE(sink.start({}).ok());
  ASSERT_TRUE(sink.write(rows(), {}).ok());
  while (printed.env.executor.run_one(printed.random)) {
  }
  EXPECT_EQ(sink.busy().status().code(), ErrorCode::kSinkUnavailable);
}

TEST(PrintSink, AConnectorForBothStreams) {
  auto out = std::make_shared<Kept>();
  auto error = std::make_shared<Kept>();
  Registry registry;
  add_print_connector(registry, out, error);
  Printed printed;
  TableContext table;
  table.env = printed.env.env();
  table.options = {{"connector", "print"}, {"standard-error", "true"}};
  const auto connector = registry.find(table.options, TableUse::kWrite);
  ASSERT_TRUE(connector.ok());
  const auto sink = (*connector)->sink(table);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->start({}).ok());
  ASSERT_TRUE((*sink)->write(rows(), {}).ok());
  while (printed.env.executor.run_one(printed.random)) {
  }
  EXPECT_EQ(out->text, "");
  EXPECT_EQ(error->text, "+I[ad_7, 6]\n+U[ad_7, 7]\n");
  EXPECT_FALSE(registry.find(table.options, TableUse::kRead).ok());
  table.options["standard-error"] = "perhaps";
  EXPECT_EQ((*connector)->sink(table).status().code(), ErrorCode::kBadOption);
}

TEST(StreamLineWriter, GivesUpWhereTheReaderHasEnded) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::FILE* const stream = fdopen(ends[1], "w");
  EXPECT_EQ(StreamLineWriter(stream).write("a\n").code(), ErrorCode::kSinkReadOnly);
  std::fclose(stream);
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace strand::connect::print
