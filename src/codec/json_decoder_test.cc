#include "codec/json_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace strand::codec {
namespace {

using columnar::Field;
using columnar::make_type;
using columnar::SchemaPtr;
using columnar::TypeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SchemaPtr schema(std::vector<Field> fields) { return std::make_shared<columnar::Schema>(std::move(fields)); }

// Rows as text, then bad records as `bad <position>: <reason>`.
std::vector<std::string> decode_all(RecordDecoder& decoder, const SchemaPtr& read, std::string_view lines,
                                    uint64_t position = 0, int64_t rows_max = DecodeOutput::kRowsMax) {
  std::vector<std::string> result;
  while (!lines.empty()) {
    DecodeOutput out(read, rows_max);
    // A copy of the exact size, so that a read behind the end is seen by the address sanitizer.
    const std::vector<char> copy(lines.begin(), lines.end());
    const auto consumed = decoder.decode({copy.data(), copy.size()}, position, out);
    EXPECT_TRUE(consumed.ok() && *consumed > 0);
    lines.remove_prefix(*consumed);
    position += *consumed;
    const columnar::Batch batch = out.take_rows();
    batch.for_each_row([&](int64_t row) { result.push_back(row_to_string(batch, row)); });
    for (const BadRecord& bad : out.take_bad()) {
      result.push_back("bad " + std::to_string(bad.position) + " " + bad.payload + ": " + bad.reason);
    }
  }
  return result;
}
std::vector<std::string> decode(const SchemaPtr& read, std::string_view lines,
                                const JsonOptions& options = {}) {
  JsonDecoder decoder(read, options, fast_kernel(cpu_level()));
  return decode_all(decoder, read, lines);
}
std::string only(const std::vector<std::string>& rows) { return rows.size() == 1 ? rows[0] : "not one row"; }

SchemaPtr every_type() {
  return schema(
      {{"b", make_type(TypeKind::kBoolean)},
       {"i", make_type(TypeKind::kInt)},
       {"l", make_type(TypeKind::kBigInt)},
       {"d", make_type(TypeKind::kDouble)},
       {"c", columnar::decimal_type(10, 2)},
       {"s", make_type(TypeKind::kString)},
       {"dt", make_type(TypeKind::kDate)},
       {"tm", make_type(TypeKind::kTime)},
       {"ts", columnar::timestamp_type(3, false)},
       {"lz", columnar::timestamp_type(3, true)},
       {"bin", make_type(TypeKind::kBytes)},
       {"a", columnar::array_type(make_type(TypeKind::kInt))},
       {"m", columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))},
       {"r", columnar::row_type({{"x", make_type(TypeKind::kInt)}, {"y", make_type(TypeKind::kString)}})}});
}

// The expectations of this file were recorded from Flink 2.3.0, but for what is said to be ours.
TEST(JsonDecoder, ReadsEveryTypeAndTakesWhatIsMissingForNull) {
  EXPECT_THAT(
      decode(
          every_type(),
          R"({"b": true, "i": 1, "l": 9223372036854775807, "d": 1.5, "c": 12.345, "s": "x", "dt": "2024-01-02", )"
          R"("tm": "03:04:05", "ts": "2024-01-02 03:04:05.678", "lz": "2024-01-02 03:04:05Z", "bin": "aGVsbG8=", )"
          R"("a": [1, null, 3], "m": {"k": 1, "n": null}, "r": {"x": 1, "y": "z"}})"
          "\n{}\n"
          R"({"r": {"x": 5}, "unknown": 1})"
          "\n"),
      ElementsAre(
          "+I[TRUE, 1, 9223372036854775807, 1.5, 12.35, x, 2024-01-02, 03:04:05, 2024-01-02 03:04:05.678, "
          "2024-01-02 03:04:05.000Z, hello, [1, NULL, 3], {k=1, n=NULL}, (1, z)]",
          "+I[null, null, null, null, null, null, null, null, null, null, null, null, null, null]",
          "+I[null, null, null, null, null, null, null, null, null, null, null, null, null, (5, NULL)]"));
}

TEST(JsonDecoder, TakesNamesAsTheyAreWrittenAndTheLastOfEqualOnes) {
  const SchemaPtr read = schema({{"id", make_type(TypeKind::kInt)}, {"Name", make_type(TypeKind::kString)}});
  EXPECT_THAT(decode(read, R"({"id": 1, "name": "a", "Name": "b"}
{"id": 2, "ID": 9, "id": 3}
{"id": 4, "Name": "\u00e9\"\\ \ud83d\ude00", "\u0069d": 5}
)"),
              ElementsAre("+I[1, b]", "+I[3, null]", "+I[5, é\"\\ 😀]"));
}

