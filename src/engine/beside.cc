#include "engine/beside.h"

#include <algorithm>

#include "checkpoint/sealed.h"
#include "engine/last_end.h"

namespace strand::engine {

namespace {

constexpr const char* kFile = "versions";
constexpr int kFormat = 1;

struct Newest {
  Generation generation{0};
  std::string beside;
};

Result<Newest> read_newest(env::FileSystem& files, const JobFolder& job) {
  const std::string path = job.root + "/" + kFile;
  const Result<std::string> text = env::read_all(files, path);
  if (!text.ok() && text.status().code() == ErrorCode::kFileNotFound) return Newest{};
  if (!text.ok()) return text.status();
  auto object = checkpoint::unseal(*text, "the newest version of a job", kFormat);
  if (!object.ok()) return std::move(object).status().at(path);
  Newest newest;
  newest.generation = {object->value("newest", int64_t{0})};
  newest.beside = object->value("beside", std::string());
  return newest;
}

Status record(env::FileSystem& files, const JobFolder& job, const Newest& newest) {
  nlohmann::ordered_json object;
  object["format"] = kFormat;
  object["newest"] = newest.generation.value;
  object["beside"] = newest.beside;
  return env::write_atomically(files, job.root, kFile, checkpoint::seal(object));
}

/// No attempt: the folder is not there, or nothing has run in it.
Result<checkpoint::Elder> look(env::FileSystem& files, const JobFolder& job) {
  auto found = checkpoint::Store::look_at_elder(files, job.checkpoints());
  if (!found.ok() && found.status().code() == ErrorCode::kFileNotFound) return checkpoint::Elder{};
  return found;
}

Generation newest_of(const checkpoint::Elder& version) {
  return version.attempts.empty() ? Generation{0} : version.attempts.back().generation;
}

Version version_of(env::Env env, const std::string& root, const std::string& job, const Newest& newest) {
  Version version;
  version.name = job + ".g" + std::to_string(newest.generation.value);
  version.folder = job_folder(root, version.name);
  version.generation = newest.generation;
  version.elder = [&files = *env.files,
                   elder = job_folder(root, newest.beside)]() -> Result<checkpoint::Elder> {
    STRAND_TRY(checkpoint::Elder found, look(files, elder));
    if (found.attempts.empty()) {
      return Status(ErrorCode::kFileNotFound, "expected the checkpoints of the older version, found none")
          .at(elder.root);
    }
    found.ended = has_ended(files, elder.run());
    return found;
  };
  return version;
}

}  // namespace

Result<Generation> newest_version(env::FileSystem& files, const JobFolder& job) {
  STRAND_TRY(const Newest newest, read_newest(files, job));
  return newest.generation;
}

Result<Version> version_beside(env::Env env, const std::string& root, const std::string& job,
                               const std::string& elder, bool from_snapshot) {
  const JobFolder family = job_folder(root, job);
  STRAND_TRY(const checkpoint::Elder older, look(*env.files, job_folder(root, elder)));
  if (older.attempts.empty()) {
    return Status(ErrorCode::kNoSuchJob, "expected a version '" + elder +
                                             "' of this job, which has run below " + root + "; found none")
        .hint(
            "strandline status shows what runs; without --beside the job starts on its own. A version that "
            "has run "
            "beside another needs the folder of that one: put it back");
  }
  STRAND_OK(env.files->make_dirs(family.run()));
  STRAND_TRY(const auto lock, env.files->lock(family.run() + "/versions.lock", "run --beside " + elder));
  STRAND_TRY(Newest newest, read_newest(*env.files, family));
  if (newest.beside == elder) {
    Version version = version_of(env, root, job, newest);
    STRAND_TRY(const checkpoint::Elder before, look(*env.files, version.folder));
    if (!before.attempts.empty()) return version;
  }
  if (!from_snapshot) {
    return Status(ErrorCode::kBadUsage, "expected --from with a savepoint of '" + elder +
                                            "', which a new version goes on from; found none")
        .at("--beside " + elder)
        .hint("take one with strandline savepoint " + elder);
  }
  STRAND_TRY(const checkpoint::Elder first, look(*env.files, family));
  const Generation highest = std::max({newest.generation, newest_of(older), newest_of(first)});
  newest = {Generation{highest.value + 1}, elder};
  STRAND_OK(record(*env.files, family, newest));
  return version_of(env, root, job, newest);
}

}  // namespace strand::engine
