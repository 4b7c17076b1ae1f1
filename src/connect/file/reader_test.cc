// Reading shard files: every record once, whatever the files do meanwhile.
#include "connect/file/reader.h"

#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "connect/file/finder.h"
#include "sim/env/env.h"

namespace strand::connect::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Lines as they are; one that begins with '!' is bad.
class TextDecoder final : public codec::RecordDecoder {
 public:
  Result<size_t> decode(std::string_view lines, uint64_t position, codec::DecodeOutput& out) override {
    size_t used = 0;
    while (used < lines.size() && !out.full()) {
      const size_t end = std::min(lines.find('\n', used), lines.size());
      const std::string_view line = lines.substr(used, end - used);
      if (line.starts_with('!')) {
        out.add_bad(position + used, line, "it shouts");
      } else if (!line.empty()) {
        out.rows().column(0).append_string(line);
        out.rows().end_row();
      }
      used = std::min(end + 1, lines.size());
    }
    return used;
  }
};

columnar::SchemaPtr text_schema() {
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"line", columnar::make_type(columnar::TypeKind::kString)}});
}

/// A table `t` of files below `in`.
class Table {
 public:
  explicit Table(env::FileSystem* other_files = nullptr) {
    EXPECT_TRUE(sim.files.make_dirs("in").ok());
    context.table = "t";
    context.schema = text_schema();
    context.env = sim.env();
    if (other_files != nullptr) context.env.files = other_files;
    options.path = "in";
    options.format = "json";
  }
  Table& growing() {
    options.monitor_interval = Duration{1'000};
    return *this;
  }
  FileReader reader(ReadLimits limits = {}) {
    return FileReader(context, options, std::make_unique<TextDecoder>(), Partitions(), limits);
  }
  void append(const std::string& name, std::string_view bytes) {
    auto file = sim.files.open_append("in/" + name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(bytes).ok());
  }
  void replace(const std::string& name, std::string_view bytes) {
    auto file = sim.files.create("in/" + name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(bytes).ok());
  }

  sim::SimEnv sim{1, WallTime{0}};
  TableContext context;
  FileOptions options;
};

std::vector<std::string> rows_of(const flow::Polled& polled) {
  std::vector<std::string> rows;
  polled.batch.for_each_row([&](int64_t row) { rows.emplace_back(polled.batch.column(0).string(row)); });
  return rows;
}

/// Everything that is there now; `now` moves on so that waiting shards are looked at.
struct Read {
  std::vector<std::string> rows;
  std::vector<std::string> bad;  // position, reason
  int64_t records = 0;
  bool ended = false;
  Status error;
};
Read read_on(FileReader& reader, WallTime& now, int polls_max = 100'000) {
  Read read;
  int idle = 0;
  for (int poll = 0; poll < polls_max && idle < 3; ++poll) {
    auto polled = reader.poll(now);
    if (!polled.ok()) {
      read.error = polled.status();
      return read;
    }
    if (polled->kind == flow::Polled::Kind::kEnded) {
      read.ended = true;
      return read;
    }
    if (polled->kind == flow::Polled::Kind::kNothing) {
      idle += polled->until > now;
      now = std::max(now, polled->until);
      continue;
    }
    for (std::string& row : rows_of(*polled)) read.rows.push_back(std::move(row));
    read.records += polled->records;
    if (!polled->bad) continue;
    polled->bad->for_each_row([&](int64_t row) {
      read.bad.push_back(std::to_string(polled->bad->column(1).values<int64_t>()[row]) + " " +
                         std::string(polled->bad->column(3).string(row)));
    });
  }
  return read;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::string many_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "line " + std::to_string(i) + std::string(static_cast<size_t>(i % 50), 'x') + "\n";
  return text;
}

TEST(FileReader, ReadsTheWholeLinesOfAFileAndTheLastOneWithoutItsEnd) {
  Table table;
  table.append("a", "one\ntwo\n\nthree");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  WallTime now{0};
  const Read read = read_on(reader, now);
  EXPECT_THAT(read.rows, ElementsAre("one", "two", "three"));
  EXPECT_TRUE(read.ended);
  EXPECT_EQ(reader.state(0).position, "{\"offset\": 14}");
  EXPECT_EQ(reader.state(0).records, 3);
}

// Wherever a job stops between two polls, going on from the position gives the rest and nothing twice; also
// where neither buffers nor polls fit the lines.
TEST(FileReader, GoesOnAfterEveryRecordExactlyWhereItStopped) {
  const std::string text = "one\ntwo\n!bad\n\nthree\nfour and more\n5\nlast";
  const std::vector<std::pair<std::string, std::string>> packings = {
      {"plain", text},
      {"p.gz", gzip(text)},
      {"p.zst", zstd(text)},
      {"two.gz", gzip(text.substr(0, 9)) + gzip(text.substr(9))},
      {"two.zst", zstd(text.substr(0, 9)) + zstd(text.substr(9))}};
  for (const auto& [name, bytes] : packings) {
    Table table;
    table.options.ignore_bad = true;
    table.append(name, bytes);
    for (int stop_after = 0; stop_after <= 7; ++stop_after) {
      WallTime now{0};
      FileReader first = table.reader({.rows = 1, .buffer_bytes = 32});
      ASSERT_TRUE(first.assign({name, "", 0}).ok());
      Read read = stop_after == 0 ? Read{} : read_on(first, now, stop_after);
      FileReader second = table.reader({.rows = 1, .buffer_bytes = 32});
      ASSERT_TRUE(second.assign(first.state(0)).ok());
      const Read rest = read_on(second, now);
      read.rows.insert(read.rows.end(), rest.rows.begin(), rest.rows.end());
      EXPECT_THAT(read.rows, ElementsAre("one", "two", "three", "four and more", "5", "last"))
          << name << stop_after;
      EXPECT_EQ(read.records + rest.records, 7);
      EXPECT_EQ(second.state(0).records, 7);
    }
  }
}

// The bytes of a file appear one after the other: at every length the whole lines are read, once.
TEST(FileReader, AGrowingFileGivesEachLineWhenItIsWhole) {
  const std::string text = "one\ntwo\n\nthree\nfour";
  Table table;
  table.growing();
  table.append("a", "");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  WallTime now{0};
  std::vector<std::string> rows;
  char before = '\n';
  for (const char c : text) {
    table.append("a", std::string_view(&c, 1));
    const Read read = read_on(reader, now);
    EXPECT_TRUE(read.error.ok());
    EXPECT_FALSE(read.ended);
    const bool line_ends = c == '\n' && before != '\n';
    EXPECT_THAT(read.rows, SizeIs(line_ends ? 1 : 0));
    rows.insert(rows.end(), read.rows.begin(), read.rows.end());
    before = c;
  }
  EXPECT_THAT(rows, ElementsAre("one", "two", "three"));
  EXPECT_EQ(reader.state(0).position, "{\"offset\": 15}");
}

TEST(FileReader, LooksAtAQuietGrowingFileAgainAfterTenMilliseconds) {
  Table table;
  table.growing().append("a", "one\n");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  ASSERT_EQ(reader.poll(WallTime{0})->records, 1);
  const auto idle = reader.poll(WallTime{100});
  EXPECT_EQ(idle->kind, flow::Polled::Kind::kNothing);
  EXPECT_EQ(idle->until, (WallTime{110}));
  table.append("a", "two\n");
  EXPECT_EQ(reader.poll(WallTime{105})->kind, flow::Polled::Kind::kNothing);
  EXPECT_THAT(rows_of(*reader.poll(WallTime{110})), ElementsAre("two"));
  ASSERT_EQ(reader.poll(WallTime{110})->kind, flow::Polled::Kind::kNothing);
  table.append("a", "three\n");
  EXPECT_THAT(rows_of(*reader.poll(WallTime{-5'000})), ElementsAre("three"))
      << "a clock that was set back stops nothing";
}

TEST(FileReader, TakesTheShardsInTurn) {
  Table table;
  table.append("a", "a1\na2\na3\n");
  table.append("b", "b1\n");
  table.append("c", "c1\nc2\n");
  FileReader reader = table.reader({.rows = 1});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(reader.assign({name, "", 0}).ok());
  WallTime now{0};
  EXPECT_THAT(read_on(reader, now).rows, ElementsAre("a1", "b1", "c1", "a2", "c2", "a3"));
  EXPECT_TRUE(reader.ended(0) && reader.ended(1) && reader.ended(2));
}

TEST(FileReader, LeavesAShardThatIsPausedAloneAndDoesNotEndBeforeIt) {
  Table table;
  table.append("a", "a1\na2\n");
  table.append("b", "b1\n");
  FileReader reader = table.reader({.rows = 1});
  for (const char* name : {"a", "b"}) ASSERT_TRUE(reader.assign({name, "", 0}).ok());
  WallTime now{0};
  reader.pause(0, true);
  const Read without = read_on(reader, now, 10);
  EXPECT_THAT(without.rows, ElementsAre("b1"));
  EXPECT_FALSE(without.ended);
  reader.pause(0, false);
  const Read rest = read_on(reader, now);
  EXPECT_THAT(rest.rows, ElementsAre("a1", "a2"));
  EXPECT_TRUE(rest.ended);
}

TEST(FileReader, PackedFilesOfManyBuffersAreReadWhole) {
  const std::string text = many_lines(60'000);  // more than the window of unpacked bytes
  for (const auto& [name, bytes] : {std::pair("x.gz", gzip(text)), std::pair("x.zst", zstd(text))}) {
    Table table;
    table.append(name, bytes);
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({name, "", 0}).ok());
    WallTime now{0};
    const Read read = read_on(reader, now);
    ASSERT_THAT(read.rows, SizeIs(60'000));
    EXPECT_EQ(read.rows[59'999], "line 59999" + std::string(59'999 % 50, 'x'));
    EXPECT_EQ(reader.state(0).position, "{\"offset\": " + std::to_string(text.size()) + "}");
  }
}

// A packed file whose content is tiny when packed: the unpacker has taken all of it and still has most to
// give.
TEST(FileReader, PackedFilesThatSwellAThousandfoldAreReadWhole) {
  const auto line_ends = [](size_t count) { return std::string(count, '\n'); };
  const std::string swelling = line_ends(5'000'000) + "end\n";
  const std::vector<std::pair<std::string, std::string>> files = {
      {"x.gz", gzip(swelling)},
      {"x.zst", zstd(swelling)},
      // Two frames, so that the last block of the second does not end with a step of the unpacker.
      {"two.zst", zstd(line_ends(1'000)) + zstd(line_ends(262'140) + "end\n")}};
  for (const auto& [name, bytes] : files) {
    Table table;
    table.append(name, bytes);
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({name, "", 0}).ok());
    WallTime now{0};
    EXPECT_THAT(read_on(reader, now).rows, ElementsAre("end")) << name;
  }
}

TEST(FileReader, DamagedAndCutPackedFilesAreErrors) {
  const std::string text = many_lines(1'000);
  for (const auto& [name, packed] : {std::pair("x.gz", gzip(text)), std::pair("x.zst", zstd(text))}) {
    std::string flipped = packed;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
    for (const std::string& bytes : {flipped, packed.substr(0, packed.size() - 5)}) {
      Table table;
      table.append(name, bytes);
      FileReader reader = table.reader();
      ASSERT_TRUE(reader.assign({name, "", 0}).ok());
      WallTime now{0};
      const Read read = read_on(reader, now);
      ASSERT_FALSE(read.error.ok()) << name;
      EXPECT_TRUE(read.error.code() == ErrorCode::kCorruptInput) << read.error.to_string();
      EXPECT_THAT(read.error.where(), HasSubstr(std::string("t/") + name));
    }
  }
}

TEST(FileReader, AFileThatShrinksBelowThePositionIsAnErrorThatSaysWhere) {
  for (const bool restarted : {false, true}) {
    Table table;
    table.growing().append("a", "one\ntwo\n");
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    WallTime now{0};
    ASSERT_THAT(read_on(reader, now).rows, SizeIs(2));
    table.replace("a", "one\n");
    FileReader again = table.reader();
    ASSERT_TRUE(again.assign(reader.state(0)).ok());
    const Status error = read_on(restarted ? again : reader, now).error;
    ASSERT_FALSE(error.ok());
    EXPECT_EQ(error.code(), ErrorCode::kShardShrank);
    EXPECT_EQ(error.where(), "t/a position 8");
  }
  Table bounded;
  bounded.append("a", "one\n");
  FileReader reader = bounded.reader();
  ASSERT_TRUE(reader.assign({"a", "{\"offset\": 8}", 2}).ok());
  WallTime now{0};
  EXPECT_EQ(read_on(reader, now).error.code(), ErrorCode::kShardShrank);
}

TEST(FileReader, AFileThatDisappearsUnreadIsAnErrorAndOneThatWasReadEnds) {
  Table table;
  table.growing().append("a", "one\ntwo\n");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  WallTime now{0};
  ASSERT_THAT(read_on(reader, now).rows, SizeIs(2));
  const ShardState before = reader.state(0);
  ASSERT_TRUE(table.sim.files.remove("in/a").ok());
  EXPECT_TRUE(read_on(reader, now).ended);

  // The position says so, too: a restart does not miss the file.
  FileReader again = table.reader();
  ASSERT_TRUE(again.assign(reader.state(0)).ok());
  EXPECT_EQ(again.poll(now)->kind, flow::Polled::Kind::kEnded);

  // Whoever had not seen the end before cannot know what is missing.
  FileReader unknowing = table.reader();
  ASSERT_TRUE(unknowing.assign(before).ok());
  const Status error = read_on(unknowing, now).error;
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.code(), ErrorCode::kShardGone);
  EXPECT_EQ(error.where(), "t/a position 8");
}

TEST(FileReader, AFileThatDisappearsInsideALineIsAnError) {
  Table table;
  table.growing().append("a", "one\ntw");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  WallTime now{0};
  ASSERT_THAT(read_on(reader, now).rows, ElementsAre("one"));
  ASSERT_TRUE(table.sim.files.remove("in/a").ok());
  const Status error = read_on(reader, now).error;
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.code(), ErrorCode::kShardGone);
  EXPECT_EQ(error.where(), "t/a position 4");
}

TEST(FileReader, ABadRecordFailsTheJobIsSkippedOrDiverted) {
  const std::string text = "one\n!" + std::string(200, 'x') + "\x01\ntwo\n";
  WallTime now{7};
  {
    Table table;
    table.append("a", text);
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    const Status error = read_on(reader, now).error;
    ASSERT_FALSE(error.ok());
    EXPECT_EQ(error.code(), ErrorCode::kBadRow);
    EXPECT_EQ(error.where(), "t/a position 4");
    EXPECT_EQ(error.message(), "it shouts: !" + std::string(119, 'x') + "...");
  }
  {
    Table table;
    table.options.ignore_bad = true;
    table.append("a", text);
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    const Read read = read_on(reader, now);
    EXPECT_THAT(read.rows, ElementsAre("one", "two"));
    EXPECT_EQ(read.records, 3) << "the difference is what was skipped";
  }
  {
    Table table;
    table.context.want_bad = true;
    table.append("a", text);
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    const auto polled = reader.poll(now);
    ASSERT_TRUE(polled.ok() && polled->bad);
    EXPECT_EQ(polled->bad->column(0).string(0), "a");
    EXPECT_EQ(polled->bad->column(1).values<int64_t>()[0], 4);
    EXPECT_EQ(polled->bad->column(2).string(0), "!" + std::string(200, 'x') + "\x01");
    EXPECT_EQ(polled->bad->column(4).values<int64_t>()[0], 7);
  }
}

TEST(FileReader, ARecordOfExactlyTheLimitIsReadAndALongerOneIsBad) {
  const std::string at_limit(100, 'a');
  const std::string text = "one\n" + at_limit + "\n" + at_limit + "a\ntwo\n" + at_limit + "aa";
  for (const size_t buffer : {size_t{16}, size_t{64}, size_t{4096}}) {
    Table table;
    table.options.record_bytes_max = 100;
    table.context.want_bad = true;
    table.append("a", text);
    FileReader reader = table.reader({.buffer_bytes = buffer});
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    WallTime now{0};
    const Read read = read_on(reader, now);
    EXPECT_THAT(read.rows, ElementsAre("one", at_limit, "two"));
    EXPECT_THAT(read.bad,
                ElementsAre("105 the record has 101 bytes, more than strand.max-record-bytes (100)",
                            "211 the record has 102 bytes, more than strand.max-record-bytes (100)"));
    EXPECT_TRUE(read.ended);
    EXPECT_EQ(reader.state(0).position, "{\"offset\": " + std::to_string(text.size()) + "}");
  }
}

/// A file that nobody has to keep: `big` x's between two lines.
class HugeLine final : public env::FileSystem {
 public:
  explicit HugeLine(uint64_t big) : big_(big) {}
  class File final : public env::ReadFile {
   public:
    explicit File(const HugeLine& of) : of_(of) {}
    Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
      const uint64_t end = of_.size();
      if (offset >= end) return size_t{0};
      const size_t got = std::min<size_t>(size, end - offset);
      for (size_t i = 0; i < got; ++i) into[i] = of_.at(offset + i);
      return got;
    }
    Result<uint64_t> size() override { return of_.size(); }

   private:
    const HugeLine& of_;
  };
  uint64_t size() const { return 4 + big_ + 1 + 4; }
  char at(uint64_t i) const {
    if (i < 4) return "one\n"[i];
    return i < 4 + big_ ? 'x' : "\ntwo\n"[i - 4 - big_];
  }
  Result<std::unique_ptr<env::ReadFile>> open_read(const std::string&) override {
    return std::unique_ptr<env::ReadFile>(new File(*this));
  }
  Result<env::FileInfo> stat(const std::string& path) override {
    return env::FileInfo{path, size(), /*is_dir=*/path == "in"};
  }
  Result<std::unique_ptr<env::WriteFile>> create(const std::string&) override { return unused(); }
  Result<std::unique_ptr<env::WriteFile>> open_append(const std::string&) override { return unused(); }
  Status rename(const std::string&, const std::string&) override { return unused(); }
  Status remove(const std::string&) override { return unused(); }
  Status remove_all(const std::string&) override { return unused(); }
  Status make_dirs(const std::string&) override { return unused(); }
  Status sync_dir(const std::string&) override { return unused(); }
  Result<std::vector<env::FileInfo>> list(const std::string&) override { return unused(); }
  Result<std::unique_ptr<env::FileLock>> lock(const std::string&, const std::string&) override {
    return unused();
  }

 private:
  static Status unused() { return Status(ErrorCode::kInternal, "a reader has no business here"); }
  uint64_t big_;
};

TEST(FileReader, ALineOf100MegabytesIsABadRecordThatIsNeverInMemory) {
  constexpr uint64_t kBig = 100'000'000;
  for (const bool growing : {false, true}) {
    HugeLine files(kBig);
    obs::MemoryAccount memory;
    Table table(&files);
    if (growing) table.growing();
    table.context.want_bad = true;
    table.context.memory = &memory;
    FileReader reader = table.reader();
    ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
    WallTime now{0};
    const Read read = read_on(reader, now);
    EXPECT_THAT(read.rows, ElementsAre("one", "two"));
    EXPECT_THAT(
        read.bad,
        ElementsAre("4 the record has 100000000 bytes, more than strand.max-record-bytes (16777216)"));
    EXPECT_LT(memory.used(), 17 << 20);
  }
}

TEST(FileReader, ARecordThatIsTooLongFailsTheJobWithItsOwnNumber) {
  Table table;
  table.options.record_bytes_max = 10;
  table.append("a", "one\ntwelve bytes\n");
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"a", "", 0}).ok());
  WallTime now{0};
  const Status error = read_on(reader, now).error;
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.code(), ErrorCode::kRecordTooLong);
  EXPECT_EQ(error.where(), "t/a position 4");
  EXPECT_THAT(error.message(), HasSubstr("12 bytes"));
  EXPECT_THAT(error.hint(), HasSubstr("strand.max-record-bytes"));
}

