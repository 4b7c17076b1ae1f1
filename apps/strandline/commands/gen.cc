#include <CLI/CLI.hpp>
#include <cstdio>

#include "../command.h"
#include "connect/datagen/clicks.h"
#include "connect/datagen/nexmark.h"
#include "engine/console.h"
#include "engine/reports/text.h"
#include "env/real.h"

namespace strand::app {

namespace {

namespace datagen = connect::datagen;

struct GenArguments {
  std::string out;
  datagen::ClickOptions clicks;
  int64_t rows = 0;
  int64_t pace = 0;
};

/// Without --silent-shards, few shards have fewer that fall silent. --rows and --pace speak of what the
/// options have in other words. Rows that the seconds do not divide are rounded down to whole clicks a
/// second.
void settle(GenArguments& arguments, bool seconds_given, bool silent_given) {
  datagen::ClickOptions& clicks = arguments.clicks;
  if (!silent_given) clicks.silent_shards = std::max(0, std::min(clicks.silent_shards, clicks.shards - 1));
  if (arguments.pace > 0) clicks.rate = arguments.pace;
  if (arguments.rows == 0) return;
  if (!seconds_given || arguments.pace > 0) clicks.seconds = (arguments.rows + clicks.rate - 1) / clicks.rate;
  if (arguments.pace == 0) clicks.rate = std::max<int64_t>(1, arguments.rows / clicks.seconds);
}

std::string progress_text(int64_t rows, int64_t total, const char* what, int64_t bytes) {
  using engine::reports::count_text;
  return count_text(rows) + " of " + count_text(total) + " " + what + ", " +
         engine::reports::bytes_text(bytes);
}
std::string progress_text(const datagen::ClickProgress& p) {
  return progress_text(p.rows, p.rows_total, "clicks", p.bytes);
}

/// On a terminal in place, on a pipe a line for each tenth.
class ProgressLine {
 public:
  void show(int64_t rows, int64_t total, const std::string& text) {
    const int64_t tenth = total == 0 ? 10 : rows * 10 / total;
    if (terminal_) {
      std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    } else if (tenth != shown_) {
      std::fprintf(stderr, "%s\n", text.c_str());
    }
    shown_ = tenth;
  }
  void end() {
    if (terminal_) std::fputc('\n', stderr);
  }

