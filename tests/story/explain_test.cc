// What `strandline explain` predicts of the story's job at a given rate: parts 0, 3, 5, 6, 8 and 12.
#include <cctype>
#include <fstream>
#include <sstream>

#include "engine/job_options.h"
#include "engine/predict.h"
#include "sql/compile.h"
#include "tests/story/story.h"

namespace strand::story {
namespace {

/// The settings of the story, over those of the example.
const std::map<std::string, plan::Setting> kStory = {
    {"execution.checkpointing.interval", {"30 s", "story"}},
    {"table.exec.source.idle-timeout", {"30 s", "story"}},
    {"table.exec.mini-batch.enabled", {"true", "story"}},
    {"table.exec.mini-batch.allow-latency", {"500 ms", "story"}},
    {"parallelism.default", {"1", "story"}}};
constexpr int64_t kAverageDay = 11'574;
constexpr int64_t kSuperBowl = 100'000;

/// The predictions of `explain`, as printed.
class Explained {
 public:
  explicit Explained(const engine::Load& load, std::map<std::string, plan::Setting> settings = {}) {
    settings.insert(kStory.begin(), kStory.end());
    std::ifstream file("examples/ad-clicks/job.sql");
    std::stringstream content;
    content << file.rdbuf();
    sql::SqlInput input;
    input.text = content.str();
    input.file = "job.sql";
    input.settings = settings;
    const auto job = sql::compile(input);
    EXPECT_TRUE(job.ok()) << job.status().to_string();
    if (!job.ok()) return;
    const auto options =
        engine::job_options(job->plan, engine::job_folder("/state", "ad-clicks"), {2, 1 << 30});
    EXPECT_TRUE(options.ok());
    text_ = engine::prediction_text(
        engine::predict(job->plan, *options, *engine::restart_options(job->plan), load), load);
  }

  /// The number in front of `unit` in the line that has `label`: "12,800" is 12800, "5.0" stays as it is.
  std::string number(const std::string& label, const std::string& unit) const {
    const size_t line = text_.find(label);
    const size_t end = text_.find(unit, line);
    EXPECT_TRUE(line != std::string::npos && end < text_.find('\n', line)) << label << ", " << unit << text_;
    if (line == std::string::npos || end == std::string::npos) return "";
    size_t from = end;
    while (from > line &&
           (std::isdigit(text_[from - 1]) != 0 || text_[from - 1] == ',' || text_[from - 1] == '.'))
      --from;
    std::string number = text_.substr(from, end - from);
    std::erase(number, ',');
    return number;
  }
  /// Minutes and seconds of a line, rounded to seconds.
  int64_t seconds(const std::string& label) const {
    const std::string seconds = number(label, " s");
    const size_t line = text_.find(label);
    const size_t minutes = text_.find(" min ", line);
    const bool has_minutes = minutes < text_.find(" s", line);
    return static_cast<int64_t>(std::stod(seconds) + 0.5) +
           (has_minutes ? 60 * std::stoll(number(label, " min ")) : 0);
  }
  bool says(const std::string& words) const { return text_.find(words) != std::string::npos; }

 private:
  std::string text_;
};

engine::Load at_rate(int64_t rate, Duration restart = Duration{50'000}) {
  engine::Load load;
  load.rate = rate;
  load.restart = restart;
  return load;
}

/// So many units, each of which reads 2,000 a second; 2 % of the records are late.
Explained units(const char* n, int64_t rate) {
  engine::Load load = at_rate(rate);
  load.subtask_capacity = 2'000;
  load.late_percent = 2;
  return Explained(load, {{"parallelism.default", {n, "story"}}});
}

TEST(Explain, F001_F002_Replay) {
  const Explained job(at_rate(kSuperBowl));
  fact("F001", text(job.seconds("replay")));
  fact("F002", job.number("replay", " records"));
}

TEST(Explain, F003_F004_ReplayOfAnAverageDay) {
  fact("F004", text(*engine::parse_rate("1000000000/day")));
  const Explained job(at_rate(*engine::parse_rate("1000000000/day"), Duration{40'000}));
  EXPECT_EQ(job.seconds("replay"), 70);
  fact("F004", job.number("predictions at", " records/s"));
  fact("F003", job.number("replay", " records"));
}

TEST(Explain, F005_F006_F007_F008_F009_Exposure) {
  const Explained average = units("32", kAverageDay);
  fact("F005", average.number("catch-up", " records/s"));
  fact("F006", average.number("exposure", " records"));
  fact("F007", average.number("exposure", " would open"));
  fact("F008", average.number("            30.0 s", " would open"));
  const Explained doubled = units("64", kAverageDay);
  fact("F009", tuple(doubled.number("catch-up", " records/s"), doubled.number("exposure", " would open"),
                     doubled.number("            30.0 s", " would open")));
}

TEST(Explain, F010_F210_Flush) {
  engine::Load load = at_rate(kSuperBowl);
  load.keys = 300'000;
  load.sink_rate = 2'800;
  load.index_rate = 1'000;
  const Explained job(load);
  fact("F010", text(job.seconds("flush")));
  EXPECT_EQ(job.number("one part would take ", " (too many)"), "2800");
  fact("F210", tuple(job.number("index", " writes/s"), job.says("parts of an epoch (enough)"),
                     job.says("2,800 (too many)")));
}

TEST(Explain, F100_F101_PartialSumsOfAHotAd) {
  engine::Load load = at_rate(kSuperBowl);
  load.hot_rate = 40'000;
  const Explained job(load);
  fact("F100", tuple(job.number("partials", " ms"), *load.hot_rate));
  fact("F101", job.number("partials", " of the hottest key"));
}

TEST(Explain, F134_F135_F162_IdsInState) {
  engine::Load load = at_rate(kAverageDay);
  load.id_bytes = 60;
  const Explained average(load);
  fact("F134", average.number("state", " GB at 60 B"));
  fact("F162", average.number("state", " MB of them new"));
  load.rate = kSuperBowl;
  fact("F135", Explained(load).number("state", " GB at 60 B"));
}

TEST(Explain, F280_F281_F282_CatchUp) {
  fact("F280", units("32", kAverageDay).number("catch-up", "/s more than arrive"));
  const Explained job = units("64", kSuperBowl);
  fact("F281", job.number("catch-up", "/s more than arrive"));
  fact("F282", text(job.seconds("catch-up")));
}

}  // namespace
}  // namespace strand::story
