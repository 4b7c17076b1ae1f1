#include <CLI/CLI.hpp>
#include <cstdio>

#include "../command.h"
#include "connect/datagen/clicks.h"
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

std::string progress_text(const datagen::ClickProgress& p) {
  using engine::reports::count_text;
  return count_text(p.rows) + " of " + count_text(p.rows_total) + " clicks, " +
         engine::reports::bytes_text(p.bytes);
}

/// On a terminal in place, on a pipe a line for each tenth.
class ProgressLine {
 public:
  void show(const datagen::ClickProgress& p) {
    const int64_t tenth = p.rows_total == 0 ? 10 : p.rows * 10 / p.rows_total;
    if (terminal_) {
      std::fprintf(stderr, "\r%s\x1b[K", progress_text(p).c_str());
    } else if (tenth != shown_) {
      std::fprintf(stderr, "%s\n", progress_text(p).c_str());
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

int gen_clicks(Context& context, const GenArguments& arguments) {
  if (const Status fits = datagen::check_click_options(arguments.clicks); !fits.ok()) {
    engine::report(Status(ErrorCode::kBadUsage, fits.message())
                       .at("gen clicks")
                       .hint("strandline gen clicks --help shows each option and its default"));
    return engine::kBadUsage;
  }
  ProgressLine line;
  const auto on_progress = [&](const datagen::ClickProgress& progress) { line.show(progress); };
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

}  // namespace

void add_gen(CLI::App& app, Context& context, int& exit_code) {
  CLI::App* command = app.add_subcommand("gen", "Generate deterministic input");
  command->require_subcommand(1);
  command->footer("Example: strandline gen clicks --out clicks --rows 1000000 --shards 8");
  add_gen_clicks(*command, context, exit_code);
}

}  // namespace strand::app
