#include "plan/stored_place.h"

#include <gtest/gtest.h>

namespace strand::plan {
namespace {

std::string place(const std::string& name, std::map<std::string, std::string> options) {
  TableSpec table;
  table.name = name;
  table.options = std::move(options);
  return stored_place(table);
}
std::string postgres(const std::string& url, const std::string& table, const std::string& name = "t") {
  return place(name, {{"connector", "jdbc"}, {"url", url}, {"table-name", table}});
}

TEST(StoredPlace, OfPostgresIsWhatItsDefaultsMakeOfIt) {
  const std::string url = "jdbc:postgresql://db:5432/shop";
  EXPECT_EQ(postgres(url, "t"), postgres(url, "public.t"));
  EXPECT_EQ(postgres(url, "t"), postgres("jdbc:postgresql://DB/shop?sslmode=require", "t", "other"));
  EXPECT_EQ(postgres("jdbc:postgresql://localhost/shop", "t"), postgres("jdbc:postgresql:///shop", "t"));
  EXPECT_EQ(postgres("jdbc:postgresql://[::1]:5432/shop", "t"),
            postgres("jdbc:postgresql://[::1]/shop", "t"));
  EXPECT_NE(postgres(url, "t"), postgres(url, "mine.t"));
  EXPECT_NE(postgres(url, "t"), postgres("jdbc:postgresql://db:5433/shop", "t"));
  EXPECT_NE(postgres(url, "t"), postgres("jdbc:postgresql://db:5432/other", "t"));
}

TEST(StoredPlace, OfSqliteIsTheFileAndTheTable) {
  const auto in = [](const std::string& path) {
    return std::map<std::string, std::string>{{"connector", "sqlite"}, {"path", path}};
  };
  EXPECT_EQ(place("t", in("a.db")), place("t", in("./a.db")));
  EXPECT_NE(place("t", in("a.db")), place("s", in("a.db")))
      << "without 'table-name' it has the name of the job's";
  auto named = in("a.db");
  named["table-name"] = "s";
  EXPECT_EQ(place("t", named), place("s", in("a.db")));
}

TEST(StoredPlace, OfFilesAndTopicsDoesNotDependOnTheJobsName) {
  const std::map<std::string, std::string> files = {{"connector", "filesystem"}, {"path", "out/"}};
  EXPECT_EQ(place("t", files), place("s", {{"connector", "filesystem"}, {"path", "file://out"}}));
  EXPECT_EQ(place("t", {{"connector", "kafka"}, {"topic", "x"}}),
            place("s", {{"connector", "upsert-kafka"}, {"topic", "x"}}));
}

}  // namespace
}  // namespace strand::plan
