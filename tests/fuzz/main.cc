// fuzz: random input for what reads what people write.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "tests/fuzz/expression_fuzz.h"
#include "tests/fuzz/guard.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/sql_fuzz.h"

namespace strand::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: fuzz sql|expressions [--runs N | --seconds N] [--seed N] [--failures N] [--root DIR]\n"
    "       fuzz sql|expressions --case N: one case again, with its text\n"
    "  sql      the SQL of the repository, mutated: it compiles, or is refused with a number and a place\n"
    "  expressions  random typed trees over all functions: a row has one value in every batch, as constants, "
    "and in a "
    "slow\n"
    "           reference\n"
    "  --runs   so many cases (1,000)\n"
    "  --seconds  of CPU time\n"
    "  --seed   where the cases begin to be counted (0)\n"
    "  --failures  after so many it ends (1)\n"
    "  --root   the folder of the repository (.)\n";

constexpr int kCaseSeconds = 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kMemory = 0;
#else
constexpr uint64_t kMemory = 4ull << 30;
#endif

struct Options {
  std::string what;
  std::string root = ".";
  uint64_t runs = 1'000;
  uint64_t seconds = 0;
  uint64_t seed = 0;
  uint64_t failures = 1;
  bool single = false;
};

/// Runs cases from `seed` on. `wrong` tells what is wrong with a case.
int run(const Options& options, const std::function<std::string(uint64_t)>& wrong) {
  uint64_t done = 0;
  uint64_t failures = 0;
  const auto more = [&] {
    if (failures == options.failures) return false;
    if (options.seconds > 0) return cpu_seconds() < static_cast<double>(options.seconds);
    return done < options.runs;
  };
  for (; more(); ++done) {
    const uint64_t number = options.seed + done;
    const std::string command = "fuzz " + options.what + " --case " + std::to_string(number);
    begin_case(command);
    if (const std::string what = wrong(number); !what.empty()) {
      std::printf("case %llu: %s\nto repeat: %s\n", static_cast<unsigned long long>(number), what.c_str(),
                  command.c_str());
      ++failures;
    }
  }
  std::printf("fuzz %s: %llu cases, %llu wrong\n", options.what.c_str(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(failures));
  return failures == 0 ? 0 : 1;
}

int fuzz_sql(const Options& options) {
  const std::vector<std::string> seeds = sql_seeds(options.root);
  if (seeds.empty()) {
    std::fprintf(stderr, "no SQL below %s: --root names the folder of the repository\n",
                 options.root.c_str());
    return 2;
  }
  return run(options, [&](uint64_t number) {
    const std::string text = sql_case(seeds, number);
    if (options.single) std::printf("%s\n", text.c_str());
    const std::string wrong = wrong_with_sql(text);
    // The number stands for the text only as long as the SQL of the repository stays the same.
    return wrong.empty() || options.single ? wrong : wrong + "\nof the text\n" + text.substr(0, 4'000);
  });
}

int main_of(int argc, char** argv) {
  Options options;
  if (argc > 1) options.what = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--root") {
      options.root = argv[i + 1];
      continue;
    }
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--runs") options.runs = value;
    if (flag == "--seconds") options.seconds = value;
    if (flag == "--seed") options.seed = value;
    if (flag == "--failures") options.failures = value;
    if (flag == "--case") {
      options.seed = value;
      options.runs = 1;
      options.single = true;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was found is told before a case ends the process
  guard_process(kCaseSeconds, kMemory);
  if (options.what == "sql") return fuzz_sql(options);
  if (options.what == "expressions") {
    return run(options, [&](uint64_t number) { return wrong_with_expression(number, options.single); });
  }
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace
}  // namespace strand::fuzz

int main(int argc, char** argv) { return strand::fuzz::main_of(argc, argv); }
