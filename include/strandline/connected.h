// Two streams that one operator reads. Included by stream.h.
#pragma once

#include "strandline/keyed.h"

namespace strandline {

/// Two streams without keys.
template <class L, class R>
class ConnectedStreams {
 public:
  ConnectedStreams(const DataStream<L>& left, const DataStream<R>& right) : left_(left), right_(right) {}
  /// f(left element) and g(right element) give the same type.
  template <class F, class G>
  auto map(F f, G g) const {
    using Out = detail::ResultOf<F, L>;
    static_assert(std::same_as<Out, detail::ResultOf<G, R>>);
    using Each = detail::EachOfTwo<L, R, Out, F, G>;
    return process<Each>(std::move(f), std::move(g));
  }
  /// F is a CoProcessFunction<L, R, ...>.
  template <class F, class... Args>
    requires std::derived_from<F, CoProcessFunction<L, R, typename F::Output>>
  DataStream<typename F::Output> process(Args&&... args) const {
    using Code = detail::TwoInputCode<F, Context, L, R, false>;
    return DataStream<typename F::Output>(
        detail::add_function({.kind = "co-process",
                              .inputs = {&detail::row_type<L>(), &detail::row_type<R>()},
                              .output = &detail::row_type<typename F::Output>(),
                              .make = detail::code_of<Code, F>(std::forward<Args>(args)...)},
                             {left_.handle(), right_.handle()}));
  }
  template <class F, class G>
  auto key_by(F left_key, G right_key) const {
    return left_.key_by(std::move(left_key)).connect(right_.key_by(std::move(right_key)));
  }

 private:
  DataStream<L> left_;
  DataStream<R> right_;
};

/// Two keyed streams that share keys.
template <class K, class L, class R>
class KeyedConnectedStreams {
 public:
  KeyedConnectedStreams(detail::Handle left, detail::Handle right)
      : left_(std::move(left)), right_(std::move(right)) {}
  /// F is a KeyedCoProcessFunction<K, L, R, ...>.
  template <class F, class... Args>
    requires std::derived_from<F, KeyedCoProcessFunction<K, L, R, typename F::Output>>
  DataStream<typename F::Output> process(Args&&... args) const {
    using Code = detail::WithTimers<detail::TwoInputCode<F, KeyedContext<K>, L, R, false>, F, K>;
    return DataStream<typename F::Output>(
        detail::add_function({.kind = "co-process",
                              .inputs = {&detail::row_type<L>(), &detail::row_type<R>()},
                              .output = &detail::row_type<typename F::Output>(),
                              .keyed = true,
                              .make = detail::code_of<Code, F>(std::forward<Args>(args)...)},
                             {left_, right_}));
  }

 private:
  detail::Handle left_;
  detail::Handle right_;
};

/// A stream, keyed or not, and one that is broadcast to its subtasks.
template <class K, class T, class B>
class BroadcastConnectedStream {
 public:
  BroadcastConnectedStream(detail::Handle left, detail::Handle right)
      : left_(std::move(left)), right_(std::move(right)) {}
  /// F is a KeyedBroadcastProcessFunction<K, T, B, ...>, or without keys (K is void) a
  /// BroadcastProcessFunction.
  template <class F, class... Args>
  DataStream<typename F::Output> process(Args&&... args) const {
    return DataStream<typename F::Output>(
        detail::add_function({.kind = "broadcast-process",
                              .inputs = {&detail::row_type<T>(), &detail::row_type<B>()},
                              .output = &detail::row_type<typename F::Output>(),
                              .keyed = !std::is_void_v<K>,
                              .broadcast = true,
                              .make = make<F>(std::forward<Args>(args)...)},
                             {left_, right_}));
  }

