// Which key group and which subtask a key belongs to.
#include <bit>

#include "base/ids.h"
#include "conformance/family.h"
#include "state/keyed/key_group.h"

namespace strand::conformance {
namespace {

namespace java = state::java_hash;

int32_t hash_of(const Json& key);

int32_t hash_of_fields(const std::string& type, const Json& fields) {
  std::vector<java::RowField> row;
  std::vector<int32_t> tuple;
  for (const Json& field : fields) {
    const bool null = field.value("value", Json()).is_null();
    row.push_back({null ? 0 : hash_of(field), null});
    tuple.push_back(null ? java::kNull : hash_of(field));
  }
  return type == "row" ? java::of_row(row) : java::of_tuple(tuple);
}

int32_t hash_of(const Json& key) {
  const std::string type = text(key, "type");
  const Json& value = key.at("value");
  if (type == "string") return java::of_string(value.get<std::string>());
  if (type == "boolean") return java::of_boolean(value.get<bool>());
  if (type == "tuple" || type == "row") return hash_of_fields(type, value);
  const auto bits = value.get<int64_t>();
  if (type == "long") return java::of_long(bits);
  if (type == "double") return java::of_double(std::bit_cast<double>(bits));
  if (type == "float") return java::of_float(std::bit_cast<float>(static_cast<int32_t>(bits)));
  return java::of_int(static_cast<int32_t>(bits));
}

class KeyReplay : public Replay {
 public:
  explicit KeyReplay(const Json& config) : parallelism_to_(config.at("parallelism_to").get<int32_t>()) {}

  Result<Json> step(const Json& step) override {
    const int32_t hash = hash_of(step);
    Json result{{"hash", hash}, {"mixed", state::murmur_mix(hash)}};
    for (const int32_t max : {128, 32'768}) {
      const int32_t group = state::stream_key_group(hash, max);
      Json owners = Json::array();
      for (int32_t p = 1; p <= parallelism_to_; ++p) owners.push_back(owner_of(group, p, max));
      result["groups"][std::to_string(max)] = group;
      result["owners"][std::to_string(max)] = std::move(owners);
    }
    return result;
  }

 private:
  int32_t parallelism_to_;
};

}  // namespace

std::optional<Family> make_key_family(const std::string& family, const Json& config) {
  if (family != "key_group") return std::nullopt;
  Family made;
  made.replay = std::make_unique<KeyReplay>(config);
  return made;
}

}  // namespace strand::conformance
