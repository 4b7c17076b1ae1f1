// docs/sql/functions.md says what the registry has.
#include "expr/catalogue.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace strand::expr {
namespace {

TEST(Catalogue, ThePageOfFunctionsIsWhatTheRegistryHas) {
  std::ifstream in("docs/sql/functions.md");
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_EQ(page.str(), catalogue_text()) << "run: conformance functions > docs/sql/functions.md";
}

}  // namespace
}  // namespace strand::expr
