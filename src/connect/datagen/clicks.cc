#include "connect/datagen/clicks.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace strand::connect::datagen {
namespace {

constexpr int64_t kYear2031Ms = 1'924'992'000'000;
constexpr int64_t kMaxShards = 10'000;
constexpr int64_t kMaxAds = 10'000'000;
constexpr size_t kFlushBytes = 64 << 10;
constexpr int64_t kRowsPerStep = 20'000;
constexpr Duration kPace{50};

enum class Purpose : uint64_t { kKind = 1, kShard, kCopy, kClick, kHalf };

/// The random numbers of one row for one purpose.
Random random_of(const ClickOptions& options, int64_t row, Purpose purpose) {
  return Random(
      combine_hash(combine_hash(options.seed, static_cast<uint64_t>(row)), static_cast<uint64_t>(purpose)));
}

void append_number(int64_t value, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

/// A version 4 UUID.
void append_uuid(uint64_t high, uint64_t low, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  high = (high & ~uint64_t{0xF000}) | 0x4000;
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);
  char text[36];
  char* to = text;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *to++ = '-';
    const uint64_t half = digit < 16 ? high : low;
    *to++ = kDigits[(half >> (60 - 4 * (digit % 16))) & 15];
  }
  out.append(text, sizeof text);
}

Status bad(std::string what) { return Status(ErrorCode::kBadOption, std::move(what)); }

}  // namespace

