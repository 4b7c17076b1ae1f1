#include "checkpoint/sealed.h"

#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "base/hash.h"

namespace strand::checkpoint {

namespace {

constexpr std::string_view kSealBegin = ",\"checksum\":\"";
constexpr std::string_view kSealEnd = "\"}\n";
constexpr size_t kSealSize = kSealBegin.size() + 16 + kSealEnd.size();

Status damaged(std::string_view what, std::string_view found) {
  return Status(ErrorCode::kCheckpointUnreadable,
                "expected " + std::string(what) + ", found " + std::string(found));
}

bool is_utf8(const std::string& bytes) {
  try {
    static_cast<void>(nlohmann::json(bytes).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

std::string hex16(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string seal(const nlohmann::ordered_json& object) {
  std::string text = object.dump();
  STRAND_CHECK(text.starts_with("{\"format\":"));
  text.pop_back();
  const uint64_t checksum = hash64(text);
  text += kSealBegin;
  text += hex16(checksum);
  text += kSealEnd;
  return text;
}

Result<nlohmann::json> unseal(std::string_view text, std::string_view what, int newest) {
  if (text.empty()) return damaged(what, "an empty file");
  if (text.size() <= kSealSize || text.front() != '{')
    return damaged(what, "something else, or its beginning only");
  const std::string_view body = text.substr(0, text.size() - kSealSize);
  const std::string_view seal_found = text.substr(body.size());
  if (!seal_found.starts_with(kSealBegin) || !seal_found.ends_with(kSealEnd)) {
    return damaged(what, "a text of " + std::to_string(text.size()) + " bytes without its end");
  }
  if (seal_found.substr(kSealBegin.size(), 16) != hex16(hash64(body))) {
    return damaged(what, "bytes that do not match their checksum");
  }
  nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("format") || !object["format"].is_number_integer()) {
    return damaged(what, "an object without a format");
  }
  const auto format = object["format"].get<int64_t>();
  if (format > newest) {
    return Status(ErrorCode::kNewerFormat, "expected " + std::string(what) + " of format " +
                                               std::to_string(newest) + " or older, found format " +
                                               std::to_string(format))
        .hint("it was written by a newer version of Strandline: use that one or a later one");
  }
  return object;
}

nlohmann::ordered_json json_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return {{"hex", hex}};
}

std::string text_of(const nlohmann::json& value) {
  if (!value.is_object()) return value.get<std::string>();
  const std::string hex = value.at("hex").get<std::string>();
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2)
      throw std::invalid_argument("not hexadecimal: " + hex);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace strand::checkpoint
