#include "plan/stored_place.h"

#include <algorithm>

namespace strand::plan {

namespace {

/// `host:5432/database` of `jdbc:postgresql://host/database?sslmode=require`.
std::string database_of(std::string url) {
  url.resize(std::min(url.find('?'), url.size()));
  const size_t slashes = url.find("//");
  if (slashes == std::string::npos) return url;
  const std::string rest = url.substr(slashes + 2);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string host = rest.substr(0, slash);
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (host.empty()) host = "localhost";
  const size_t bracket = host.rfind(']');  // of an address with colons
  if (host.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos) host += ":5432";
  return host + rest.substr(slash);
}

std::string plain_path(std::string path) {
  if (path.starts_with("file://")) path.erase(0, 7);
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::string stored_place(const TableSpec& table) {
  const std::string connector = table.option("connector");
  if (connector == "kafka" || connector == "upsert-kafka")
    return "kafka\n" + table.option("properties.bootstrap.servers") + "\n" + table.option("topic");
  std::string name = table.option("table-name", table.name);
  if (connector == "jdbc") {
    if (name.starts_with("public.")) name.erase(0, 7);
    return connector + "\n" + database_of(table.option("url")) + "\n" + name;
  }
  if (connector == "filesystem") return connector + "\n" + plain_path(table.option("path"));
  const bool valkey = connector == "valkey" || connector == "redis";
  return (valkey ? "valkey" : connector) + "\n" + plain_path(table.option("path")) + table.option("url") +
         "\n" + name;
}

}  // namespace strand::plan