TEST(JsonDecoder, ReadsIntegersFromNumbersAndTextsWithinTheirRange) {
  const SchemaPtr read = schema({{"i", make_type(TypeKind::kInt)}});
  const auto one = [&](std::string_view value) {
    return only(decode(read, "{\"i\": " + std::string(value) + "}\n"));
  };
  EXPECT_EQ(one("2147483647"), "+I[2147483647]");
  EXPECT_EQ(one("\" -7 \""), "+I[-7]");
  EXPECT_EQ(one("1e3"), "+I[1000]");
  EXPECT_EQ(one("1.9"), "+I[1]");
  EXPECT_THAT(one("2147483648"), HasSubstr("field i: expected INT, found 2147483648"));
  EXPECT_THAT(one("\"2147483648\""), HasSubstr("expected INT"));
  EXPECT_THAT(one("\"1e3\""), HasSubstr("expected INT"));
  EXPECT_THAT(one("true"), HasSubstr("expected INT, found true"));
  EXPECT_THAT(one("[1]"), HasSubstr("expected INT, found [1]"));
}

TEST(JsonDecoder, ReadsTimestampsOfTheSqlForm) {
  const SchemaPtr read =
      schema({{"ts", columnar::timestamp_type(3, false)}, {"lz", columnar::timestamp_type(3, true)}});
  const JsonOptions nulls{.misfit_is_null = true};
  EXPECT_THAT(decode(read, R"({"ts": "2024-01-02 03:04:05", "lz": "2024-01-02 03:04:05Z"}
{"ts": "2024-01-02 03:04:05.123456789", "lz": "2024-01-02 03:04:05.123Z"}
{"ts": "2024-01-02T03:04:05", "lz": "2024-01-02T03:04:05Z"}
{"ts": "2024-01-02 03:04:05Z", "lz": "2024-01-02 03:04:05"}
{"ts": "2024-01-02 03:04", "lz": "2024-01-02 03:04:05+01:00"}
{"ts": "2024-02-30 00:00:00", "lz": null}
{"ts": "2024-01-02 24:00:00", "lz": null}
)",
                     nulls),
              ElementsAre("+I[2024-01-02 03:04:05.000, 2024-01-02 03:04:05.000Z]",
                          "+I[2024-01-02 03:04:05.123, 2024-01-02 03:04:05.123Z]", "+I[null, null]",
                          "+I[null, null]", "+I[null, null]", "+I[2024-02-29 00:00:00.000, null]",
                          "+I[2024-01-03 00:00:00.000, null]"));
}

TEST(JsonDecoder, ReadsTimestampsOfTheIsoForm) {
  const SchemaPtr read =
      schema({{"ts", columnar::timestamp_type(3, false)}, {"lz", columnar::timestamp_type(3, true)}});
  const JsonOptions iso{.form = TimestampForm::kIso, .misfit_is_null = true};
  EXPECT_THAT(
      decode(read, R"({"ts": "2024-01-02T03:04:05.123", "lz": "2024-01-02T03:04:05.123Z"}
{"ts": "2024-01-02 03:04:05", "lz": "2024-01-02 03:04:05Z"}
{"ts": "2024-01-02T03:04:05Z", "lz": "2024-01-02T03:04:05"}
{"ts": "2024-01-02T03:04", "lz": "2024-01-02T03:04:05+01:00"}
{"ts": "2024-01-02", "lz": null}
{"ts": 1704164645000, "lz": 1704164645000}
)",
             iso),
      ElementsAre("+I[2024-01-02 03:04:05.123, 2024-01-02 03:04:05.123Z]", "+I[null, null]", "+I[null, null]",
                  "+I[2024-01-02 03:04:00.000, null]", "+I[null, null]", "+I[null, null]"));
}

