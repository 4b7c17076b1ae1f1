// Typed streams, DataStream-like. Names are Flink's, in snake case.
#pragma once

#include <concepts>

#include "strandline/detail/build.h"
#include "strandline/job.h"

namespace strandline {

template <class K, class T>
class KeyedDataStream;
template <class K, class T>
class WindowedDataStream;
template <class L, class R>
class ConnectedStreams;
template <class L, class R>
class JoinedStreams;
template <class T>
class BroadcastStream;

namespace detail {
/// What gives the result of f over an element; a pointer to a member is such an f.
template <class F, class... In>
using ResultOf = std::decay_t<std::invoke_result_t<F&, const In&...>>;

template <class F, class... Args>
auto maker_of(Args&&... args) {
  return [stored = std::make_tuple(std::decay_t<Args>(std::forward<Args>(args))...)] {
    return std::apply([](const auto&... each) { return std::make_unique<F>(each...); }, stored);
  };
}
template <class Code, class F, class... Args>
MakeFunction code_of(Args&&... args) {
  return [make = maker_of<F>(std::forward<Args>(args)...)]() -> std::unique_ptr<FunctionCode> {
    return std::make_unique<Code>(make());
  };
}

template <class In, class Out, class F>
class EachElement final : public ProcessFunction<In, Out> {
 public:
  explicit EachElement(F f) : f_(std::move(f)) {}
  void process_element(const In& element, Context&, Collector<Out>& out) override { f_(element, out); }

 private:
  F f_;
};
template <class L, class R, class Out, class F, class G>
class EachOfTwo final : public CoProcessFunction<L, R, Out> {
 public:
  EachOfTwo(F left, G right) : left_(std::move(left)), right_(std::move(right)) {}
  void process_element1(const L& element, Context&, Collector<Out>& out) override {
    out.collect(std::invoke(left_, element));
  }
  void process_element2(const R& element, Context&, Collector<Out>& out) override {
    out.collect(std::invoke(right_, element));
  }

 private:
  F left_;
  G right_;
};
}  // namespace detail

/// A table whose columns are those of an element type.
template <class T>
Table table_of(std::string name, std::map<std::string, std::string> options,
               std::vector<std::string> primary_key = {}) {
  return {std::move(name), detail::row_type<T>().columns, std::move(options), std::move(primary_key)};
}

/// A stream of elements of a C++ type, each with a timestamp or without. A handle: copies name the same
/// stream.
template <class T>
class DataStream {
 public:
  using Element = T;
  explicit DataStream(detail::Handle handle) : handle_(std::move(handle)) {}

  /// f(element) instead of the element.
  template <class F>
  auto map(F f) const {
    using Out = detail::ResultOf<F, T>;
    return each<Out>("map",
                     [f](const T& element, Collector<Out>& out) { out.collect(std::invoke(f, element)); });
  }
  template <std::predicate<const T&> F>
  DataStream filter(F f) const {
    return DataStream(detail::add_filter(handle_, detail::row_type<T>(), [f](const void* element) {
      return std::invoke(f, *static_cast<const T*>(element));
    }));
  }
  /// f(element, out) collects any number of elements.
  template <class Out, std::invocable<const T&, Collector<Out>&> F>
  DataStream<Out> flat_map(F f) const {
    return each<Out>("flat map", f);
  }
  /// A function of one's own, made for each subtask with these arguments.
  template <class F, class... Args>
    requires std::derived_from<F, ProcessFunction<T, typename F::Output>>
  DataStream<typename F::Output> process(Args&&... args) const {
    return function<typename F::Output>(
        "process", detail::code_of<detail::OneInputCode<F, Context, T>, F>(std::forward<Args>(args)...));
  }
  /// Of a function: what it gives to context.output(tag, ...).
  template <class U>
  DataStream<U> side_output(const OutputTag<U>& tag) const {
    return DataStream<U>(detail::side_output(handle_, tag.name, detail::row_type<U>()));
  }

