// A family of recorded cases and how one is replayed.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "state/spill/spill.h"

namespace strand::conformance {

using Json = nlohmann::json;

/// Replays the steps of one case. `step` returns what the engine did, in the shape of the case's expectation;
/// an error means that the engine refused the step.
class Replay {
 public:
  virtual ~Replay() = default;
  virtual Result<Json> step(const Json& step) = 0;
  /// Elements of one input that follow each other, handed over at once.
  virtual bool takes_batches() const { return false; }
  virtual Result<Json> elements(std::span<const Json>) {
    return Status(ErrorCode::kInternal, "this operator takes one element at a time");
  }
};

/// How the outputs of a step are compared.
enum class Comparison {
  kEvents,    // everything in order
  kTimers,    // runs of equal timers; inside a run the firings as a multiset
  kRows,      // values only: runs of equal window end as multisets, whatever subtask or timer made them
  kAnyOrder,  // values only, as a multiset
  kByKey,     // values only, in order for each key, whatever timer made them
};

struct Family {
  Comparison comparison = Comparison::kEvents;
  /// Nothing (and the reason in `unsupported`) for a configuration that the engine does not have.
  std::unique_ptr<Replay> replay;
  std::string unsupported;
  /// The steps `snapshot` and `restore` exist. A restore with `keeps_inputs` does not forget how far the
  /// inputs were, as if the sources had told it again, and leaves timers that are due by the clock to its
  /// next step.
  bool restorable = false;
  /// The engine refused the configuration.
  Status refused;
};

/// In a configuration: whether a restore forgets the watermark, as Flink's does. A case that says nothing
/// does.
inline constexpr const char* kFlinkRestore = "strand.compat.flink-restore";

/// The replay of a case of `family` with `config`. `spill_space`: where operators with keys keep what has no
/// room in memory, or empty.
Family make_family(const std::string& family, const Json& config, const state::MakeSpillSpace& spill_space);

std::optional<Family> make_watermark_family(const std::string& family, const Json& config);
std::optional<Family> make_assigner_family(const std::string& family, const Json& config);
std::optional<Family> make_key_family(const std::string& family, const Json& config);
std::optional<Family> make_operator_family(const std::string& family, const Json& config,
                                           const state::MakeSpillSpace& spill_space);
std::optional<Family> make_sql_family(const std::string& family, const Json& config,
                                      const state::MakeSpillSpace& spill_space);

inline int64_t number(const Json& object, const char* name, int64_t absent) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? absent : found->get<int64_t>();
}
inline std::string text(const Json& object, const char* name, const char* absent = "") {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? absent : found->get<std::string>();
}
inline bool flag(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace strand::conformance
