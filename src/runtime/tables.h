// From the tables of a plan to what reads and writes them.
#pragma once

#include <memory>
#include <string>

#include "connect/registry.h"
#include "plan/plan.h"

namespace strand::runtime {

/// What connectors are given beside the table.
struct TableHost {
  std::string job;
  std::string zone = "UTC";
  env::Env env;
  obs::EventSink* events = nullptr;
  obs::MemoryAccount* memory = nullptr;
};

/// Makes readers and sinks. Making one asks no store and touches no file: what is refused here is refused
/// because of the table's declaration alone, so whoever checks a job without running it makes them too and
/// gets the answer of a run. Immutable; the registry must outlive it.
class Tables {
 public:
  Tables(const connect::Registry& registry, TableHost host) : registry_(registry), host_(std::move(host)) {}

  /// `want_bad`: somebody reads T$bad.
  Result<std::unique_ptr<flow::ShardFinder>> finder(const plan::Scan& scan, bool want_bad) const;
  Result<std::unique_ptr<flow::SourceReader>> reader(const plan::Scan& scan, bool want_bad) const;
  Result<std::unique_ptr<flow::Sink>> sink(const plan::SinkWrite& write) const;

  /// Finds rows of the table by the join's keys; they have the columns that it reads.
  Result<std::unique_ptr<flow::Lookup>> lookup(const plan::LookupJoin& join) const;

  /// The metadata columns that the table may declare, by key.
  std::vector<columnar::Field> metadata(const plan::TableSpec& table) const;
  /// Those of them that a writer may set.
  std::vector<columnar::Field> written_metadata(const plan::TableSpec& table) const;
  /// Whether the three above would succeed. An error has no place yet.
  Status check_read(const plan::TableSpec& table) const;
  Status check_write(const plan::SinkWrite& write) const;
  Status check_lookup(const plan::LookupJoin& join) const;
  /// Whether the table's connector finds rows by key.
  bool can_look_up(const plan::TableSpec& table) const;

 private:
  connect::TableContext context(const plan::TableSpec& table) const;
  connect::TableContext context(const plan::Scan& scan, bool want_bad) const;
  connect::TableContext context(const plan::SinkWrite& write) const;
  connect::TableContext context(const plan::LookupJoin& join) const;
  const connect::Registry& registry_;
  TableHost host_;
};

}  // namespace strand::runtime
