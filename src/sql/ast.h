// What the parser makes of a text: statements, queries, expressions, each with its place. Immutable once
// parsed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "columnar/type.h"
#include "sql/source_text.h"

namespace strand::sql::ast {

struct Expr;
struct Query;
struct TableRef;
using ExprPtr = std::shared_ptr<const Expr>;
using QueryPtr = std::shared_ptr<const Query>;
using TableRefPtr = std::shared_ptr<const TableRef>;

struct OrderItem {
  ExprPtr expr;
  bool descending = false;
  std::optional<bool> nulls_last = {};
};

/// ROWS or RANGE BETWEEN … AND CURRENT ROW.
struct Frame {
  bool range = false;
  ExprPtr preceding;  // null: UNBOUNDED PRECEDING
  Place place;
};

/// OVER (PARTITION BY … ORDER BY … [frame]), or OVER name.
struct Over {
  std::string window;  // of the WINDOW clause; then the rest is empty
  Place place;
  std::vector<ExprPtr> partition_by;
  std::vector<OrderItem> order_by;
  std::optional<Frame> frame;
};
using OverPtr = std::shared_ptr<const Over>;

/// A function of the user's, in a shared library.
struct OwnFunction {
  std::string name;   // in capitals, as messages call it
  std::string path;   // of the library
  std::string entry;  // in the library
  bool temporary = false;
};

struct Expr {
  enum class Kind : uint8_t {
    kName,     // parts: a.b.c
    kStar,     // parts: the qualifier, if any
    kNumber,   // text
    kString,   // text
    kBytes,    // text: the bytes
    kBoolean,  // number: 0 or 1
    kNull,
    kInterval,  // number: milliseconds or months (type says which); text: as written behind INTERVAL
    kDateTime,  // DATE '…', TIME '…', TIMESTAMP '…': text, and type
    kCall,      // text: function or operator in upper case; args
    kCast,      // args[0], type; text: CAST or TRY_CAST
    kCase,      // args: condition, value, condition, value, …, else (always there)
    kSubquery,  // query; alone: its one value. `x IN (query)` and EXISTS are calls with it as last argument
  };
  Kind kind = Kind::kNull;
  Place place;
  std::string text = {};
  std::vector<std::string> parts = {};
  std::vector<ExprPtr> args = {};
  int64_t number = 0;
  columnar::TypePtr type = nullptr;
  bool distinct = false;  // kCall: f(DISTINCT x)
  OverPtr over = nullptr;
  ExprPtr filter = nullptr;  // kCall: FILTER (WHERE …)
  QueryPtr query = nullptr;  // kSubquery
  std::shared_ptr<const OwnFunction> own =
      nullptr;  // kCall: what it calls; `text` is the name as it was found
};

struct HintOption {
  std::string key;
  std::string value;  // of a list hint: empty
  Place place;
};
struct Hint {
  std::string name;  // upper case
  std::vector<HintOption> options;
  Place place;
};

struct SelectItem {
  ExprPtr expr;
  std::optional<std::string> alias;
};

struct Select {
  std::vector<Hint> hints;
  bool distinct = false;
  std::vector<SelectItem> items;
  TableRefPtr from;  // null: no FROM
  ExprPtr where;
  std::vector<ExprPtr> group_by;
  /// GROUPING SETS, ROLLUP or CUBE: which of `group_by` each set has; empty without them.
  std::vector<std::vector<ExprPtr>> grouping_sets;
  ExprPtr having;
  std::vector<std::pair<std::string, OverPtr>> windows;  // WINDOW name AS (…)
  ExprPtr qualify;
  bool grouped = false;  // there is a GROUP BY clause
};

/// VALUES (…), (…): at least one row, none is empty.
struct Values {
  std::vector<std::vector<ExprPtr>> rows;
};

/// One name of a WITH clause.
struct CommonTable {
  std::string name;
  Place place;
  std::vector<std::string> columns;
  QueryPtr query;
};

/// INTERSECT or EXCEPT, of different rows or (ALL) of all.
struct SetOperation {
  bool intersect = false;
  bool all = false;
  QueryPtr left;
  QueryPtr right;
};

/// LIMIT and OFFSET; FETCH FIRST is a LIMIT.
struct Limit {
  int64_t rows = 0;
  int64_t offset = 0;
  Place place;
};

struct Query {
  Place place;
  /// One SELECT, the branches of UNION ALL, rows, or a set operation.
  std::variant<Select, std::vector<QueryPtr>, Values, SetOperation> body;
  std::vector<CommonTable> with = {};
  std::vector<OrderItem> order_by = {};
  std::optional<Limit> limit = {};
  bool has_tail() const { return !order_by.empty() || limit; }
};

/// A window table function: TUMBLE(TABLE t, DESCRIPTOR(c), size [, offset]), HOP(…, slide, size [, offset]),
/// CUMULATE(…, step, size [, offset]), SESSION(TABLE t [PARTITION BY …], DESCRIPTOR(c), gap).
struct WindowCall {
  std::string function;  // upper case
  TableRefPtr table;
  std::vector<std::pair<std::string, Place>> partition_by;
  std::string column;
  Place column_place;
  std::vector<ExprPtr> intervals;  // in the order above; a missing offset is null or not there
};

/// Two tables side by side. A comma and CROSS JOIN are an inner join without condition.
struct Join {
  enum class Kind : uint8_t { kInner, kLeft, kRight, kFull };
  Kind kind = Kind::kInner;
  TableRefPtr left;
  TableRefPtr right;
  ExprPtr condition;  // of ON; or null
  /// USING: columns that are equal, and one column of the result each; NATURAL: those of equal names.
  std::vector<std::pair<std::string, Place>> common = {};
  bool natural = false;
};

/// table MATCH_RECOGNIZE (…).
struct Match {
  struct Variable {
    std::string name;
    Place place;
    uint32_t min = 1;
    std::optional<uint32_t> max = 1;  // none: any number
    bool reluctant = false;
  };
  struct Definition {
    std::string variable;
    Place place;
    ExprPtr condition;
  };
  enum class Skip : uint8_t { kPastLastRow, kToNextRow, kToFirst, kToLast };
  TableRefPtr table;
  std::vector<ExprPtr> partition_by;
  std::vector<OrderItem> order_by;
  std::vector<SelectItem> measures;
  Skip skip = Skip::kToNextRow;
  std::string skip_to;  // a variable
  Place skip_place;
  std::vector<Variable> pattern;
  ExprPtr within;  // an interval, or null
  std::vector<Definition> definitions;
};

/// UNNEST(collection) [WITH ORDINALITY]: its elements as rows.
struct Unnest {
  ExprPtr collection;
  bool ordinality = false;
};

struct TableRef {
  Place place;
  /// A name, a subquery, a window, a join, elements, a pattern.
  std::variant<std::string, QueryPtr, WindowCall, Join, Unnest, Match> source;
  bool lateral = false;  // a subquery that sees the tables before it
  ExprPtr as_of = {};    // FOR SYSTEM_TIME AS OF; or null
  std::vector<Hint> hints = {};
  std::optional<std::string> alias = {};
  std::vector<std::string> columns = {};
};

struct ColumnDefinition {
  enum class Kind : uint8_t { kPhysical, kComputed, kMetadata };
  Kind kind = Kind::kPhysical;
  std::string name;
  Place place;
  columnar::TypePtr type = nullptr;
  ExprPtr computed = nullptr;
  std::string metadata_key = {};
  bool is_virtual = false;
};

struct Option {
  std::string key;
  std::string value;
  Place place;
};

struct SetStatement {  // without a key: all that are set
  std::string key;
  std::string value;
};
struct ResetStatement {
  std::optional<std::string> key;  // nothing: all
};
/// LIKE table (INCLUDING ALL EXCLUDING WATERMARKS ...): what is taken of another table.
struct TableLike {
  enum class Take : uint8_t { kIncluding, kExcluding, kOverwriting };
  std::string table;
  Place place;
  Take constraints = Take::kIncluding;
  Take generated = Take::kIncluding;
  Take metadata = Take::kIncluding;
  Take watermarks = Take::kIncluding;
  Take options = Take::kOverwriting;
};
struct CreateTable {
  std::string name;
  Place name_place;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
  std::optional<std::string> watermark_column;
  Place watermark_place;
  ExprPtr watermark;
  std::vector<std::string> primary_key;
  Place primary_key_place;
  std::vector<Option> options;
  std::optional<TableLike> like = {};
  QueryPtr query = nullptr;  // AS query: its columns are the table's, its rows go into it
  /// Of AS query: names alone in brackets, which say the order of its columns.
  std::vector<std::pair<std::string, Place>> order = {};
  enum class Replace : uint8_t { kNo, kOld, kOrCreate };  // REPLACE TABLE, CREATE OR REPLACE TABLE
  Replace replace = Replace::kNo;
  bool temporary = false;  // a kept catalog does not keep it
  std::vector<std::pair<std::string, Place>> partitioned_by = {};
};
/// CREATE DATABASE and USE, which only the parser acts on: it gives tables their full names.
struct Database {
  std::string words;
  std::string name;
};
/// ALTER TABLE. kRename: one name, of the table, or two, of a column.
struct AlterTable {
  enum class Kind : uint8_t { kAdd, kModify, kRename, kDrop, kSet, kReset };
  Kind kind = Kind::kAdd;
  std::string name;
  Place name_place;
  Place change_place;
  bool if_exists = false;
  CreateTable elements;                           // what is added, modified or set
  std::vector<std::optional<std::string>> after;  // of its columns: behind this one, "" at the front
  std::vector<std::string> names;
  bool drop_key = false;
  bool drop_watermark = false;
};
struct CreateView {
  std::string name;
  Place name_place;
  bool if_not_exists = false;
  std::vector<std::string> columns;
  QueryPtr query;
  bool temporary = false;
};
struct Drop {
  bool view = false;
  std::string name;
  Place name_place;
  bool if_exists = false;
  bool temporary = false;
};
/// CREATE and ALTER FUNCTION: only the parser acts on the name.
struct CreateFunction {
  std::string words;  // up to the name
  std::string name;   // with what stands in front of it
  Place entry_place;
  OwnFunction function;
};
/// DROP FUNCTION, which only the parser acts on.
struct DropFunction {
  std::string words;
  std::string name;
};
struct Insert {
  std::string table;
  Place table_place;
  std::vector<Hint> hints;
  std::vector<std::pair<std::string, Place>> columns;
  /// PARTITION (name = value, name): a value that all rows get, or null.
  struct Partition {
    std::string name;
    Place place;
    ExprPtr value;
  };
  std::vector<Partition> partition = {};
  QueryPtr query;
  bool deduplicates = false;  // ON CONFLICT DO DEDUPLICATE
  bool keeps_first = false;   // ON CONFLICT DO NOTHING
};
struct StatementSet {
  std::vector<std::pair<Place, Insert>> inserts;
};
struct Print {  // a bare SELECT
  QueryPtr query;
};

/// LIKE or ILIKE behind SHOW.
struct NameFilter {
  std::string pattern;
  bool negated = false;
  bool any_case = false;
};
/// SHOW.
struct Show {
  enum class Kind : uint8_t {
    kCatalogs,
    kCurrentCatalog,
    kDatabases,
    kCurrentDatabase,
    kTables,
    kViews,
    kFunctions,
    kUserFunctions,
    kModules,
    kJars,
    kColumns,
    kCreateTable,
    kCreateView
  };
  Kind kind = Kind::kTables;
  std::string name;  // the table; of kTables and kViews what stands before the names of the database
  Place name_place;
  std::vector<std::string> names = {};  // catalogs, databases and own functions, which only the parser knows
  std::optional<NameFilter> like = {};
};
struct Describe {
  std::string name;
  Place name_place;
};
struct Statement;
/// CREATE CATALOG of a file: the tables and views that stand in it.
struct OpenCatalog {
  std::string name;
  std::string path;
  std::vector<std::shared_ptr<const Statement>> kept;
};
/// EXPLAIN of an INSERT, a statement set or a query.
struct Explain {
  bool json = false;
  std::shared_ptr<const Statement> statement;
};
/// DROP DATABASE: `prefix` stands before the names of its tables.
struct DropDatabase {
  std::string name;
  Place name_place;
  std::string prefix;
  bool cascade = false;
  bool catalog = false;  // its databases with it
};
/// ALTER VIEW: another name, or another query.
struct AlterView {
  std::string name;
  Place name_place;
  std::string new_name = {};
  QueryPtr query = nullptr;
};

struct Statement {
  Place place;
  std::variant<SetStatement, ResetStatement, Database, DropDatabase, OpenCatalog, CreateTable, AlterTable,
               CreateView, AlterView, Drop, CreateFunction, DropFunction, Insert, StatementSet, Print, Show,
               Describe, Explain>
      body;
};

}  // namespace strand::sql::ast
