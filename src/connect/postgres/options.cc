#include "connect/postgres/options.h"

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <optional>

namespace strand::connect::postgres {

namespace {

constexpr std::string_view kScheme = "jdbc:";
constexpr std::string_view kPostgres = "postgresql:";

Status bad_url(std::string message) {
  return Status(ErrorCode::kBadOption, std::move(message))
      .hint(
          "write 'url' = 'jdbc:postgresql://host:5432/database'; user and password are options of their own");
}

using Parts = std::map<std::string, std::string>;
/// libpq's own words would quote what it could not read.
std::optional<Parts> parse(const std::string& url) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> info(
      PQconninfoParse(url.c_str(), &error), &PQconninfoFree);
  PQfreemem(error);
  if (!info) return std::nullopt;
  Parts parts;
  for (const PQconninfoOption* o = info.get(); o->keyword != nullptr; ++o) {
    if (o->val != nullptr) parts[o->keyword] = o->val;
  }
  return parts;
}

}  // namespace

std::string PostgresOptions::where() const {
  const Parts parts = parse(url).value_or(Parts());
  const auto part = [&](const char* name, const char* other) {
    const auto found = parts.find(name);
    return found == parts.end() ? std::string(other) : found->second;
  };
  return part("host", "localhost") + ":" + part("port", "5432") + "/" + part("dbname", "");
}

Result<PostgresOptions> postgres_options(const TableContext& context) {
  PostgresOptions options;
  options.url = text_option(context, "url");
  if (options.url.starts_with(kScheme)) options.url.erase(0, kScheme.size());
  if (!options.url.starts_with(kPostgres)) {
    // It is not shown: a password may stand in it.
    return bad_url(options.url.empty() ? "expected 'url', the database, found none"
                                       : "expected 'url' of a PostgreSQL database, found another");
  }
  const std::optional<Parts> parsed = parse(options.url);
  if (!parsed) return bad_url("'url' cannot be read");
  if (parsed->contains("password")) return bad_url("expected 'url' without a password, which would be shown");
  options.user = text_option(context, "username");
  options.password = text_option(context, "password");
  STRAND_TRY(const auto connecting, duration_option(context, "connection.max-retry-timeout"));
  if (connecting) options.connect_timeout = *connecting;
  STRAND_TRY(const auto answering, duration_option(context, "strand.request-timeout"));
  if (answering) options.request_timeout = *answering;
  return options;
}

}  // namespace strand::connect::postgres
