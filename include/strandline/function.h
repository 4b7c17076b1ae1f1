// Functions of a program: what a stream does with its elements.
#pragma once

#include "strandline/state.h"

namespace strandline {

/// Takes what a function emits. Belongs to the call that it was given to.
template <class T>
class Collector {
 public:
  explicit Collector(detail::Call& call) : call_(call) {}
  void collect(const T& element) { call_.emit(&element); }
  void operator()(const T& element) { collect(element); }
  /// With a timestamp of its own, where there is none (barriers, processing timers) or another one is meant.
  void collect_with_timestamp(const T& element, Timestamp at) { call_.emit_at(&element, millis_of(at)); }

 private:
  detail::Call& call_;
};

/// Names a second output of a function: `context.output(kAlerts, alert)`, and `stream.side_output(kAlerts)`
/// reads it.
template <class T>
struct OutputTag {
  std::string name;
};

/// What a function may ask while it works on one element, timer or barrier.
class Context {
 public:
  explicit Context(detail::Call& call) : call_(call) {}
  /// Of the element, if it has one, or of the event timer.
  std::optional<Timestamp> timestamp() const {
    const auto millis = call_.timestamp();
    return millis ? std::optional(timestamp_of(*millis)) : std::nullopt;
  }
  /// How far event time has come; after a restore at least the floor. Timestamp::min(): nothing is known yet.
  Timestamp current_watermark() const { return timestamp_of(call_.watermark()); }
  /// The only clock there is. Readings are counted and shown: what a function makes of them, a replay makes
  /// otherwise.
  ProcessingTime current_processing_time() { return ProcessingTime(Millis(call_.processing_time())); }
  /// Into a side output. Nothing happens if nobody reads it.
  template <class T>
  void output(const OutputTag<T>& tag, const T& element) {
    call_.emit_side(tag.name, detail::row_type<T>(), &element);
  }

 protected:
  detail::Call& call_;
};

/// With a current key.
template <class K>
class KeyedContext : public Context {
 public:
  using Context::Context;
  K current_key() const { return detail::decoded<K>(call_.key()); }
  /// A timer is known by key and time: set twice it fires once, deleting one that is not there does nothing.
  /// One at or before the watermark fires when the watermark moves next.
  void register_event_time_timer(Timestamp at) { call_.set_timer(detail::TimeDomain::kEvent, millis_of(at)); }
  void delete_event_time_timer(Timestamp at) {
    call_.delete_timer(detail::TimeDomain::kEvent, millis_of(at));
  }
  void register_processing_time_timer(ProcessingTime at) {
    call_.set_timer(detail::TimeDomain::kProcessing, millis_of(at));
  }
  void delete_processing_time_timer(ProcessingTime at) {
    call_.delete_timer(detail::TimeDomain::kProcessing, millis_of(at));
  }
};

/// While a timer fires.
template <class K>
class OnTimerContext : public KeyedContext<K> {
 public:
  OnTimerContext(detail::Call& call, detail::TimeDomain domain) : KeyedContext<K>(call), domain_(domain) {}
  bool event_time() const { return domain_ == detail::TimeDomain::kEvent; }

 private:
  detail::TimeDomain domain_;
};

/// What all functions have: states, and calls at barriers and at the end. One object a subtask, called from
/// one thread. A function may throw: the job then fails like any other, and goes on from its last checkpoint.
template <class Out>
class Function : public StateOwner {
 public:
  using Output = Out;
  virtual ~Function() = default;
  /// Once, when the states are there and before anything else.
  virtual void open() {}
  /// A barrier is about to pass: a function that holds back elements in members of its own, and not in
  /// states, must emit them here, or a crash loses them.
  virtual void before_barrier(Context&, Collector<Out>&) { hook_is_there_ = false; }
  /// The input has ended.
  virtual void finish(Context&, Collector<Out>&) {}
  bool has_barrier_hook() const { return hook_is_there_; }

