#include "connect/datagen/nexmark.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "connect/datagen/clicks.h"

namespace strand::connect::datagen {
namespace {

constexpr int64_t kFirstId = 1'000;  // of persons and of auctions
constexpr int64_t kAuctionsInABlock = 3;
constexpr int64_t kHotFor = 100;  // persons or auctions
constexpr int64_t kActivePersons = 1'000;
constexpr int64_t kLastAuctions = 100;
constexpr int64_t kAhead = 10;  // ids that do not exist yet
constexpr int64_t kCategories = 5;
constexpr uint64_t kChannels = 10'000;
constexpr size_t kLetters = size_t{1} << 20;
constexpr int64_t kShardsMax = 10'000;
constexpr size_t kWrittenAtOnce = size_t{1} << 20;

void append_integer(int64_t value, std::string& out) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <size_t n>
std::string_view one_of(const std::array<std::string_view, n>& words, Random& random) {
  return words[random.below(n)];
}

/// Letters, a separator in place of each thirteenth.
std::string word(Random& random, int64_t shortest, int64_t longest, char separator = ' ') {
  std::string text(static_cast<size_t>(random.between(shortest, longest)), 'x');
  for (size_t i = 0; i < text.size(); ++i) {
    const bool inside = i > 0 && i + 1 < text.size();
    const bool separated = random.below(13) == 0;
    text[i] = inside && separated ? separator : static_cast<char>('a' + random.below(26));
  }
  return text;
}

int64_t below(Random& random, int64_t n) {
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(n)));
}

int64_t last_person(int64_t event) { return event / 50; }
int64_t last_auction(int64_t event) {
  const int64_t in_block = std::min<int64_t>(event % 50, kAuctionsInABlock);
  return std::max<int64_t>(event / 50 * kAuctionsInABlock + in_block - 1, 0);
}

int64_t some_person(int64_t event, Random& random) {
  const int64_t persons = last_person(event) + 1;
  const int64_t active = std::min(persons, kActivePersons);
  return kFirstId + persons - active + below(random, active + kAhead);
}

void append_time(const char* key, int64_t millis, std::string& out) {
  out += key;
  std::string text = format_utc(millis);  // 2026-01-01T00:00:00.000Z
  text[10] = ' ';
  out.append(text, 0, text.size() - 1);
  out += '"';
}

}  // namespace

Status check_nexmark_options(const NexmarkOptions& o) {
  const auto bad = [](const std::string& what) { return Status(ErrorCode::kBadOption, what); };
  if (o.events < 1) return bad("events must be at least 1, not " + std::to_string(o.events));
  if (o.rate < 1 || o.rate > 100'000'000)
    return bad("rate must be 1 to 100000000, not " + std::to_string(o.rate));
  if (o.shards < 1 || o.shards > kShardsMax)
    return bad("shards must be 1 to 10000, not " + std::to_string(o.shards));
  return Status();
}

NexmarkGenerator::NexmarkGenerator(const NexmarkOptions& options) : options_(options) {
  STRAND_CHECK(check_nexmark_options(options).ok());
  // 10^(1/1000) in whole numbers, so that every machine has the same prices.
  constexpr int kShift = 20;
  int64_t price = int64_t{100} << kShift;
  for (; prices_.size() < 6'000; price += price / 1'000 * 2'305'238 / 1'000'000)
    prices_.push_back(price >> kShift);
  Random random(options.seed);
  letters_.resize(kLetters);
  for (char& letter : letters_) letter = static_cast<char>('a' + random.below(26));
}

NexmarkKind NexmarkGenerator::kind(int64_t event) const {
  const int64_t in_block = event % kBlock;
  if (in_block == 0) return NexmarkKind::kPerson;
  return in_block <= kAuctionsInABlock ? NexmarkKind::kAuction : NexmarkKind::kBid;
}

int64_t NexmarkGenerator::price(Random& random) const { return prices_[random.below(prices_.size())]; }

void NexmarkGenerator::append_extra(int64_t mean_bytes, Random& random, std::string& out) const {
  const auto size = static_cast<size_t>(mean_bytes - mean_bytes / 5 + below(random, mean_bytes / 5 * 2 + 1));
  out += R"(,"extra":")";
  out.append(letters_, random.below(letters_.size() - size), size);
  out += R"("}})";
}

void NexmarkGenerator::append_line(int64_t event, std::string& out) const {
  Random random(combine_hash(options_.seed, static_cast<uint64_t>(event)));
  switch (kind(event)) {
    case NexmarkKind::kPerson:
      append_person(event, random, out);
      break;
    case NexmarkKind::kAuction:
      append_auction(event, random, out);
      break;
    case NexmarkKind::kBid:
      append_bid(event, random, out);
      break;
  }
  out += '\n';
}

