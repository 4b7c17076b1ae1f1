// What a simulated store holds, and its rules: no faults, no connections.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connect/table/history.h"
#include "connect/table/rules.h"
#include "connect/table/store.h"
#include "connect/table/transaction_store.h"

namespace strand::sim {

namespace table = connect::table;

/// Values as text, as columnar prints them; nothing: NULL.
using SimValues = std::vector<std::optional<std::string>>;

/// The whole number that a value is, nothing where it is none.
std::optional<int64_t> number_in(std::string_view value);

/// A request as it travels: with the conditions of its sender, who may be dead when it arrives.
struct SimRequest {
  table::Request request;
  std::vector<std::optional<int64_t>> added;  // where values are not absolute (W1 taken away): what it adds
};
struct SimSender {
  table::WriterSpec spec;
  table::WriterClaim claim;
  table::RestoreHistory history;
};

/// The tables, markers and attempt rows. Every call is atomic. Rows and tags survive everything.
class SimTables {
 public:
  /// `attempt_rows`: transactions over two rows are possible, so that requests of the dead fail (W6).
  SimTables(const table::Rules& rules, bool attempt_rows) : rules_(rules), attempt_rows_(attempt_rows) {}

  struct Cell {
    std::vector<std::string> columns;
    SimValues values;
    flow::WriteTag tag;
    bool gone =
        false;  // deleted by the job: the tag stays, because a copy of an older write may still arrive
  };
  struct Row {
    std::string name;  // the key as text
    std::map<std::string, Cell> writers;
    int64_t job_gen = 0;
  };
  using Table = std::map<std::string, Row>;  // by encoded key

  Status open(const table::WriterSpec& spec);
  Status claim(const SimSender& sender);
  Result<std::vector<table::Answer>> apply(const SimSender& sender, const std::vector<SimRequest>& requests);
  table::Listing list(const SimSender& sender, Epoch low, Epoch high) const;

  Status claim_sink(const table::WriterSpec& spec, Generation generation, Attempt attempt);
  std::vector<table::Marker> markers(const table::WriterSpec& spec) const;
  Result<table::CommitOutcome> commit(const table::WriterSpec& spec, const table::Commit& commit);

  /// The rows of a table that some writer has columns in.
  Table rows(const std::string& table) const;
  /// Rows that were added to a table without key, in the order of their commits.
  std::vector<std::string> added(const std::string& table) const;

 private:
  using Owner = std::pair<Generation, Attempt>;
  table::Answer apply_one(const SimSender& sender, const SimRequest& request);
  table::Answer apply_if_unchanged(const SimSender& sender, const table::Request& request);
  bool finished(const SimSender& sender, const flow::WriteTag& stored, const flow::WriteTag& mine) const;
  void put(const SimSender& sender, const SimRequest& request);
  void remove(const SimSender& sender, const table::Request& request);
  Status fenced(const std::string& what) const;

  const table::Rules rules_;
  const bool attempt_rows_;
  std::map<std::string, Table> tables_;
  std::map<std::string, std::vector<std::string>> added_;
  std::map<std::pair<std::string, std::string>, std::string> writers_;  // (table, writer) -> job
  std::map<std::pair<std::string, std::string>, Epoch> deletes_;        // (table, writer) -> highest
  std::map<std::pair<std::string, Generation>, Attempt> attempts_;      // (job, g) -> a
  std::map<std::string, Owner> owners_;                                 // sink -> owner
  std::map<std::string, std::map<int32_t, table::Marker>> markers_;     // sink -> subtask -> marker
};

}  // namespace strand::sim
