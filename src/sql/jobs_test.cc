// Whole job files.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

Result<CompiledJob> compile_file(const std::string& path) {
  return compile({.text = read_file(path), .file = "job.sql"});
}

TEST(Jobs, TheAdClickJobBecomesThisPlan) {
  const Result<CompiledJob> job = compile_file("examples/ad-clicks/job.sql");
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_EQ(plan::explain(job->plan), read_file("src/sql/testdata/ad_clicks.explain"));
  EXPECT_TRUE(job->warnings.empty());
}

TEST(Jobs, TheSameFileGivesTheSamePlan) {
  const Result<CompiledJob> first = compile_file("examples/ad-clicks/job.sql");
  const Result<CompiledJob> second = compile_file("examples/ad-clicks/job.sql");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(plan::explain(first->plan), plan::explain(second->plan));
  EXPECT_EQ(plan::fingerprint(first->plan), plan::fingerprint(second->plan));
}

TEST(Jobs, ThePortableFormAndThePaymentsCompile) {
  for (const char* path : {"src/sql/testdata/ad_clicks_portable.sql", "src/sql/testdata/payments.sql"}) {
    const Result<CompiledJob> job = compile_file(path);
    EXPECT_TRUE(job.ok()) << path << "\n" << job.status().to_string();
  }
}

}  // namespace
}  // namespace strand::sql