  /// Elements with equal keys meet. `key_of`: a member (`&Click::user`), or any function of the element.
  template <class F>
  auto key_by(F key_of) const {
    using K = detail::ResultOf<F, T>;
    static_assert(Storable<K>, "a key needs a Codec");
    return KeyedDataStream<K, T>(
        detail::add_key_by(handle_, detail::row_type<T>(), [key_of](const void* element, std::string& bytes) {
          const K key = std::invoke(key_of, *static_cast<const T*>(element));
          Codec<K>::encode(key, bytes);
          return detail::key_hash(key);
        }));
  }
  template <class... Others>
    requires(std::same_as<Others, DataStream> && ...)
  DataStream union_with(const Others&... others) const {
    return DataStream(detail::add_union(detail::row_type<T>(), {handle_, others.handle()...}));
  }
  template <class U>
  ConnectedStreams<T, U> connect(const DataStream<U>& other) const {
    return {*this, other};
  }
  /// Every subtask of the reader sees every element.
  BroadcastStream<T> broadcast() const { return BroadcastStream<T>(handle_); }
  template <class B>
  auto connect(const BroadcastStream<B>& other) const;
  /// `left.join(right).where(key of left).equal_to(key of right).window(…).apply(f)`
  template <class U>
  JoinedStreams<T, U> join(const DataStream<U>& other) const {
    return {*this, other};
  }
  template <class U>
  JoinedStreams<T, U> co_group(const DataStream<U>& other) const {
    return {*this, other};
  }

  /// Elements get new timestamps, and event time is made of them anew.
  DataStream assign_timestamps_and_watermarks(const WatermarkStrategy<T>& strategy) const {
    return DataStream(detail::add_watermarks(handle_, detail::row_type<T>(), strategy.spec()));
  }

  /// Pins the id that savepoints know the operator by, and its name for people.
  DataStream uid(std::string id) const {
    detail::set_uid(handle_, std::move(id));
    return *this;
  }

  /// As rows: the columns of the elements and, under a name of your choice, their timestamps (the event
  /// time).
  Stream rows(const std::string& time_column = {}) const {
    return Stream(detail::rows_of(handle_, detail::row_type<T>(), time_column));
  }
  /// Into the columns of the same names. `writer` names the share of the table that this stream owns.
  void write(Table table, std::string writer) const { rows().write(std::move(table), std::move(writer)); }
  /// Gives each element to `f`, on a thread of the job; `name` is the sink's. After a crash those since the
  /// last checkpoint come again.
  template <std::invocable<const T&> F>
  void for_each(std::string name, F f) const {
    detail::take_elements(handle_, detail::row_type<T>(), std::move(name),
                          [f](const void* element) { f(*static_cast<const T*>(element)); });
  }
  const detail::Handle& handle() const { return handle_; }

 private:
  template <class Out>
  DataStream<Out> function(std::string kind, detail::MakeFunction make) const {
    return DataStream<Out>(detail::add_function({.kind = std::move(kind),
                                                 .inputs = {&detail::row_type<T>()},
                                                 .output = &detail::row_type<Out>(),
                                                 .make = make},
                                                {handle_}));
  }
  template <class Out, class F>
  DataStream<Out> each(std::string kind, F f) const {
    using Each = detail::EachElement<T, Out, F>;
    return function<Out>(std::move(kind), detail::code_of<detail::OneInputCode<Each, Context, T>, Each>(f));
  }
  detail::Handle handle_;
};

/// A stream that every subtask of its reader sees whole.
template <class T>
class BroadcastStream {
 public:
  explicit BroadcastStream(detail::Handle handle) : handle_(std::move(handle)) {}
  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

template <class T>
DataStream<T> Job::source(Table table, std::vector<Expression> columns,
                          const WatermarkStrategy<T>& strategy) {
  return source(std::move(table), std::move(columns))
      .template as<T>()
      .assign_timestamps_and_watermarks(strategy.per_shard());
}

template <class T>
DataStream<T> Stream::as() const {
  return DataStream<T>(detail::elements_of(handle(), detail::row_type<T>()));
}

}  // namespace strandline

#include "strandline/connected.h"
#include "strandline/keyed.h"