 private:
  bool terminal_ = engine::is_terminal(stderr);
  int64_t shown_ = -1;
};

int refuse(const Status& options, const std::string& command) {
  engine::report(Status(ErrorCode::kBadUsage, options.message())
                     .at(command)
                     .hint("strandline " + command + " --help shows each option and its default"));
  return engine::kBadUsage;
}

int gen_clicks(Context& context, const GenArguments& arguments) {
  if (const Status fits = datagen::check_click_options(arguments.clicks); !fits.ok())
    return refuse(fits, "gen clicks");
  ProgressLine line;
  const auto on_progress = [&](const datagen::ClickProgress& p) {
    line.show(p.rows, p.rows_total, progress_text(p));
  };
  const auto made =
      arguments.pace > 0
          ? datagen::pace_clicks(context.real.env(), arguments.out, arguments.clicks, env::sleep, on_progress)
          : datagen::generate_clicks(context.real.files, arguments.out, arguments.clicks, on_progress);
  line.end();
  if (!made.ok()) return engine::report(made.status());
  using engine::reports::count_text;
  print(progress_text(*made) + " in " + std::to_string(arguments.clicks.shards) + " shards of " +
        arguments.out + ": " + count_text(made->duplicates) + " duplicates, " + count_text(made->late) +
        " late, " + count_text(made->bad) + " bad, " + count_text(made->future) + " from a clock in 2031\n");
  return engine::kDone;
}

void add_gen_clicks(CLI::App& gen, Context& context, int& exit_code) {
  auto arguments = std::make_shared<GenArguments>();
  CLI::App* command =
      gen.add_subcommand("clicks", "Ad clicks with disorder, copies, late and bad rows, silent shards");
  datagen::ClickOptions& clicks = arguments->clicks;
  command->add_option("--out", arguments->out, "Folder of the shard files; files there are replaced")
      ->required();
  command->add_option("--rows", arguments->rows, "Clicks in all, to whole clicks a second")
      ->check(at_least(1));
  command->add_option("--shards", clicks.shards, "Shard files")->capture_default_str();
  CLI::Option* seconds =
      command->add_option("--seconds", clicks.seconds, "Seconds of arrival")->capture_default_str();
  command->add_option("--rate", clicks.rate, "Clicks a second of arrival time")->capture_default_str();
  command
      ->add_option("--pace", arguments->pace,
                   "Write that many clicks a second, as they would arrive, from now on")
      ->check(at_least(1));
  command->add_option("--ads", clicks.ads, "Ads")->capture_default_str();
  command->add_option("--users", clicks.users, "Users")->capture_default_str();
  command->add_option("--seed", clicks.seed, "The same seed gives the same bytes")->capture_default_str();
  CLI::Option* silent =
      command->add_option("--silent-shards", clicks.silent_shards, "Shards that fall silent half-way")
          ->capture_default_str();
  command->add_option("--disorder-ms", clicks.disorder_ms, "Disorder of device clocks")
      ->capture_default_str();
  command->add_option("--duplicate-permille", clicks.duplicate_permille, "Copies")->capture_default_str();
  command->add_option("--late-permille", clicks.late_permille, "Rows minutes late")->capture_default_str();
  command->add_option("--bad-permille", clicks.bad_permille, "Rows that do not parse")->capture_default_str();
  command->add_option("--future-permille", clicks.future_permille, "Rows of a phone in 2031")
      ->capture_default_str();
  command->footer("Example: strandline gen clicks --out clicks --pace 50000 --seconds 60");
  command->callback([&context, &exit_code, arguments, seconds, silent] {
    settle(*arguments, seconds->count() > 0, silent->count() > 0);
    exit_code = gen_clicks(context, *arguments);
  });
}

int gen_nexmark(Context& context, const std::string& out, const datagen::NexmarkOptions& options) {
  if (const Status fits = datagen::check_nexmark_options(options); !fits.ok())
    return refuse(fits, "gen nexmark");
  const auto text = [&](const datagen::NexmarkProgress& p) {
    return progress_text(p.rows(), options.events, "events", p.bytes);
  };
  ProgressLine line;
  const auto made = datagen::generate_nexmark(context.real.files, out, options,
                                              [&](const datagen::NexmarkProgress& progress) {
                                                line.show(progress.rows(), options.events, text(progress));
                                              });
  line.end();
  if (!made.ok()) return engine::report(made.status());
  using engine::reports::count_text;
  print(text(*made) + " in " + std::to_string(options.shards) +
        (options.shards == 1 ? " shard of " : " shards of ") + out + ": " + count_text(made->events[0]) +
        " persons, " + count_text(made->events[1]) + " auctions, " + count_text(made->events[2]) + " bids\n");
  return engine::kDone;
}

void add_gen_nexmark(CLI::App& gen, Context& context, int& exit_code) {
  struct Arguments {
    std::string out;
    datagen::NexmarkOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = gen.add_subcommand("nexmark", "Persons, auctions and bids of the Nexmark benchmark");
  datagen::NexmarkOptions& options = arguments->options;
  command->add_option("--out", arguments->out, "Folder of the shard files; files there are replaced")
      ->required();
  command->add_option("--rows", options.events, "Events in all")->capture_default_str();
  command->add_option("--rate", options.rate, "Events a second of event time")->capture_default_str();
  command->add_option("--shards", options.shards, "Shard files")->capture_default_str();
  command->add_option("--seed", options.seed, "The same seed gives the same bytes")->capture_default_str();
  command->footer("Example: strandline gen nexmark --out nexmark --rows 2000000");
  command->callback([&context, &exit_code, arguments] {
    exit_code = gen_nexmark(context, arguments->out, arguments->options);
  });
}

}  // namespace

void add_gen(CLI::App& app, Context& context, int& exit_code) {
  CLI::App* command = app.add_subcommand("gen", "Generate deterministic input");
  command->require_subcommand(1);
  command->footer("Example: strandline gen clicks --out clicks --rows 1000000 --shards 8");
  add_gen_clicks(*command, context, exit_code);
  add_gen_nexmark(*command, context, exit_code);
}

}  // namespace strand::app