void NexmarkGenerator::append_person(int64_t event, Random& random, std::string& out) const {
  static constexpr std::array<std::string_view, 11> kFirst = {
      "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"};
  static constexpr std::array<std::string_view, 9> kLast = {"Shultz", "Abrams", "Spencer", "White", "Bartels",
                                                            "Walton", "Smith",  "Jones",   "Noris"};
  static constexpr std::array<std::string_view, 10> kCities = {
      "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
      "Bend",    "Redmond",     "Seattle",       "Kent",  "Cheyenne"};
  static constexpr std::array<std::string_view, 6> kStates = {"AZ", "CA", "ID", "OR", "WA", "WY"};
  constexpr int64_t kExtra = 139;
  out += R"({"event_type":0,"person":{"id":)";
  append_integer(kFirstId + last_person(event), out);
  out += R"(,"name":")";
  out += one_of(kFirst, random);
  out += ' ';
  out += one_of(kLast, random);
  out += R"(","emailAddress":")";
  out += word(random, 3, 6, '_') + "@" + word(random, 3, 4, '_') + ".com";
  out += R"(","creditCard":")";
  for (int group = 0; group < 4; ++group) {
    if (group > 0) out += ' ';
    append_integer(random.between(1'000, 9'999), out);
  }
  out += R"(","city":")";
  out += one_of(kCities, random);
  out += R"(","state":")";
  out += one_of(kStates, random);
  append_time(R"(","dateTime":")", time_ms(event), out);
  append_extra(kExtra, random, out);
}

void NexmarkGenerator::append_auction(int64_t event, Random& random, std::string& out) const {
  constexpr int64_t kExtra = 390;
  const int64_t in_flight_ms = time_ms(event + kLastAuctions * kBlock / kAuctionsInABlock) - time_ms(event);
  const int64_t initial = price(random);
  out += R"({"event_type":1,"auction":{"id":)";
  append_integer(kFirstId + last_auction(event), out);
  out += R"(,"itemName":")" + word(random, 3, 19);
  out += R"(","description":")" + word(random, 3, 99);
  out += R"(","initialBid":)";
  append_integer(initial, out);
  out += R"(,"reserve":)";
  append_integer(initial + price(random), out);
  append_time(R"(,"dateTime":")", time_ms(event), out);
  append_time(R"(,"expires":")", time_ms(event) + 1 + below(random, std::max<int64_t>(2 * in_flight_ms, 1)),
              out);
  out += R"(,"seller":)";
  const bool hot = random.below(4) != 0;
  append_integer(hot ? kFirstId + last_person(event) / kHotFor * kHotFor : some_person(event, random), out);
  out += R"(,"category":)";
  append_integer(10 + below(random, kCategories), out);
  append_extra(kExtra, random, out);
}

void NexmarkGenerator::append_bid(int64_t event, Random& random, std::string& out) const {
  static constexpr std::array<std::string_view, 4> kHot = {"Google", "Facebook", "Baidu", "Apple"};
  constexpr int64_t kExtra = 67;
  const int64_t newest = last_auction(event);
  const int64_t oldest = std::max<int64_t>(newest - kLastAuctions, 0);
  out += R"({"event_type":2,"bid":{"auction":)";
  const bool hot_auction = random.below(2) != 0;
  append_integer(kFirstId + (hot_auction ? newest / kHotFor * kHotFor
                                         : oldest + below(random, newest - oldest + 1 + kAhead)),
                 out);
  out += R"(,"bidder":)";
  const bool hot_bidder = random.below(4) != 0;
  append_integer(
      hot_bidder ? kFirstId + last_person(event) / kHotFor * kHotFor + 1 : some_person(event, random), out);
  out += R"(,"price":)";
  append_integer(price(random), out);
  const bool hot_channel = random.below(2) != 0;
  const std::string_view hot = one_of(kHot, random);
  const uint64_t channel = random.below(kChannels);
  Random of_channel(channel);
  out += R"(,"channel":")" + (hot_channel ? std::string(hot) : "channel-" + std::to_string(channel));
  out += R"(","url":"https://www.nexmark.com/)";
  if (hot_channel) {
    out += hot;
    out += "/item.htm?query=1";
  } else {
    for (int part = 0; part < 3; ++part) out += word(of_channel, 3, 4, '_') + "/";
    out += "item.htm?query=1";
    if (of_channel.below(10) != 0)
      out += "&channel_id=" + std::to_string(of_channel.below(uint64_t{1} << 31));
  }
  append_time(R"(","dateTime":")", time_ms(event), out);
  append_extra(kExtra, random, out);
}

Result<NexmarkProgress> generate_nexmark(env::FileSystem& files, const std::string& dir,
                                         const NexmarkOptions& options,
                                         const std::function<void(const NexmarkProgress&)>& on_progress) {
  STRAND_OK(check_nexmark_options(options));
  STRAND_OK(files.make_dirs(dir));
  struct Shard {
    std::unique_ptr<env::WriteFile> file;
    std::string buffer;
  };
  std::vector<Shard> shards(static_cast<size_t>(options.shards));
  for (int32_t i = 0; i < options.shards; ++i) {
    STRAND_TRY(shards[static_cast<size_t>(i)].file, files.create(dir + "/" + ClickGenerator::file_name(i)));
  }
  const NexmarkGenerator generator(options);
  NexmarkProgress progress;
  for (int64_t event = 0; event < options.events; ++event) {
    Shard& shard = shards[static_cast<size_t>(generator.shard(event))];
    generator.append_line(event, shard.buffer);
    ++progress.events[static_cast<size_t>(generator.kind(event))];
    if (shard.buffer.size() < kWrittenAtOnce) continue;
    STRAND_OK(shard.file->append(shard.buffer));
    progress.bytes += static_cast<int64_t>(shard.buffer.size());
    shard.buffer.clear();
    if (on_progress) on_progress(progress);
  }
  for (Shard& shard : shards) {
    STRAND_OK(shard.file->append(shard.buffer));
    progress.bytes += static_cast<int64_t>(shard.buffer.size());
    STRAND_OK(shard.file->close());
  }
  return progress;
}

}  // namespace strand::connect::datagen
