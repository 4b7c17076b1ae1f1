// For tests: Valkey behind the face of the other stores. The server's URL is in STRAND_REDIS.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "connect/valkey/client.h"
#include "connect/valkey/flush_store.h"
#include "sim/store/sim_tables.h"

namespace strand::sim {

/// The server's first database, which is emptied.
class ValkeyBackend {
 public:
  static constexpr bool kKeepsSequence = false;
  ValkeyBackend() {
    const char* const url = getenv("STRAND_REDIS");
    EXPECT_NE(url, nullptr) << "STRAND_REDIS must be the URL of a server";
    connect::TableContext context;
    context.options = {{"url", url == nullptr ? "redis://nowhere" : url}};
    options_ = *connect::valkey::valkey_options(context);
    call({"FLUSHALL"});
  }

  std::unique_ptr<connect::table::TableStore> connect() {
    return connect::valkey::make_flush_store(options_);
  }
  const connect::valkey::ValkeyOptions& options() const { return options_; }
  connect::valkey::Reply call(const connect::valkey::Command& command) const {
    auto client = connect::valkey::Client::open(options_);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    auto reply = (*client)->call(command);
    EXPECT_TRUE(reply.ok()) << reply.status().to_string();
    return *std::move(reply);
  }
  /// The fields of a hash.
  std::map<std::string, std::string> row(const std::string& name) const {
    std::map<std::string, std::string> fields;
    const auto reply = call({"HGETALL", name});
    for (size_t i = 0; i + 1 < reply.size(); i += 2) fields.emplace(reply[i].text(), reply[i + 1].text());
    return fields;
  }
  /// As SimStore::dump; a writer's columns are those of the test's writers that begin with its name.
  std::vector<std::string> dump(const std::string& name, bool tags) const {
    std::vector<std::string> lines;
    const auto names = call({"KEYS", name + ":*"});
    for (size_t i = 0; i < names.size(); ++i) {
      const auto fields = row(std::string(names[i].text()));
      for (const auto& [column, value] : fields) {
        if (column.ends_with("_ckpt"))
          lines.push_back(line(fields, column.substr(0, column.size() - 5), value, tags));
      }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  static std::string line(const std::map<std::string, std::string>& fields, const std::string& writer,
                          const std::string& epoch, bool tags) {
    std::string text = fields.at("entity") + " " + fields.at("bucket") + ": " + writer + "_valid=";
    const auto value = fields.find(writer + "_valid");
    text += value == fields.end() ? "null" : value->second;
    if (!tags) return text;
    return text + " [" + fields.at(writer + "_gen") + "." + fields.at(writer + "_attempt") + "." + epoch +
           "]";
  }

  connect::valkey::ValkeyOptions options_;
};

}  // namespace strand::sim