TEST(JsonDecoder, MakesAMisfitNullIfToldSoAndStillRefusesWhatIsNoRecord) {
  const SchemaPtr read = schema({{"id", make_type(TypeKind::kInt)},
                                 {"a", columnar::array_type(make_type(TypeKind::kInt))},
                                 {"r", columnar::row_type({{"x", make_type(TypeKind::kInt)}})}});
  const auto rows = decode(read, R"({"id": "x", "a": [1, "y"], "r": {"x": "z"}}
{"id": 2, "a": 5, "r": 7}
not json
{"id": 3, "a": 3
[1, 2]
"text"
null
{"id": 4}
)",
                           {.misfit_is_null = true});
  EXPECT_THAT(rows, ElementsAre("+I[null, [1, NULL], (NULL)]", "+I[2, null, null]", "+I[4, null, null]",
                                HasSubstr("bad 70 not json: not JSON at byte 1: expected '{', found 'n'"),
                                HasSubstr("expected ',' or '}', found the end of the record"),
                                HasSubstr("'['"), HasSubstr("'\"'"), HasSubstr("'n'")));
}

TEST(JsonDecoder, RefusesARecordWithoutAFieldIfToldSo) {
  const SchemaPtr read = schema({{"i", make_type(TypeKind::kInt)}});
  EXPECT_THAT(decode(read, "{\"i\": null}\n{}\n", {.fail_on_missing = true}),
              ElementsAre("+I[null]", "bad 12 {}: field i is missing"));
}

TEST(JsonDecoder, ADecimalThatIsTooWideIsNullAndOthersAreRoundedHalfUp) {
  const SchemaPtr read = schema({{"c", columnar::decimal_type(5, 2)}});
  const auto one = [&](std::string_view value) {
    return only(decode(read, "{\"c\": " + std::string(value) + "}\n"));
  };
  EXPECT_EQ(one("1.005"), "+I[1.01]");
  EXPECT_EQ(one("-1.005"), "+I[-1.01]");
  EXPECT_EQ(one("1.0049999999999999999999999999999999999999999999"), "+I[1.00]");
  EXPECT_EQ(one("1E2"), "+I[100.00]");
  EXPECT_EQ(one("12345e-4"), "+I[1.23]");
  EXPECT_EQ(one("0e99"), "+I[0.00]");
  EXPECT_EQ(one("1e99"), "+I[null]");
  EXPECT_EQ(one("999.995"), "+I[null]");
  EXPECT_EQ(one("\"2.5\""), "+I[2.50]");
  EXPECT_THAT(one("\"2.5.1\""), HasSubstr("expected DECIMAL(5, 2)"));
}

TEST(JsonDecoder, AStringTakesTheTextOfOtherValues) {
  const SchemaPtr read = schema({{"s", make_type(TypeKind::kString)}});
  EXPECT_THAT(decode(read, "{\"s\": 1.50}\n{\"s\": true}\n{\"s\": {\"a\" : [1, \"x \\\" y\"]}}\n"),
              ElementsAre("+I[1.50]", "+I[true]", "+I[{\"a\":[1,\"x \\\" y\"]}]"));
}

TEST(JsonDecoder, RefusesWhatIsNotUtf8AndLetsControlCharactersThrough) {
  const SchemaPtr read = schema({{"s", make_type(TypeKind::kString)}});
  EXPECT_THAT(only(decode(read, "{\"s\": \"a\xC3\"}\n")), HasSubstr("not UTF-8"));
  EXPECT_THAT(only(decode(read, "{\"t\": \"\xED\xA0\x80\"}\n")), HasSubstr("not UTF-8"));
  EXPECT_EQ(only(decode(read, "{\"s\": \"a\tb\x01\"}\n")), "+I[a\tb\x01]");
}

