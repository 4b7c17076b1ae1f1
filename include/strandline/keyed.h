// Keyed streams: state and timers by key, windows, joins. Included by stream.h.
#pragma once

#include "strandline/stream.h"

namespace strandline {

/// What a window makes, and the elements that came too late for it.
template <class Out, class In>
class WindowResult : public DataStream<Out> {
 public:
  using DataStream<Out>::DataStream;
  DataStream<In> late() const {
    return DataStream<In>(detail::late_output(this->handle(), 0, detail::row_type<In>()));
  }
  WindowResult uid(std::string id) const {
    detail::set_uid(this->handle(), std::move(id));
    return *this;
  }
};
/// The same of a join, by side.
template <class Out, class L, class R>
class JoinResult : public DataStream<Out> {
 public:
  JoinResult(detail::Handle result, detail::Handle join)
      : DataStream<Out>(std::move(result)), join_(std::move(join)) {}
  DataStream<L> late_left() const {
    return DataStream<L>(detail::late_output(join_, 0, detail::row_type<L>()));
  }
  DataStream<R> late_right() const {
    return DataStream<R>(detail::late_output(join_, 1, detail::row_type<R>()));
  }
  JoinResult uid(std::string id) const {
    detail::set_uid(join_, std::move(id));
    return *this;
  }

 private:
  detail::Handle join_;
};

/// Windows over a keyed stream, under construction.
template <class K, class T>
class WindowedDataStream {
 public:
  WindowedDataStream(detail::Handle keyed, WindowAssigner assigner) : keyed_(std::move(keyed)) {
    spec_.kind = "window";
    spec_.inputs = {&detail::row_type<T>()};
    spec_.assigner = assigner;
  }
  WindowedDataStream trigger(Trigger trigger) const {
    return with([&](detail::WindowSpec& spec) { spec.trigger = std::move(trigger); });
  }
  WindowedDataStream trigger(std::shared_ptr<const CustomTrigger<T>> trigger) const {
    return with([&](detail::WindowSpec& spec) { spec.custom_trigger = std::move(trigger); });
  }
  WindowedDataStream evictor(Evictor evictor) const {
    return with([&](detail::WindowSpec& spec) { spec.evictor = evictor; });
  }
  /// The number by which delta triggers and delta evictors compare elements.
  template <class F>
  WindowedDataStream measure(F f) const {
    return with([&](detail::WindowSpec& spec) {
      spec.measure = [f](const void* element) {
        return static_cast<double>(std::invoke(f, *static_cast<const T*>(element)));
      };
    });
  }
  template <class F>
  WindowedDataStream gap_of(F f) const {
    return with([&](detail::WindowSpec& spec) {
      spec.gap_of = [f](const void* element) {
        return int64_t{Millis(std::invoke(f, *static_cast<const T*>(element))).count()};
      };
    });
  }
  /// A late element still counts, and its window tells its result again, until event time is so far behind
  /// the window's end. Then its state goes.
  WindowedDataStream allowed_lateness(Millis lateness) const {
    return with([&](detail::WindowSpec& spec) { spec.allowed_lateness = lateness; });
  }

  /// Folds elements into an accumulator as they come (see AggregateFunction).
  template <AggregateFunction<T> A>
  auto aggregate(A aggregate) const {
    using Out = std::decay_t<decltype(aggregate.get_result(aggregate.create_accumulator()))>;
    return finish<Out>([aggregate] {
      return std::make_unique<detail::AggregateCode<T, A, detail::TellResult<Out>>>(
          aggregate, detail::TellResult<Out>{});
    });
  }
  /// The same, and a window function F<K, result, ...> is given the result as its only element.
  template <class F, AggregateFunction<T> A, class... Args>
  auto aggregate_and_process(A aggregate, Args&&... args) const {
    using Result = std::decay_t<decltype(aggregate.get_result(aggregate.create_accumulator()))>;
    using Tell = detail::TellFunction<F, Result>;
    return finish<typename F::Output>([aggregate, make = detail::maker_of<F>(std::forward<Args>(args)...)] {
      return std::make_unique<detail::AggregateCode<T, A, Tell>>(aggregate, Tell{make()});
    });
  }
  /// f(element, element) folds two into one.
  template <std::invocable<const T&, const T&> F>
  WindowResult<T, T> reduce(F f) const {
    return aggregate(detail::ReduceAggregate<T, F>{f});
  }
  /// Keeps every element; F is a ProcessWindowFunction<K, T, ...>.
  template <class F, class... Args>
  auto process(Args&&... args) const {
    return finish<typename F::Output>([make = detail::maker_of<F>(std::forward<Args>(args)...)] {
      return std::make_unique<detail::ElementsCode<F, T>>(make());
    });
  }

