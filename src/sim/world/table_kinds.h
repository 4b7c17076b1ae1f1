// What kinds of random jobs over tables have in common, and those in files of their own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/store/sim_tables.h"
#include "sim/world/clicks.h"

namespace strand::sim {

/// The rows of a table: the key's columns, and the others, each joined by a space.
using TableRows = std::map<std::string, std::string>;
using Clicks = std::vector<const ClickLine*>;

/// What a seed draws.
struct TableShape {
  int64_t back;   // ms
  int64_t ahead;  // ms
  bool log;
  bool parallel;
  bool outer;
  bool last;
  int64_t dear;  // clicks that cost more are dear: about one of 25
};

/// A kind of job: the table it writes, what it selects, and what must come out.
struct TableKind {
  const char* name;
  const char* columns;
  bool timed;  // the result depends on what is late
  std::string (*select)(const TableShape&);
  TableRows (*recount)(const Clicks&, const TableShape&);
  bool ordered = false;  // the result depends on the order of an ad's clicks: no two are of one instant
  const char* conflict = " ON CONFLICT DO DEDUPLICATE";
};

/// The even clicks of ads that have a dear odd one, or have none: IN and NOT EXISTS.
extern const TableKind kSemiJoin;
extern const TableKind kAntiJoin;
/// Each even click, the cheaper ones behind it, and the first that costs as much.
extern const TableKind kPattern;

/// The lines that can be read.
Clicks good_clicks(const ClickInput& input);
std::map<std::string, Clicks> by_ad(const Clicks& clicks);
inline bool even(const ClickLine& click) { return click.spend % 2 == 0; }
/// The rows of the table `result`.
TableRows result_rows(const SimTables& store);
/// What differs between the rows that were found and the recount.
std::vector<std::string> differing_rows(const TableRows& recount, TableRows found);

}  // namespace strand::sim