// Ours: Flink makes a '?' of it, so that different keys become one.
TEST(JsonDecoder, RefusesHalfACharacter) {
  const SchemaPtr read = schema({{"s", make_type(TypeKind::kString)}});
  const auto refused = [&](const std::string& text) {
    return only(decode(read, "{\"s\": \"" + text + "\"}\n"));
  };
  EXPECT_EQ(refused("\\ud83d\\ude00"), "+I[😀]");
  EXPECT_EQ(refused("\\uD7FF\\uE000"), "+I[\xED\x9F\xBF\xEE\x80\x80]") << "beside the halves";
  for (const char* text :
       {"\\ud83d", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\ud83d", "\\ud83d\\u0041", "\\ud83d\\"})
    EXPECT_THAT(refused(text), HasSubstr("not JSON at byte ")) << text;
  EXPECT_THAT(refused("\\ud83dx"), HasSubstr("expected the second half of a character, found 'x'"));
  EXPECT_THAT(refused("\\ude00"), HasSubstr("expected the first half of a character before its second"));
  EXPECT_THAT(only(decode(read, "{\"t\": \"\\ud83d\"}\n")), HasSubstr("the second half"))
      << "not read either";
}

// Ours: Flink reads the first value and says nothing about the rest.
TEST(JsonDecoder, RefusesTextBehindTheRecord) {
  const SchemaPtr read = schema({{"i", make_type(TypeKind::kInt)}});
  EXPECT_THAT(only(decode(read, "{\"i\": 1} {\"i\": 2}\n")),
              HasSubstr("expected the end of the record, found '{'"));
}

TEST(JsonDecoder, TheLastLineNeedsNoEndAndEmptyLinesAreNoRecords) {
  const SchemaPtr read = schema({{"i", make_type(TypeKind::kInt)}});
  EXPECT_THAT(decode(read, "\n{\"i\":1}\r\n\r\n{\"i\":2}"), ElementsAre("+I[1]", "+I[2]"));
}

TEST(JsonDecoder, StopsWhenTheOutputIsFullAndGoesOnAtTheNextLine) {
  const SchemaPtr read = schema({{"i", make_type(TypeKind::kInt)}});
  std::string lines;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    lines += "{\"i\":" + std::to_string(i) + "}\n";
    expected.push_back("+I[" + std::to_string(i) + "]");
  }
  JsonDecoder decoder(read, {}, fast_kernel(cpu_level()));
  EXPECT_EQ(decode_all(decoder, read, lines, 0, 7), expected);
  EXPECT_GE(decoder.fast_lines(), 90);
}

// ---- The fast way against JsonReader
// ---------------------------------------------------------------------------------

SchemaPtr bids_schema() {
  const auto who =
      columnar::row_type({{"name", make_type(TypeKind::kString)}, {"gone", make_type(TypeKind::kInt)}});
  const auto bid = columnar::row_type({{"id", make_type(TypeKind::kBigInt)},
                                       {"who", who},
                                       {"tags", columnar::array_type(make_type(TypeKind::kString))},
                                       {"absent", make_type(TypeKind::kBoolean)}});
  return schema({{"kind", make_type(TypeKind::kInt)},
                 {"person", columnar::row_type({{"id", make_type(TypeKind::kBigInt)}, {"who", who}})},
                 {"bid", bid},
                 {"n", make_type(TypeKind::kInt)}});
}

SchemaPtr clicks_schema() {
  return schema({{"ad_id", make_type(TypeKind::kString)},
                 {"ts", make_type(TypeKind::kBigInt)},
                 {"at", columnar::timestamp_type(3, false)},
                 {"n", make_type(TypeKind::kInt)},
                 {"valid", make_type(TypeKind::kBoolean)},
                 {"price", columnar::decimal_type(12, 3)},
                 {"tags", columnar::array_type(make_type(TypeKind::kString))},
                 {"absent", make_type(TypeKind::kString)}});
}

std::string value_text(Random& random, std::string_view kind) {
  if (random.chance(0.04)) return "null";
  if (random.chance(0.02)) return random.chance(0.5) ? "\"17\"" : "{\"a\": [1, {}]}";
  if (kind == "string") {
    std::string text = "\"";
    const uint64_t size = random.chance(0.1) ? random.below(120) : random.below(20);
    for (uint64_t i = 0; i < size; ++i) {
      static const std::vector<std::string> kOdd = {"\\n", "\\u00e9", "é", "😀", "\\\"", "\t"};
      text += random.chance(0.01) ? kOdd[random.below(kOdd.size())]
                                  : std::string(1, static_cast<char>('a' + random.below(26)));
    }
    return text + "\"";
  }
  if (kind == "number") {
    std::string text = random.chance(0.2) ? "-" : "";
    text += std::to_string(random.chance(0.02) ? random.next() : random.next() >> (1 + random.below(63)));
    if (random.chance(0.05)) text += random.chance(0.5) ? ".25" : "e2";
    return text;
  }
  if (kind == "small") return std::to_string(random.between(-2'200'000'000, 2'200'000'000));
  if (kind == "time")
    return "\"2026-02-0" + std::to_string(random.below(10)) + " 10:14:0" + std::to_string(random.below(10)) +
           ".5\"";
  if (kind == "tags") return random.chance(0.5) ? "[]" : "[\"x\", \"y\"]";
  if (kind == "who") {
    const std::string name = random.chance(0.02) ? "\"other\"" : "\"name\"";
    return random.chance(0.01) ? "{}" : "{" + name + ":" + value_text(random, "string") + "}";
  }
  if (kind == "bid") {
    return "{\"id\":" + value_text(random, "number") + ",\"unknown\":" + value_text(random, "string") +
           ",\"who\":" + value_text(random, "who") + ",\"tags\":" + value_text(random, "tags") +
           (random.chance(0.01) ? ",\"id\":1}" : "}");
  }
  return random.chance(0.5) ? "true" : "false";
}

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Mostly of one of two layouts, as Nexmark's.
const Fields& bid_fields(Random& random) {
  static const Fields kBid = {{"kind", "small"}, {"bid", "bid"}, {"n", "small"}};
  static const Fields kPerson = {{"kind", "small"}, {"person", "who"}};
  return random.chance(0.9) ? kBid : kPerson;
}

const Fields& click_fields(Random&) {
  static const Fields kFields = {{"click_id", "string"}, {"ad_id", "string"}, {"other", "number"},
                                 {"ts", "number"},       {"at", "time"},      {"flag", "bool"},
                                 {"n", "small"},         {"valid", "bool"},   {"price", "number"},
                                 {"tags", "tags"}};
  return kFields;
}

std::string random_line(Random& random, const Fields& fields) {
  std::string line = "{";
  const std::string colon = random.chance(0.1) ? "\": " : "\":";
  for (const auto& [name, kind] : fields) {
    if (random.chance(0.01)) continue;
    if (line.size() > 1) line += ",";
    line += "\"" + name + colon + value_text(random, kind);
  }
  line += "}";
  if (random.chance(0.05)) {  // damage
    const size_t at = random.below(line.size());
    switch (random.below(3)) {
      case 0:
        line[at] = static_cast<char>(random.below(255) + 1);
        break;
      case 1:
        line.erase(at, 1 + random.below(5));
        break;
      default:
        line.insert(at, std::string(1, "\"{}[],:0e.\\\xC3"[random.below(12)]));
        break;
    }
  }
  return line + (random.chance(0.02) ? "\r\n" : "\n");
}

class FastWay : public testing::TestWithParam<CpuLevel> {};
/// What this machine can run.
std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> out = {CpuLevel::kPortable};
  if (cpu_level() == CpuLevel::kV3) out.push_back(CpuLevel::kV3);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Levels, FastWay, testing::ValuesIn(levels()));

