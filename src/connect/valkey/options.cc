#include "connect/valkey/options.h"

#include <charconv>
#include <optional>

namespace strand::connect::valkey {

namespace {

Status bad_address() {
  return Status(ErrorCode::kBadOption, "expected 'url' of a Valkey or Redis server, found none or another")
      .hint("write 'url' = 'redis://host:6379/0'; user and password are options of their own");
}

std::optional<int> whole_number(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < low || value > high) return std::nullopt;
  return value;
}

/// `host:port/database` behind the scheme; an address in brackets may hold colons.
bool read_address(std::string_view rest, ValkeyOptions& options) {
  if (rest.find('@') != std::string_view::npos) return false;
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    if (const std::string_view number = rest.substr(slash + 1); !number.empty()) {
      const auto database = whole_number(number, 0, 1'000'000);
      if (!database) return false;
      options.database = *database;
    }
    rest = rest.substr(0, slash);
  }
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos) {
    const auto port = whole_number(rest.substr(colon + 1), 1, 65'535);
    if (!port) return false;
    options.port = *port;
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (!rest.empty()) options.host = rest;
  return true;
}

Result<Durability> durability_of(const std::string& text) {
  if (text == "disk") return Durability::kDisk;
  if (text == "server") return Durability::kServer;
  if (text == "memory") return Durability::kMemory;
  return Status(ErrorCode::kBadOption,
                "expected 'strand.durability' to be 'disk', 'server' or 'memory', found '" + text + "'")
      .hint("remove it for the default, disk: what is acknowledged survives a power loss");
}

}  // namespace

std::string ValkeyOptions::where() const {
  return host + ":" + std::to_string(port) + "/" + std::to_string(database);
}

Result<ValkeyOptions> valkey_options(const TableContext& context) {
  const auto option = [&](const char* name) {
    const auto found = context.options.find(name);
    return found == context.options.end() ? std::string() : found->second;
  };
  ValkeyOptions options;
  std::string_view url;
  const std::string given = option("url");
  for (const std::string_view scheme : {"redis://", "valkey://"}) {
    if (given.starts_with(scheme)) url = std::string_view(given).substr(scheme.size());
  }
  // The URL is not shown: a password may stand in it.
  if (url.empty() || !read_address(url, options)) return bad_address();
  options.user = option("username");
  options.password = option("password");
  STRAND_TRY(const auto connecting, duration_option(context, "connection.max-retry-timeout"));
  if (connecting) options.connect_timeout = *connecting;
  STRAND_TRY(const auto answering, duration_option(context, "strand.request-timeout"));
  if (answering) options.request_timeout = *answering;
  if (const std::string wanted = option("strand.durability"); !wanted.empty()) {
    STRAND_TRY(options.durability, durability_of(wanted));
  }
  return options;
}

}  // namespace strand::connect::valkey