TEST(FileReader, APositionOfAnotherConnectorIsRefused) {
  Table table;
  FileReader reader = table.reader();
  EXPECT_EQ(reader.assign({"a", "{\"sequence\": 7}", 0}).code(), ErrorCode::kCheckpointUnreadable);
}

TEST(FileFinder, FindsFilesInFoldersSortedAndLeavesOutHiddenAndTemporaryOnes) {
  Table table;
  for (const char* dir : {"in/b", "in/.hidden", "in/_temporary"})
    ASSERT_TRUE(table.sim.files.make_dirs(dir).ok());
  for (const char* name : {"z", "a", "b/c", ".x", "_y", ".hidden/d", "_temporary/e"})
    table.append(name, "1\n");
  FileFinder finder(table.sim.files, table.options);
  EXPECT_THAT(*finder.find(), ElementsAre("a", "b/c", "z"));
  EXPECT_EQ(finder.interval(), std::nullopt);

  table.options.path_regex = "in/b/.*|in/z";
  EXPECT_THAT(*FileFinder(table.sim.files, table.options).find(), ElementsAre("b/c", "z"));
}

TEST(FileFinder, APathThatIsAFileIsOneShardOfItsName) {
  Table table;
  table.append("clicks.jsonl", "one\n");
  table.options.path = "in/clicks.jsonl";
  EXPECT_THAT(*FileFinder(table.sim.files, table.options).find(), ElementsAre("clicks.jsonl"));
  FileReader reader = table.reader();
  ASSERT_TRUE(reader.assign({"clicks.jsonl", "", 0}).ok());
  EXPECT_EQ(reader.poll(WallTime{0})->records, 1);
}

TEST(FileFinder, APathThatIsNotThereIsAnErrorWithAWayOut) {
  Table table;
  table.options.path = "nowhere";
  const auto found = FileFinder(table.sim.files, table.options).find();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), ErrorCode::kFileNotFound);
  EXPECT_THAT(found.status().hint(), HasSubstr("'path'"));
}

TEST(FileOptions, BytesHaveUnits) {
  EXPECT_EQ(*parse_bytes("4096"), 4096u);
  EXPECT_EQ(*parse_bytes("16 MB"), uint64_t{16} << 20);
  EXPECT_EQ(*parse_bytes("1kib"), 1024u);
  for (const char* text : {"", "MB", "-1", "1 pint", "99999999999 gb"})
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
}

}  // namespace
}  // namespace strand::connect::file