/// Compares the two ways on random lines.
void expect_equal_rows(CpuLevel level, const SchemaPtr& read, const Fields& (*fields)(Random&)) {
  int64_t fast = 0;
  int64_t all = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::string lines;
    const uint64_t n = random.below(200) + 1;
    for (uint64_t i = 0; i < n; ++i) lines += random_line(random, fields(random));
    const JsonOptions options{.fail_on_missing = seed % 8 == 7, .misfit_is_null = seed % 3 == 2};
    JsonDecoder with(read, options, fast_kernel(level));
    JsonDecoder without(read, options, nullptr);
    const int64_t rows_max = 1 + static_cast<int64_t>(random.below(300));
    ASSERT_EQ(decode_all(with, read, lines, seed, rows_max), decode_all(without, read, lines, seed, rows_max))
        << "seed " << seed;
    fast += with.fast_lines();
    all += with.fast_lines() + with.slow_lines();
  }
  EXPECT_GT(fast * 3, all);  // the fast way was really taken, through all that is odd in these lines
}

TEST_P(FastWay, GivesExactlyWhatTheReaderGives) {
  expect_equal_rows(GetParam(), clicks_schema(), click_fields);
}

TEST_P(FastWay, GivesTheSameRowsInsideOfRows) { expect_equal_rows(GetParam(), bids_schema(), bid_fields); }

TEST_P(FastWay, ReadsIntegersOfEveryLengthUpToTheEdgesOfTheirType) {
  const SchemaPtr read = schema({{"l", make_type(TypeKind::kBigInt)}});
  std::string lines;
  std::vector<std::string> expected;
  const auto add = [&](const std::string& number) {
    lines += "{\"l\":" + number + "}\n";
    expected.push_back("+I[" + number + "]");
  };
  for (int64_t power = 1; power <= 1'000'000'000'000'000'000; power *= 10) {
    add(std::to_string(power));
    add(std::to_string(-power * 9 + 1));
    if (power == 1'000'000'000'000'000'000) break;
  }
  add(std::to_string(INT64_MAX));
  add(std::to_string(INT64_MIN));
  JsonDecoder decoder(read, {}, fast_kernel(GetParam()));
  EXPECT_EQ(decode_all(decoder, read, lines), expected);
}

}  // namespace
}  // namespace strand::codec