Status check_click_options(const ClickOptions& o) {
  if (o.shards < 1 || o.shards > kMaxShards)
    return bad("shards must be 1 to 10000, not " + std::to_string(o.shards));
  if (o.silent_shards < 0 || o.silent_shards >= o.shards) {
    return bad("of " + std::to_string(o.shards) + " shards at least one must go on, but " +
               std::to_string(o.silent_shards) + " shall fall silent");
  }
  if (o.ads < 1 || o.ads > kMaxAds) return bad("ads must be 1 to 10000000, not " + std::to_string(o.ads));
  if (o.users < 1) return bad("users must be at least 1, not " + std::to_string(o.users));
  if (o.rate < 1 || o.rate > 100'000'000)
    return bad("rate must be 1 to 100000000, not " + std::to_string(o.rate));
  if (o.seconds < 0 || o.seconds > 10'000'000) {
    return bad("seconds must be 0 to 10000000, not " + std::to_string(o.seconds));
  }
  if (o.disorder_ms < 0) return bad("disorder must not be negative");
  const int64_t shares[] = {o.duplicate_permille, o.late_permille, o.bad_permille, o.future_permille};
  int64_t sum = 0;
  for (const int64_t share : shares) {
    if (share < 0) return bad("a share of rows must not be negative");
    sum += share;
  }
  if (sum > 1'000) return bad("the shares of rows are " + std::to_string(sum) + " of 1000");
  return Status();
}

ClickGenerator::ClickGenerator(const ClickOptions& options) : options_(options) {
  STRAND_CHECK(check_click_options(options).ok());
  popularity_.reserve(static_cast<size_t>(options.ads));
  uint64_t sum = 0;
  for (uint64_t ad = 1; ad <= static_cast<uint64_t>(options.ads); ++ad) {
    popularity_.push_back(sum += (uint64_t{1} << 40) / ad);
  }
}

int64_t ClickGenerator::ad(uint64_t random) const {
  const uint64_t at = Random(random).below(popularity_.back());
  return std::upper_bound(popularity_.begin(), popularity_.end(), at) - popularity_.begin();
}

ClickKind ClickGenerator::kind(int64_t row) const {
  auto draw = static_cast<int64_t>(random_of(options_, row, Purpose::kKind).below(1'000));
  draw -= options_.duplicate_permille;
  if (draw < 0) return row == 0 ? ClickKind::kOrdinary : ClickKind::kDuplicate;
  draw -= options_.late_permille;
  if (draw < 0) return ClickKind::kLate;
  draw -= options_.bad_permille;
  if (draw < 0) return ClickKind::kBad;
  draw -= options_.future_permille;
  if (draw < 0) return ClickKind::kFuture;
  return ClickKind::kOrdinary;
}

int32_t ClickGenerator::shard(int64_t row) const {
  Random random = random_of(options_, row, Purpose::kShard);
  const auto shard = static_cast<int32_t>(random.below(static_cast<uint64_t>(options_.shards)));
  const bool silent = shard < options_.silent_shards && row >= rows() / 2;
  if (!silent) return shard;
  const int32_t others = options_.shards - options_.silent_shards;
  return options_.silent_shards + static_cast<int32_t>(random.below(static_cast<uint64_t>(others)));
}

int64_t ClickGenerator::original(int64_t row) const {
  const int64_t reach = std::min(row, std::max<int64_t>(options_.rate * 9 / 10, 1));
  int64_t copied =
      row - 1 -
      static_cast<int64_t>(random_of(options_, row, Purpose::kCopy).below(static_cast<uint64_t>(reach)));
  while (copied > 0 && (kind(copied) == ClickKind::kDuplicate || kind(copied) == ClickKind::kBad)) --copied;
  return copied;
}

void ClickGenerator::append_line(int64_t row, std::string& out) const {
  const ClickKind what = kind(row);
  if (what != ClickKind::kDuplicate) return append_click(row, what, out);
  const int64_t copied = original(row);
  append_click(copied, kind(copied), out);
}

void ClickGenerator::append_click(int64_t row, ClickKind kind, std::string& out) const {
  Random random = random_of(options_, row, Purpose::kClick);
  const int64_t arrival = arrival_ms(row);
  int64_t device = arrival - random.between(0, options_.disorder_ms);
  if (kind == ClickKind::kLate) device = arrival - random.between(120'000, 180'000);
  const int64_t impression = device - random.between(100, 60'000);
  if (kind == ClickKind::kFuture) device = kYear2031Ms + (arrival - options_.start_ms);
  const bool wrong_type = kind == ClickKind::kBad && random.chance(0.5);
  const bool not_json = kind == ClickKind::kBad && !wrong_type;

  const size_t start = out.size();
  out += R"({"click_id":")";
  const uint64_t high = random.next();
  append_uuid(high, random.next(), out);
  out += R"(","ad_id":"ad_)";
  append_number(ad(random.next()), out);
  out += R"(","user_id":"u_)";
  const uint64_t user = random.below(static_cast<uint64_t>(options_.users));
  append_number(kind == ClickKind::kFuture ? 2031 : static_cast<int64_t>(user), out);
  out += R"(","spend_micros":)";
  if (wrong_type) {
    out += R"("a lot")";
  } else {
    append_number(random.between(1'000, 2'000'000), out);
  }
  out += R"(,"impression_ms":)";
  append_number(impression, out);
  out += R"(,"device_ms":)";
  append_number(device, out);
  out += R"(,"arrival_ms":)";
  append_number(arrival, out);
  out += '}';
  if (not_json) out.resize(start + 1 + random.below(out.size() - start - 1));
  out += '\n';
}

std::string ClickGenerator::file_name(int32_t shard) {
  const std::string number = std::to_string(shard);
  return "shard-" + std::string(number.size() < 2 ? 1 : 0, '0') + number + ".jsonl";
}

ClickWriter::ClickWriter(const ClickOptions& options) : options_(options), generator_(options) {
  progress_.rows_total = generator_.rows();
}

Result<std::unique_ptr<ClickWriter>> ClickWriter::open(env::FileSystem& files, const std::string& dir,
                                                       const ClickOptions& options) {
  STRAND_OK(check_click_options(options));
  STRAND_OK(files.make_dirs(dir));
  std::unique_ptr<ClickWriter> writer(new ClickWriter(options));
  for (int32_t shard = 0; shard < options.shards; ++shard) {
    STRAND_TRY(auto file, files.create(dir + "/" + ClickGenerator::file_name(shard)));
    writer->shards_.push_back({std::move(file), {}, 0});
  }
  return writer;
}

Status ClickWriter::flush(Shard& shard, size_t keep) {
  const size_t size = shard.buffer.size() - keep;
  if (size > 0) STRAND_OK(shard.file->append(std::string_view(shard.buffer).substr(0, size)));
  shard.buffer.erase(0, size);
  shard.last_line = keep == 0 ? 0 : shard.last_line;
  return Status();
}

void ClickWriter::count(ClickKind kind, size_t bytes) {
  ++progress_.rows;
  progress_.bytes += static_cast<int64_t>(bytes);
  progress_.duplicates += kind == ClickKind::kDuplicate;
  progress_.late += kind == ClickKind::kLate;
  progress_.bad += kind == ClickKind::kBad;
  progress_.future += kind == ClickKind::kFuture;
}

Status ClickWriter::advance(WallTime until) {
  for (Shard& shard : shards_) STRAND_OK(flush(shard, 0));
  const int64_t first = row_;
  for (; !done() && generator_.arrival_ms(row_) <= until.millis; ++row_) {
    Shard& shard = shards_[static_cast<size_t>(generator_.shard(row_))];
    const size_t before = shard.buffer.size();
    generator_.append_line(row_, shard.buffer);
    shard.last_line = shard.buffer.size() - before;
    count(generator_.kind(row_), shard.last_line);
    if (shard.buffer.size() >= kFlushBytes) STRAND_OK(flush(shard, 0));
  }
  Random random = random_of(options_, first, Purpose::kHalf);
  for (Shard& shard : shards_) {
    if (shard.buffer.empty()) continue;
    STRAND_OK(flush(shard, random.chance(0.25) ? random.below(shard.last_line) : 0));
  }
  return Status();
}

Status ClickWriter::finish() {
  for (Shard& shard : shards_) {
    STRAND_OK(flush(shard, 0));
    STRAND_OK(shard.file->close());
  }
  return Status();
}

Result<ClickProgress> generate_clicks(env::FileSystem& files, const std::string& dir,
                                      const ClickOptions& options, const OnClickProgress& on_progress) {
  STRAND_TRY(const auto writer, ClickWriter::open(files, dir, options));
  const int64_t step_ms = std::max<int64_t>(1, kRowsPerStep * 1'000 / options.rate);
  for (int64_t until = options.start_ms; !writer->done(); until += step_ms) {
    STRAND_OK(writer->advance(WallTime{until}));
    if (on_progress) on_progress(writer->progress());
  }
  STRAND_OK(writer->finish());
  return writer->progress();
}

Result<ClickProgress> pace_clicks(const env::Env& env, const std::string& dir, const ClickOptions& options,
                                  const std::function<void(Duration)>& wait,
                                  const OnClickProgress& on_progress) {
  ClickOptions from_now = options;
  from_now.start_ms = env.clock->now().millis;
  STRAND_TRY(const auto writer, ClickWriter::open(*env.files, dir, from_now));
  while (!writer->done()) {
    STRAND_OK(writer->advance(env.clock->now()));
    if (on_progress) on_progress(writer->progress());
    if (!writer->done()) wait(kPace);
  }
  STRAND_OK(writer->finish());
  return writer->progress();
}

}  // namespace strand::connect::datagen
