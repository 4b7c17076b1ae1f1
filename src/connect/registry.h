// Connectors by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"
#include "columnar/type.h"
#include "env/env.h"
#include "flow/lookup.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "obs/events.h"
#include "obs/memory.h"

namespace strand::connect {

/// Whether a query wants the rows of a partition: of its one row, a column for each of `partitions`.
using WantsPartition = std::function<Result<bool>(const columnar::Batch& values)>;

/// What a connector is told about a table that it reads or writes.
struct TableContext {
  std::string job;
  std::string table;
  columnar::SchemaPtr schema;  // the columns to read (in this order), or the columns that are written
  std::map<std::string, std::string> options;
  std::vector<std::string> primary_key;
  std::string writer;  // sinks: the writer's name
  /// Columns of `schema` that are metadata: their keys by position.
  std::map<size_t, std::string> metadata = {};
  columnar::SchemaPtr table_schema;           // all physical columns: sinks create the table, CSV counts them
  bool closed_rows = false;                   // sinks: W4 applies
  bool provisional = false;                   // sinks: F4 applies
  std::vector<std::string> lookup_keys = {};  // lookups: the columns that keys are of
  bool want_bad = false;                      // sources: somebody reads T$bad
  std::vector<std::string> partitions = {};   // PARTITIONED BY
  WantsPartition wants_partition = {};        // sources; empty: all
  std::string zone = "UTC";
  env::Env env;
  obs::EventSink* events = nullptr;
  obs::MemoryAccount* memory = nullptr;
};

/// The duration that an option holds, if it is there. Errors: kBadOption, which names the option.
Result<std::optional<Duration>> duration_option(const TableContext& table, const std::string& key);

/// The text that an option holds, or `otherwise`.
std::string text_option(const TableContext& table, const std::string& key, const std::string& otherwise = "");
/// kBadOption.
Status bad_option(std::string message, std::string hint);

using MakeFinder = std::function<Result<std::unique_ptr<flow::ShardFinder>>(const TableContext&)>;
using MakeReader = std::function<Result<std::unique_ptr<flow::SourceReader>>(const TableContext&)>;
/// Rows of `schema` by `lookup_keys`.
using MakeLookup = std::function<Result<std::unique_ptr<flow::Lookup>>(const TableContext&)>;
using MakeSink = std::function<Result<std::unique_ptr<flow::Sink>>(const TableContext&)>;

/// What a job wants of a table.
enum class TableUse : uint8_t { kRead, kWrite, kLookup };

/// One connector: what it can make (an empty function: it cannot), and the options it knows (`fields.*`: all
/// that begin so).
struct Connector {
  MakeFinder finder;
  MakeReader reader;
  MakeSink sink;
  std::vector<std::string> source_options;
  std::vector<std::string> sink_options;
  /// The metadata that its tables have, by key.
  std::function<std::vector<columnar::Field>(const std::map<std::string, std::string>& options)> metadata =
      {};
  /// The metadata that rows may bring along to its tables, by key.
  std::vector<columnar::Field> written_metadata = {};
  MakeLookup lookup = {};
  /// Whether a table with these options is one to be looked up; empty: each is.
  std::function<bool(const std::map<std::string, std::string>& options)> looks_up = {};
  bool transactional = false;  // rows show when their checkpoint is complete
  bool parallel_sink = false;  // may be written by several subtasks
};

/// The connectors an engine knows. Filled at start, read-only afterwards.
class Registry {
 public:
  void add(std::string name, Connector connector) { connectors_[std::move(name)] = std::move(connector); }
  /// The connector that `options` name. Errors: kUnknownConnector, kUnknownOption (both name the nearest).
  Result<const Connector*> find(const std::map<std::string, std::string>& options, TableUse use) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Connector> connectors_;
};

/// All that there are.
void add_builtin_connectors(Registry& registry);

}  // namespace strand::connect
