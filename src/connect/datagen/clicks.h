// Ad clicks: deterministic input with everything that makes counting them hard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "env/env.h"

namespace strand::connect::datagen {

/// What the clicks look like. Shares are of a thousand rows.
struct ClickOptions {
  uint64_t seed = 1;
  int32_t shards = 64;
  int64_t ads = 10'000;  // the most popular ad gets about a tenth of the clicks
  int64_t users = 1'000'000;
  int64_t rate = 50'000;  // rows per second of arrival time, all shards together
  int64_t seconds = 60;
  int64_t start_ms = 1'767'225'600'000;  // arrival of the first row
  int64_t disorder_ms = 4'000;           // the device's clock is up to this much behind the arrival
  int64_t duplicate_permille = 10;       // byte for byte copies of a row at most 0.9 s older
  int64_t late_permille = 2;             // 2 to 3 minutes behind
  int64_t bad_permille = 1;              // not JSON, or a number that is a text
  int32_t silent_shards = 2;             // the first shards; they stop half-way
  int64_t future_permille = 1;           // from one phone whose clock says 2031
};

/// kBadOption where the values make no sense.
Status check_click_options(const ClickOptions& options);

enum class ClickKind : uint8_t { kOrdinary, kDuplicate, kLate, kBad, kFuture };

/// The rows of a run. Everything about a row follows from (options, row) alone: every machine and every run
/// gets the same bytes, and a run of fewer seconds is a prefix of a longer one as far as no shard falls
/// silent. Requires options that check_click_options accepts. Thread-safe, because nothing changes.
class ClickGenerator {
 public:
  explicit ClickGenerator(const ClickOptions& options);

  int64_t rows() const { return options_.rate * options_.seconds; }
  int64_t arrival_ms(int64_t row) const { return options_.start_ms + row * 1'000 / options_.rate; }
  ClickKind kind(int64_t row) const;
  int32_t shard(int64_t row) const;
  /// Appends the row as one line, with its '\n': click_id, ad_id, user_id, spend_micros, impression_ms,
  /// device_ms, arrival_ms.
  void append_line(int64_t row, std::string& out) const;
  /// `shard-07.jsonl`
  static std::string file_name(int32_t shard);

 private:
  int64_t ad(uint64_t random) const;
  /// The row that a duplicate copies.
  int64_t original(int64_t row) const;
  void append_click(int64_t row, ClickKind kind, std::string& out) const;

  ClickOptions options_;
  std::vector<uint64_t> popularity_;  // cumulative weights
};

/// What has been written, by kind.
struct ClickProgress {
  int64_t rows = 0;
  int64_t rows_total = 0;
  int64_t bytes = 0;
  int64_t duplicates = 0;
  int64_t late = 0;
  int64_t bad = 0;
  int64_t future = 0;
};

/// Writes the shard files of a run, as far as time has come. Between two calls a file may end in the middle
/// of a line, as files do that somebody is writing. After an error the files must be written anew.
class ClickWriter {
 public:
  /// Creates the folder and its shard files; empties files that are there.
  static Result<std::unique_ptr<ClickWriter>> open(env::FileSystem& files, const std::string& dir,
                                                   const ClickOptions& options);
  /// Appends the rows that have arrived by `until`.
  Status advance(WallTime until);
  /// Appends what is left of the last lines and closes the files. `advance` must have seen every row that is
  /// wanted.
  Status finish();
  bool done() const { return row_ == generator_.rows(); }
  const ClickProgress& progress() const { return progress_; }

 private:
  struct Shard {
    std::unique_ptr<env::WriteFile> file;
    std::string buffer;
    size_t last_line = 0;  // bytes of the newest line in `buffer`
  };
  explicit ClickWriter(const ClickOptions& options);
  void count(ClickKind kind, size_t bytes);
  Status flush(Shard& shard, size_t keep);

  ClickOptions options_;
  ClickGenerator generator_;
  std::vector<Shard> shards_;
  int64_t row_ = 0;
  ClickProgress progress_;
};

using OnClickProgress = std::function<void(const ClickProgress&)>;

/// Writes the whole run at once.
Result<ClickProgress> generate_clicks(env::FileSystem& files, const std::string& dir,
                                      const ClickOptions& options, const OnClickProgress& on_progress);

/// Writes the run as it would arrive: the first row now, whatever options.start_ms says. `wait` lets a
/// duration pass.
Result<ClickProgress> pace_clicks(const env::Env& env, const std::string& dir, const ClickOptions& options,
                                  const std::function<void(Duration)>& wait,
                                  const OnClickProgress& on_progress);

}  // namespace strand::connect::datagen
