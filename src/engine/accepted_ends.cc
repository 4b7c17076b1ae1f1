#include "engine/accepted_ends.h"

#include "env/env.h"
#include "plan/ends.h"

namespace strand::engine {

namespace {

constexpr const char* kEndsFile = "ends";

std::string text_of(const plan::Plan& plan) {
  std::string text;
  for (const auto& [id, end] : plan::ends_of(plan)) text.append(id).append(": ").append(end).append("\n");
  return text;
}

}  // namespace

bool ends_accepted(env::FileSystem& files, const std::string& run_folder, const plan::Plan& plan) {
  const Result<std::string> found = env::read_all(files, run_folder + "/" + kEndsFile);
  return found.ok() && *found == text_of(plan);
}

Status accept_ends(env::FileSystem& files, const std::string& run_folder, const plan::Plan& plan) {
  return env::write_atomically(files, run_folder, kEndsFile, text_of(plan));
}

}  // namespace strand::engine
