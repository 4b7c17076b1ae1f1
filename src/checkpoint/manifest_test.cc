#include "checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/sealed.h"

namespace strand::checkpoint {
namespace {

using ::testing::HasSubstr;

Manifest example() {
  Manifest manifest;
  manifest.job = "ad-clicks";
  manifest.kind = SnapshotKind::kSavepoint;
  manifest.epoch = {41};
  manifest.generation = {2};
  manifest.attempt = {3};
  manifest.taken = {1'770'545'700'000};
  manifest.completed = {1'770'545'701'500};
  manifest.drained = true;
  manifest.parallelism = 2;
  manifest.max_parallelism = 128;
  manifest.fingerprint = "f00d";
  manifest.settings = R"({"strand.late":"count"})";
  OperatorPart window;
  window.sections.push_back({.operator_id = "minutes",
                             .name = "windows",
                             .version = 3,
                             .groups = {0, 63},
                             .file = "e41-0123",
                             .offset = 7,
                             .length = 1'000,
                             .checksum = 0xFFFF'FFFF'FFFF'FFFFull});
  window.floors = {{{0, 63}, EventTime{1'770'545'674'999}}, {{64, 64}, EventTime::min()}};
  window.ledger.add(obs::Entry::kIn, 12);
  window.ledger.add(obs::Entry::kLate, 2);
  window.ledger.set_in_state(10);
  OperatorPart source;
  source.shards = {{"S1", "offset=512", 12}, {"\xff\xfe not a name", std::string("\0x", 2), 0}};
  manifest.operators["minutes"] = {window, OperatorPart{}};
  manifest.operators["clicks"] = {source};
  return manifest;
}

TEST(Manifest, IsReadBackAsItWasWritten) {
  const auto back = manifest_from_json(to_json(example()));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, example());
  const auto empty = manifest_from_json(to_json(Manifest{}));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(*empty, Manifest{});
}

TEST(Manifest, IsJsonThatOtherProgramsCanRead) {
  const auto object = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(object["format"], 1);
  EXPECT_EQ(object["kind"], "savepoint");
  EXPECT_EQ(object["operators"][0]["subtasks"][0]["shards"][0]["position"], "offset=512");
}

TEST(Manifest, AnyFlippedByteIsFound) {
  const std::string whole = to_json(example());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    const auto read = manifest_from_json(damaged);
    ASSERT_FALSE(read.ok()) << "byte " << i;
    ASSERT_EQ(read.status().code(), ErrorCode::kCheckpointUnreadable);
  }
}

TEST(Manifest, AnyCutIsFound) {
  const std::string whole = to_json(example());
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_FALSE(manifest_from_json(whole.substr(0, size)).ok()) << size;
    ASSERT_FALSE(manifest_from_json(whole + whole.substr(0, size + 1)).ok()) << size;
    ASSERT_FALSE(manifest_from_json(whole.substr(0, size) + std::string(whole.size() - size, '\0')).ok())
        << size;
  }
}

TEST(Manifest, ANewerFormatIsRefusedByItsNumber) {
  const auto read =
      manifest_from_json(seal({{"format", Manifest::kFormat + 1}, {"things", "we do not know"}}));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), ErrorCode::kNewerFormat);
  EXPECT_THAT(read.status().message(), HasSubstr("found format 2"));
  EXPECT_THAT(read.status().hint(), HasSubstr("newer version"));
}

// A checksum that fits does not make a manifest: every field is looked for and has its type.
TEST(Manifest, AWholeTextOfAnotherShapeIsRefused) {
  const auto whole = nlohmann::ordered_json::parse(to_json(example()));
  for (const auto& [key, value] : whole.items()) {
    if (key == "format" || key == "checksum") continue;
    auto changed = whole;
    changed.erase("checksum");
    changed[key] = nlohmann::ordered_json::array({nlohmann::ordered_json::array()});
    const auto wrong_type = manifest_from_json(seal(changed));
    ASSERT_FALSE(wrong_type.ok()) << key;
    EXPECT_EQ(wrong_type.status().code(), ErrorCode::kCheckpointUnreadable);
    changed.erase(key);
    ASSERT_FALSE(manifest_from_json(seal(changed)).ok()) << key;
  }
}

RC_GTEST_PROP(Manifest, TextsOfAnyBytesSurvive, ()) {
  Manifest manifest;
  manifest.job = *rc::gen::arbitrary<std::string>();
  manifest.settings = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  OperatorPart part;
  part.shards = {{*rc::gen::arbitrary<std::string>(),
                  *rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
                  *rc::gen::arbitrary<int64_t>()}};
  part.floors = {{{0, 127}, EventTime{*rc::gen::arbitrary<int64_t>()}}};
  manifest.operators[*rc::gen::arbitrary<std::string>()] = {part};
  const auto back = manifest_from_json(to_json(manifest));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == manifest);
}

RC_GTEST_PROP(Manifest, AnyTextIsReadOrRefusedButNeverMore, (const std::string& text)) {
  RC_ASSERT(!manifest_from_json(text).ok());
  RC_ASSERT(!manifest_from_json("{" + text + "}\n").ok());
}

}  // namespace
}  // namespace strand::checkpoint
