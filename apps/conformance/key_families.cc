// Which key group and which subtask a key belongs to.
#include <bit>

#include "base/ids.h"
#include "conformance/family.h"
#include "state/keyed/key_group.h"
#include "state/keyed/sql_key.h"

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

/// The digits of a decimal with `scale` of them behind the point.
columnar::Int128 unscaled(const std::string& decimal, int scale) {
  columnar::Int128 value = 0;
  int behind = -1;
  for (const char c : decimal) {
    if (c == '.') behind = 0;
    if (c < '0' || c > '9') continue;
    value = value * 10 + (c - '0');
    if (behind >= 0) ++behind;
  }
  for (int i = std::max(behind, 0); i < scale; ++i) value *= 10;
  return decimal.starts_with('-') ? -value : value;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string to_hex(const std::string& bytes) {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    hex.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return hex;
}

void set_field(state::SqlKey& key, size_t i, const Json& field) {
  const std::string type = text(field, "type");
  const Json& value = field.value("value", Json());
  const auto precision = static_cast<int>(number(field, "precision", 0));
  if (type == "decimal") {
    std::optional<columnar::Int128> digits;
    if (!value.is_null())
      digits = unscaled(value.get<std::string>(), static_cast<int>(number(field, "scale", 0)));
    return key.set_decimal(i, digits, precision);
  }
  if (type == "timestamp") {
    std::optional<state::SqlKey::Timestamp> time;
    if (!value.is_null()) time = {value.get<int64_t>(), static_cast<int32_t>(number(field, "nanos", 0))};
    return key.set_timestamp(i, time, precision);
  }
  if (value.is_null()) return key.set_null(i);
  if (type == "string") return key.set_bytes(i, value.get<std::string>());
  if (type == "bytes") return key.set_bytes(i, from_hex(value.get<std::string>()));
  if (type == "boolean") return key.set(i, static_cast<uint8_t>(value.get<bool>()));
  const auto bits = value.get<int64_t>();
  if (type == "bigint" || type == "double") return key.set(i, bits);
  if (type == "smallint") return key.set(i, static_cast<int16_t>(bits));
  if (type == "tinyint") return key.set(i, static_cast<int8_t>(bits));
  return key.set(i, static_cast<int32_t>(bits));
}

class KeyReplay : public Replay {
 public:
  KeyReplay(const Json& config, bool sql)
      : parallelism_to_(config.at("parallelism_to").get<int32_t>()), sql_(sql) {}

  Result<Json> step(const Json& step) override {
    if (!sql_) return placement(hash_of(step));
    const Json& fields = step.at("fields");
    state::SqlKey key(fields.size());
    for (size_t i = 0; i < fields.size(); ++i) set_field(key, i, fields[i]);
    Json result = placement(key.hash());
    result["bytes"] = to_hex(key.bytes());
    return result;
  }

 private:
  Json placement(int32_t hash) const {
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
  int32_t parallelism_to_;
  bool sql_;
};

}  // namespace

std::optional<Family> make_key_family(const std::string& family, const Json& config) {
  if (family != "key_group" && family != "sql_key") return std::nullopt;
  Family made;
  made.replay = std::make_unique<KeyReplay>(config, family == "sql_key");
  return made;
}

}  // namespace strand::conformance