 private:
  bool hook_is_there_ = true;  // until the call above says otherwise
};

/// Over elements without a key: any number of outputs for each input; states are those of the subtask.
template <class In, class Out>
class ProcessFunction : public Function<Out> {
 public:
  using Input = In;
  virtual void process_element(const In& element, Context& context, Collector<Out>& out) = 0;
};

/// Over a keyed stream: state by key, timers, side outputs.
template <class K, class In, class Out>
class KeyedProcessFunction : public Function<Out> {
 public:
  using Key = K;
  using Input = In;
  virtual void process_element(const In& element, KeyedContext<K>& context, Collector<Out>& out) = 0;
  virtual void on_timer(OnTimerContext<K>&, Collector<Out>&) {}
};

/// Over two keyed streams that share keys and state.
template <class K, class Left, class Right, class Out>
class KeyedCoProcessFunction : public Function<Out> {
 public:
  using Key = K;
  virtual void process_element1(const Left& element, KeyedContext<K>& context, Collector<Out>& out) = 0;
  virtual void process_element2(const Right& element, KeyedContext<K>& context, Collector<Out>& out) = 0;
  virtual void on_timer(OnTimerContext<K>&, Collector<Out>&) {}
};

/// Over two streams without keys.
template <class Left, class Right, class Out>
class CoProcessFunction : public Function<Out> {
 public:
  virtual void process_element1(const Left& element, Context& context, Collector<Out>& out) = 0;
  virtual void process_element2(const Right& element, Context& context, Collector<Out>& out) = 0;
};

/// Over a keyed stream and a broadcast one. Every subtask sees every broadcast element; a BroadcastState
/// holds what they say. Keyed state has no current key there, but `for_each_key`.
template <class K, class In, class Broadcast, class Out>
class KeyedBroadcastProcessFunction : public Function<Out> {
 public:
  using Key = K;
  virtual void process_element(const In& element, KeyedContext<K>& context, Collector<Out>& out) = 0;
  virtual void process_broadcast_element(const Broadcast& element, Context& context, Collector<Out>& out) = 0;
  virtual void on_timer(OnTimerContext<K>&, Collector<Out>&) {}
};

/// The same without keys.
template <class In, class Broadcast, class Out>
class BroadcastProcessFunction : public Function<Out> {
 public:
  virtual void process_element(const In& element, Context& context, Collector<Out>& out) = 0;
  virtual void process_broadcast_element(const Broadcast& element, Context& context, Collector<Out>& out) = 0;
};

namespace detail {

/// A function without its types. `on_element` is told which input the element came by.
class FunctionCode {
 public:
  virtual ~FunctionCode() = default;
  virtual StateOwner& owner() = 0;
  virtual void open() = 0;
  virtual void on_element(size_t input, const void* element, Call& call) = 0;
  virtual void on_timer(TimeDomain, Call&) {}
  virtual void before_barrier(Call& call) = 0;
  virtual void finish(Call& call) = 0;
  virtual bool has_barrier_hook() const = 0;
};
using MakeFunction = std::function<std::unique_ptr<FunctionCode>()>;

/// What the adapters below have in common.
template <class F>
class CodeOf : public FunctionCode {
 public:
  using Out = typename F::Output;
  explicit CodeOf(std::unique_ptr<F> function) : function_(std::move(function)) {}
  StateOwner& owner() override { return *function_; }
  void open() override { function_->open(); }
  void before_barrier(Call& call) override {
    Context context(call);
    Collector<Out> out(call);
    function_->before_barrier(context, out);
  }
  void finish(Call& call) override {
    Context context(call);
    Collector<Out> out(call);
    function_->finish(context, out);
  }
  bool has_barrier_hook() const override { return function_->has_barrier_hook(); }

 protected:
  std::unique_ptr<F> function_;
};

template <class F, class ContextOf, class In>
class OneInputCode : public CodeOf<F> {
 public:
  using CodeOf<F>::CodeOf;
  void on_element(size_t, const void* element, Call& call) override {
    ContextOf context(call);
    Collector<typename F::Output> out(call);
    this->function_->process_element(*static_cast<const In*>(element), context, out);
  }
};

/// Two inputs; `kBroadcast`: the second one is broadcast.
template <class F, class ContextOf, class Left, class Right, bool kBroadcast>
class TwoInputCode : public CodeOf<F> {
 public:
  using CodeOf<F>::CodeOf;
  void on_element(size_t input, const void* element, Call& call) override {
    Collector<typename F::Output> out(call);
    if constexpr (kBroadcast) {
      if (input == 1) {
        Context context(call);
        return this->function_->process_broadcast_element(*static_cast<const Right*>(element), context, out);
      }
      ContextOf context(call);
      this->function_->process_element(*static_cast<const Left*>(element), context, out);
    } else {
      ContextOf context(call);
      if (input == 0) {
        this->function_->process_element1(*static_cast<const Left*>(element), context, out);
      } else {
        this->function_->process_element2(*static_cast<const Right*>(element), context, out);
      }
    }
  }
};

/// Adds timers to one of the above.
template <class Base, class F, class K>
class WithTimers : public Base {
 public:
  using Base::Base;
  void on_timer(TimeDomain domain, Call& call) override {
    OnTimerContext<K> context(call, domain);
    Collector<typename F::Output> out(call);
    this->function_->on_timer(context, out);
  }
};

}  // namespace detail
}  // namespace strandline