 private:
  template <class F, class... Args>
  static detail::MakeFunction make(Args&&... args) {
    using Out = typename F::Output;
    if constexpr (std::is_void_v<K>) {
      static_assert(std::derived_from<F, BroadcastProcessFunction<T, B, Out>>);
      return detail::code_of<detail::TwoInputCode<F, Context, T, B, true>, F>(std::forward<Args>(args)...);
    } else {
      static_assert(std::derived_from<F, KeyedBroadcastProcessFunction<K, T, B, Out>>);
      using Code = detail::WithTimers<detail::TwoInputCode<F, KeyedContext<K>, T, B, true>, F, K>;
      return detail::code_of<Code, F>(std::forward<Args>(args)...);
    }
  }
  detail::Handle left_;
  detail::Handle right_;
};

/// Two keyed streams in windows, under construction: one lateness, one trigger for both sides.
template <class K, class L, class R>
class JoinedWindows {
 public:
  JoinedWindows(detail::Handle left, detail::Handle right, WindowAssigner assigner)
      : left_(std::move(left)), right_(std::move(right)) {
    spec_.inputs = {&detail::row_type<L>(), &detail::row_type<R>()};
    spec_.assigner = assigner;
  }
  JoinedWindows trigger(Trigger trigger) const {
    JoinedWindows changed = *this;
    changed.spec_.trigger = std::move(trigger);
    return changed;
  }
  JoinedWindows evictor(Evictor evictor) const {
    JoinedWindows changed = *this;
    changed.spec_.evictor = evictor;
    return changed;
  }
  JoinedWindows allowed_lateness(Millis lateness) const {
    JoinedWindows changed = *this;
    changed.spec_.allowed_lateness = lateness;
    return changed;
  }
  /// f(left, right) for each pair of a window when it fires.
  template <std::invocable<const L&, const R&> F>
  auto apply(F f) const {
    using Out = detail::ResultOf<F, L, R>;
    return finish<Out>("window join", [f](WindowContext<K>&, const std::vector<L>& left,
                                          const std::vector<R>& right, Collector<Out>& out) {
      for (const L& l : left) {
        for (const R& r : right) out.collect(std::invoke(f, l, r));
      }
    });
  }
  /// f(context, left elements, right elements, out) once a firing; either side may be empty.
  template <class Out, class F>
    requires std::invocable<F, WindowContext<K>&, const std::vector<L>&, const std::vector<R>&,
                            Collector<Out>&>
  auto apply_groups(F f) const {
    return finish<Out>("co-group", f);
  }

 private:
  template <class Out, class F>
  JoinResult<Out, L, R> finish(std::string kind, F f) const {
    detail::WindowSpec spec = spec_;
    spec.kind = std::move(kind);
    spec.output = &detail::row_type<Out>();
    spec.make = [f]() -> std::unique_ptr<detail::WindowCode> {
      return std::make_unique<detail::CoGroupCode<K, L, R, Out, F>>(f);
    };
    const detail::Handle joined = detail::add_window(std::move(spec), {left_, right_});
    return JoinResult<Out, L, R>(joined, joined);
  }
  detail::Handle left_;
  detail::Handle right_;
  detail::WindowSpec spec_{};
};

template <class K, class L, class R>
class JoinedKeys {
 public:
  JoinedKeys(detail::Handle left, detail::Handle right) : left_(std::move(left)), right_(std::move(right)) {}
  JoinedWindows<K, L, R> window(WindowAssigner assigner) const { return {left_, right_, assigner}; }

 private:
  detail::Handle left_;
  detail::Handle right_;
};

/// Flink's way to write a join of two streams: where, equal_to, window, apply.
template <class L, class R>
class JoinedStreams {
 public:
  JoinedStreams(const DataStream<L>& left, const DataStream<R>& right) : left_(left), right_(right) {}
  template <class F>
  auto where(F left_key) const {
    return Where<F>{*this, std::move(left_key)};
  }

 private:
  template <class F>
  struct Where {
    JoinedStreams streams;
    F left_key;
    template <class G>
    auto equal_to(G right_key) const {
      return streams.left_.key_by(left_key).join(streams.right_.key_by(std::move(right_key)));
    }
  };
  DataStream<L> left_;
  DataStream<R> right_;
};

template <class T>
template <class B>
auto DataStream<T>::connect(const BroadcastStream<B>& other) const {
  return BroadcastConnectedStream<void, T, B>(handle_, other.handle());
}
template <class K, class T>
template <class U>
auto KeyedDataStream<K, T>::connect(const KeyedDataStream<K, U>& other) const {
  return KeyedConnectedStreams<K, T, U>(handle_, other.handle());
}
template <class K, class T>
template <class B>
auto KeyedDataStream<K, T>::connect(const BroadcastStream<B>& other) const {
  return BroadcastConnectedStream<K, T, B>(handle_, other.handle());
}
template <class K, class T>
template <class U>
auto KeyedDataStream<K, T>::join(const KeyedDataStream<K, U>& other) const {
  return JoinedKeys<K, T, U>(handle_, other.handle());
}

}  // namespace strandline
