#include "ops/lookup_join.h"

#include <gmock/gmock.h>

#include "expr/compile.h"
#include "tests/support/change_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::change_batch;
using strand::testing::change_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// (k STRING, name STRING): `a` once, `b` twice.
class Names final : public flow::Lookup {
 public:
  Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) override {
    ++asked;
    const std::string_view key = keys.column(0).string(row);
    const int rows = key == "a" ? 1 : key == "b" ? 2 : 0;
    for (int i = 0; i < rows; ++i) {
      found.column(0).append_string(key);
      found.column(1).append_string(std::string(key) + std::to_string(i));
      found.end_row();
    }
    return Status();
  }
  int asked = 0;
};

class LookupJoinOfNames : public ::testing::Test {
 protected:
  OperatorHarness job(bool outer, ExprPtr condition = nullptr) {
    LookupJoinOptions options;
    options.input = change_schema();
    options.keys = {0};
    options.lookup = names_;
    options.outer = outer;
    options.condition = std::move(condition);
    std::vector<columnar::Field> fields = change_schema()->fields();
    fields.push_back({"k", make_type(TypeKind::kString)});
    fields.push_back({"name", make_type(TypeKind::kString)});
    options.output = std::make_shared<const columnar::Schema>(std::move(fields));
    return OperatorHarness([options] { return make_lookup_join(options); }, {});
  }
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
};

TEST_F(LookupJoinOfNames, ARowComesOnceForEachRowThatTheTableHas) {
  auto op = job(/*outer=*/false);
  op.batch(change_batch({{"+I", "a", 1}, {"+I", "x", 2}, {"-D", "b", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, a, a0]", "-D[b, 3, b, b0]", "-D[b, 3, b, b1]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kFiltered], 1);
}

TEST_F(LookupJoinOfNames, ARowWithoutPartnerComesOutOfALeftJoinInItsPlace) {
  auto op = job(/*outer=*/true);
  op.batch(change_batch({{"+I", "x", 1}, {"+I", "a", 2}, {"+I", "y", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[x, 1, null, null]", "+I[a, 2, a, a0]", "+I[y, 3, null, null]"));
}

TEST_F(LookupJoinOfNames, EqualKeysOfABatchAskOnce) {
  auto op = job(/*outer=*/false);
  op.batch(change_batch({{"+I", "a", 1}, {"+I", "a", 2}, {"+I", "b", 3}}));
  EXPECT_EQ(names_->asked, 2);
  EXPECT_EQ(op.output().size(), 4u);
}

TEST_F(LookupJoinOfNames, TheConditionChoosesAmongTheRowsOfAKey) {
  const auto name = expr::column(3, make_type(TypeKind::kString));
  const auto wanted = expr::literal(std::string("b1"), make_type(TypeKind::kString, false));
  const auto condition = expr::resolve_call("=", {name, wanted});
  ASSERT_TRUE(condition.ok());
  auto op = job(/*outer=*/true, *condition);
  op.batch(change_batch({{"+I", "a", 1}, {"+I", "b", 2}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, null, null]", "+I[b, 2, b, b1]"));
}

TEST_F(LookupJoinOfNames, ANullKeyAsksNothing) {
  auto op = job(/*outer=*/false);
  columnar::BatchBuilder builder(change_schema());
  builder.column(0).append_null();
  builder.column(1).append<int64_t>(1);
  builder.end_row();
  op.batch(builder.finish());
  EXPECT_THAT(op.output(), IsEmpty());
  EXPECT_EQ(names_->asked, 0);
}

}  // namespace
}  // namespace strand::ops