 private:
  template <class Change>
  WindowedDataStream with(Change&& change) const {
    WindowedDataStream changed = *this;
    change(changed.spec_);
    return changed;
  }
  template <class Out, class Make>
  WindowResult<Out, T> finish(Make make) const {
    detail::WindowSpec spec = spec_;
    spec.output = &detail::row_type<Out>();
    spec.make = [make]() -> std::unique_ptr<detail::WindowCode> { return make(); };
    return WindowResult<Out, T>(detail::add_window(std::move(spec), {keyed_}));
  }
  detail::Handle keyed_;
  detail::WindowSpec spec_{};
};

/// Two keyed streams whose elements join when their times are near each other.
template <class K, class L, class R>
class IntervalJoin {
 public:
  IntervalJoin(detail::Handle left, detail::Handle right)
      : left_(std::move(left)), right_(std::move(right)) {}
  /// `lower <= right time - left time <= upper`
  IntervalJoin between(Millis lower, Millis upper) const {
    IntervalJoin changed = *this;
    changed.lower_ = lower;
    changed.upper_ = upper;
    return changed;
  }
  IntervalJoin lower_bound_exclusive() const {
    IntervalJoin changed = *this;
    changed.lower_exclusive_ = true;
    return changed;
  }
  IntervalJoin upper_bound_exclusive() const {
    IntervalJoin changed = *this;
    changed.upper_exclusive_ = true;
    return changed;
  }
  /// f(left, right) for each pair; its timestamp is the later of both.
  template <std::invocable<const L&, const R&> F>
  auto process(F f) const {
    using Out = detail::ResultOf<F, L, R>;
    detail::IntervalJoinSpec spec{&detail::row_type<L>(), &detail::row_type<R>(), &detail::row_type<Out>()};
    spec.lower = lower_.count() + (lower_exclusive_ ? 1 : 0);
    spec.upper = upper_.count() - (upper_exclusive_ ? 1 : 0);
    spec.pair = [f](const void* left, const void* right, detail::Call& call) {
      const Out out = std::invoke(f, *static_cast<const L*>(left), *static_cast<const R*>(right));
      call.emit(&out);
    };
    detail::IntervalJoined joined = detail::add_interval_join(std::move(spec), left_, right_);
    return JoinResult<Out, L, R>(std::move(joined.result), std::move(joined.join));
  }

 private:
  detail::Handle left_;
  detail::Handle right_;
  Millis lower_{0};
  Millis upper_{0};
  bool lower_exclusive_ = false;
  bool upper_exclusive_ = false;
};

/// A stream whose elements meet by key.
template <class K, class T>
class KeyedDataStream {
 public:
  explicit KeyedDataStream(detail::Handle handle) : handle_(std::move(handle)) {}

  /// F is a KeyedProcessFunction<K, T, ...>, made for each subtask with these arguments.
  template <class F, class... Args>
    requires std::derived_from<F, KeyedProcessFunction<K, T, typename F::Output>>
  DataStream<typename F::Output> process(Args&&... args) const {
    using Code = detail::WithTimers<detail::OneInputCode<F, KeyedContext<K>, T>, F, K>;
    return DataStream<typename F::Output>(
        detail::add_function({.kind = "process",
                              .inputs = {&detail::row_type<T>()},
                              .output = &detail::row_type<typename F::Output>(),
                              .keyed = true,
                              .make = detail::code_of<Code, F>(std::forward<Args>(args)...)},
                             {handle_}));
  }
  WindowedDataStream<K, T> window(WindowAssigner assigner) const { return {handle_, assigner}; }
  template <class F>
  WindowedDataStream<K, T> window(DynamicGap<F> gap) const {
    return WindowedDataStream<K, T>(handle_,
                                    {.kind = WindowAssigner::Kind::kSession, .event_time = gap.event_time})
        .gap_of(gap.gap_of);
  }
  /// Each `count` elements of a key.
  WindowedDataStream<K, T> count_window(int64_t count) const {
    return window(GlobalWindows::create()).trigger(PurgingTrigger::of(CountTrigger::of(count)));
  }
  template <class U>
  IntervalJoin<K, T, U> interval_join(const KeyedDataStream<K, U>& other) const {
    return {handle_, other.handle()};
  }
  template <class U>
  auto connect(const KeyedDataStream<K, U>& other) const;
  template <class B>
  auto connect(const BroadcastStream<B>& other) const;
  template <class U>
  auto join(const KeyedDataStream<K, U>& other) const;
  template <class U>
  auto co_group(const KeyedDataStream<K, U>& other) const {
    return join(other);
  }
  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

}  // namespace strandline
