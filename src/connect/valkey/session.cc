#include "connect/valkey/session.h"

#include <charconv>

#include "connect/valkey/scripts.h"

namespace strand::connect::valkey {

namespace {

Status unfit(std::string message, std::string hint, const std::string& where) {
  return Status(ErrorCode::kBadOption, std::move(message)).at(where).hint(std::move(hint));
}

/// Redis 7.2 and every Valkey, which says 7.2 for its clients' sake.
bool has_waitaof(std::string_view version) {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ptr < end) std::from_chars(first.ptr + 1, end, minor);
  return major > 7 || (major == 7 && minor >= 2);
}

}  // namespace

Status Session::connect() {
  if (client_ && !client_->broken()) return Status();
  client_.reset();
  STRAND_TRY(auto client, Client::open(options_));
  STRAND_OK(check_server(*client));
  STRAND_TRY(const std::string server, client->info("server", "run_id"));
  STRAND_TRY(const Reply id, client->call({"CLIENT", "ID"}));
  std::string key = "strandline:session:" + server + ":" + std::to_string(id.integer());
  const auto begun = client->call({"EVAL", std::string(kBeginSession), "0", key, key_});
  if (!begun.ok()) return begun.status();
  key_ = std::move(key);
  client_ = std::move(client);
  return Status();
}

Status Session::check_server(Client& client) {
  STRAND_TRY(const std::string cluster, client.info("cluster", "cluster_enabled"));
  if (cluster == "1") {
    return unfit("'url' names a node of a cluster, whose keys lie on several servers",
                 "name a server that holds all keys: one script writes several of them", where());
  }
  STRAND_TRY(const std::string policy, client.info("memory", "maxmemory_policy"));
  if (policy.starts_with("allkeys")) {
    return unfit(
        "'url' names a server that removes any key when its memory is full (maxmemory-policy " + policy + ")",
        "set maxmemory-policy noeviction on the server", where());
  }
  return check_durability(client);
}

Status Session::check_durability(Client& client) {
  waits_for_disk_ = false;
  if (options_.durability == Durability::kMemory) return Status();
  STRAND_TRY(const std::string appends, client.info("persistence", "aof_enabled"));
  if (appends != "1") {
    return unfit(
        "'strand.durability' asks for more than the server gives: it keeps no append-only file",
        "set appendonly yes on the server; or 'strand.durability' = 'memory', if what is lost when it "
        "ends may be lost",
        where());
  }
  if (options_.durability == Durability::kServer) return Status();
  STRAND_TRY(const std::string version, client.info("server", "redis_version"));
  waits_for_disk_ = has_waitaof(version);
  if (waits_for_disk_) return Status();
  const auto always = client.call({"CONFIG", "GET", "appendfsync"});
  if (client.broken()) return always.status();
  if (always.ok() && always->size() == 2 && (*always)[1].text() == "always") return Status();
  return unfit("'strand.durability' asks for more than the server gives: version " + version +
                   " cannot say when a write is on disk, and appendfsync is not 'always'",
               "set appendfsync always on the server, or take Valkey or Redis 7.2; or 'strand.durability' = "
               "'server', if a power loss may lose the last second",
               where());
}

Result<Reply> Session::call(const Command& command) {
  STRAND_OK(connect());
  return client_->call(command);
}

Result<Reply> Session::run(std::string_view script, Command arguments) {
  arguments.insert(arguments.begin(), {"EVAL", std::string(script), "0"});
  return call(arguments);
}

Result<Reply> Session::write(std::string_view script, Command arguments) {
  STRAND_OK(connect());
  arguments.insert(arguments.begin(), {"EVAL", std::string(script), "0", key_});
  std::vector<Command> commands = {std::move(arguments)};
  if (waits_for_disk_)
    commands.push_back({"WAITAOF", "1", "0", std::to_string(options_.request_timeout.millis * 9 / 10)});
  STRAND_TRY(auto replies, client_->call_all(commands));
  const bool gone = replies[0].text() == "session";
  const bool on_disk = !waits_for_disk_ || (replies[1].size() > 0 && replies[1][0].integer() >= 1);
  if (!gone && on_disk) return std::move(replies[0]);
  client_.reset();
  return Status(ErrorCode::kSinkUnavailable, gone ? "the server no longer knows the connection"
                                                  : "the server did not write to its disk in time")
      .at(where())
      .hint("the write is repeated by itself");
}

}  // namespace strand::connect::valkey
