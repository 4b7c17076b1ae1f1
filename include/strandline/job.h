// A job built in C++, DataStream-like. It becomes the same plan as a SQL file and runs on the same operators.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strandline/batch.h"
#include "strandline/detail/build.h"
#include "strandline/expression.h"

namespace strandline {

/// A table outside: its columns and the options of its connector, as in CREATE TABLE ... WITH.
struct Table {
  std::string name;
  std::vector<Column> columns;
  std::map<std::string, std::string> options;
  std::vector<std::string> primary_key = {};
};

/// How event time is read from a source. The watermark is `highest event time - bound - 1 ms`, as in Flink's
/// DataStream API: an event exactly the bound late is still on time.
struct EventTime {
  std::string column;  // of the source's output, TIMESTAMP or TIMESTAMP_LTZ
  Millis bound{0};
  std::optional<Millis> idle_timeout = std::nullopt;
};

struct Aggregate {
  enum class Kind { kCountAll, kCount, kSum, kMin, kMax, kAvg } kind;
  std::string column;  // empty for kCountAll
  std::string name;
};
inline Aggregate count_all(std::string name) { return {Aggregate::Kind::kCountAll, {}, std::move(name)}; }
inline Aggregate count(std::string column, std::string name) {
  return {Aggregate::Kind::kCount, std::move(column), std::move(name)};
}
inline Aggregate sum(std::string column, std::string name) {
  return {Aggregate::Kind::kSum, std::move(column), std::move(name)};
}
inline Aggregate min(std::string column, std::string name) {
  return {Aggregate::Kind::kMin, std::move(column), std::move(name)};
}
inline Aggregate max(std::string column, std::string name) {
  return {Aggregate::Kind::kMax, std::move(column), std::move(name)};
}
inline Aggregate avg(std::string column, std::string name) {
  return {Aggregate::Kind::kAvg, std::move(column), std::move(name)};
}

/// State of a key goes when event time reaches `column` + `after`.
struct Retention {
  std::string column;
  Millis after{0};
};

struct Tumbling {
  Millis size{0};
  Millis offset{0};
};

class KeyedStream;
class WindowedStream;
template <class T>
class DataStream;
template <class T>
class WatermarkStrategy;

/// A stream of rows. A handle: copies name the same stream.
class Stream {
 public:
  explicit Stream(detail::Handle handle)
      : job_(std::move(handle.job)), node_(std::move(handle.node)), port_(handle.port) {}
  /// The rows as elements of a C++ type, whose fields are read from the columns of their names
  /// (strandline/stream.h).
  template <class T>
  DataStream<T> as() const;
  Stream filter(Expression condition) const;
  /// Exactly these columns.
  Stream select(std::vector<Expression> columns) const;
  Stream union_all(const Stream& other) const;
  KeyedStream key_by(std::vector<std::string> columns) const;
  /// Pins the id that savepoints know the operator by, and its name for people.
  Stream uid(std::string id) const;
  /// Records that did not parse. Only of a source.
  Stream bad() const;
  /// Copies that a deduplication dropped. Only of a deduplication.
  Stream duplicates() const;
  /// Rows too late for their window. Only of a window.
  Stream late() const;
  /// Writes the columns into those of the same names. `writer` names the share of the table that this stream
  /// owns.
  void write(Table table, std::string writer) const;
  /// Gives the rows to `take`, a batch at a time, on a thread of the job; `name` is the sink's. Rows show at
  /// once, so after a crash those since the last checkpoint come again. `take` must not block for long: the
  /// job waits for it.
  void take(std::string name, TakeBatch take) const;
  detail::Handle handle() const { return {job_, node_, port_}; }

 private:
  friend class Job;
  friend class KeyedStream;
  friend class WindowedStream;
  Stream(std::shared_ptr<detail::JobState> job, std::shared_ptr<detail::StreamNode> node, int port)
      : job_(std::move(job)), node_(std::move(node)), port_(port) {}
  std::shared_ptr<detail::JobState> job_;
  std::shared_ptr<detail::StreamNode> node_;
  int port_ = 0;
};

/// A stream whose rows meet by key.
class KeyedStream {
 public:
  /// The first row of each key, in order of arrival.
  Stream deduplicate(std::optional<Retention> retention = std::nullopt) const;
  WindowedStream window(Tumbling window) const;
  /// Totals without window: an update for each change.
  Stream total(std::vector<Aggregate> aggregates, std::optional<Retention> retention = std::nullopt) const;

 private:
  friend class Stream;
  friend class WindowedStream;
  KeyedStream(Stream stream, std::vector<std::string> keys)
      : stream_(std::move(stream)), keys_(std::move(keys)) {}
  Stream stream_;
  std::vector<std::string> keys_;
};

/// Windows of a keyed stream, not aggregated yet.
class WindowedStream {
 public:
  /// Partial sums are made before rows are exchanged by key, for at most so long.
  WindowedStream pre_aggregate(Millis at_most) const;
  /// Totals of open windows come out of `early()` of the result, each `delay` of wall clock, where they
  /// changed.
  WindowedStream early_firing(Millis delay) const;
  /// Columns: keys, window_start, window_end, window_time, aggregates; one row for each key and window, when
  /// event time has passed the window's end.
  struct Result {
    Stream closed;
    Stream late;
    Stream early;
  };
  Result aggregate(std::vector<Aggregate> aggregates) const;

 private:
  friend class KeyedStream;
  WindowedStream(KeyedStream keyed, Tumbling window) : keyed_(std::move(keyed)), window_(window) {}
  KeyedStream keyed_;
  Tumbling window_;
  std::optional<Millis> pre_aggregate_;
  std::optional<Millis> early_;
};

/// A job under construction. Errors (unknown columns, types that do not fit) are kept and told by `error`.
class Job {
 public:
  explicit Job(std::string name);
  Job& set(const std::string& key, std::string value);
  /// A source: `columns` are computed from those of the table; `event_time` names one of them.
  Stream source(Table table, std::vector<Expression> columns,
                std::optional<EventTime> event_time = std::nullopt);
  /// A source of elements, whose event time is made by the strategy: a generator for each shard, next to the
  /// reader, and the lowest of those that are not idle (strandline/stream.h).
  template <class T>
  DataStream<T> source(Table table, std::vector<Expression> columns, const WatermarkStrategy<T>& strategy);
  /// The first error, or empty.
  std::string error() const;
  const std::shared_ptr<detail::JobState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::JobState> state_;
};

/// Runs the job like `strandline run`: restores the newest checkpoint, ends with the input or with a signal.
/// `argv` may hold the options of that command (--state, --set, --from). Returns its exit code.
int run(Job& job, int argc, char** argv);

}  // namespace strandline
