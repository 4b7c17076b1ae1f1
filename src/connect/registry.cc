#include "connect/registry.h"

#include <algorithm>

#include "base/text.h"

namespace strand::connect {

Result<std::optional<Duration>> duration_option(const TableContext& table, const std::string& key) {
  const auto found = table.options.find(key);
  if (found == table.options.end()) return std::optional<Duration>();
  const Result<Duration> parsed = parse_duration(found->second);
  if (parsed.ok()) return std::optional<Duration>(*parsed);
  return Status(ErrorCode::kBadOption, "'" + key + "': " + parsed.status().message())
      .hint("leave it out for the default");
}

std::string text_option(const TableContext& table, const std::string& key, const std::string& otherwise) {
  const auto found = table.options.find(key);
  return found == table.options.end() ? otherwise : found->second;
}

Status bad_option(std::string message, std::string hint) {
  return Status(ErrorCode::kBadOption, std::move(message)).hint(std::move(hint));
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, connector] : connectors_) names.push_back(name);
  return names;
}

Result<const Connector*> Registry::find(const std::map<std::string, std::string>& options,
                                        TableUse use) const {
  const auto named = options.find("connector");
  if (named == options.end())
    return Status(ErrorCode::kUnknownConnector, "the table has no 'connector' option");
  const auto found = connectors_.find(named->second);
  if (found == connectors_.end()) {
    Status error(ErrorCode::kUnknownConnector, "connector '" + named->second + "' is not known");
    const auto near = nearest(named->second, names());
    return std::move(error).hint(
        near ? "did you mean '" + *near + "'?"
             : "known: filesystem, kafka, upsert-kafka, sqlite, print, blackhole, datagen");
  }
  const Connector& connector = found->second;
  const bool can[] = {connector.reader != nullptr, connector.sink != nullptr, connector.lookup != nullptr};
  if (!can[static_cast<size_t>(use)]) {
    static constexpr const char* kWords[] = {"be read", "be written", "find rows by key"};
    static constexpr const char* kOthers[] = {
        "filesystem, kafka and datagen can",
        "filesystem, kafka, upsert-kafka, sqlite, print and blackhole can", "sqlite can"};
    return Status(ErrorCode::kUnknownConnector,
                  "connector '" + named->second + "' cannot " + kWords[static_cast<size_t>(use)])
        .hint(kOthers[static_cast<size_t>(use)]);
  }
  const bool as_sink = use == TableUse::kWrite;
  const auto& known = as_sink ? connector.sink_options : connector.source_options;
  const auto& other = as_sink ? connector.source_options : connector.sink_options;
  for (const auto& [key, value] : options) {
    const auto has = [&](const std::vector<std::string>& list) {
      return std::any_of(list.begin(), list.end(), [&](const std::string& name) {
        return name.ends_with('*') ? key.starts_with(name.substr(0, name.size() - 1)) : key == name;
      });
    };
    // Event time is made beside the reader.
    if (key == "connector" || key.starts_with("scan.watermark.") || has(known) || has(other)) continue;
    Status error(ErrorCode::kUnknownOption, "connector '" + named->second + "' has no option '" + key + "'");
    const auto near = nearest(key, known);
    return std::move(error).hint(near ? "did you mean '" + *near + "'?" : "remove it");
  }
  return &connector;
}

}  // namespace strand::connect
