// Windows: which elements belong together, when a window tells its result, and what it makes of them.
#pragma once

#include "strandline/function.h"

namespace strandline {

/// A window of time: [start, end).
struct TimeWindow {
  Timestamp start;
  Timestamp end;
  /// The last instant in it: the timestamp of its results.
  Timestamp max_timestamp() const { return end - Millis(1); }
  friend bool operator==(const TimeWindow&, const TimeWindow&) = default;
};

/// Says which windows an element belongs to. Made by the classes below, whose names are Flink's.
struct WindowAssigner {
  enum class Kind : uint8_t { kTumbling, kSliding, kSession, kGlobal };
  Kind kind = Kind::kTumbling;
  bool event_time = true;
  Millis size{0};
  Millis slide{0};
  Millis offset{0};
  Millis gap{0};
  /// Processing-time windows begin where the first element came, so that those of the subtasks do not close
  /// at once.
  bool natural_stagger = false;
};

/// A session whose gap each element says itself.
template <class F>
struct DynamicGap {
  bool event_time;
  F gap_of;
};

struct TumblingEventTimeWindows {
  static WindowAssigner of(Millis size, Millis offset = Millis(0)) {
    return {.size = size, .offset = offset};
  }
};
struct TumblingProcessingTimeWindows {
  static WindowAssigner of(Millis size, Millis offset = Millis(0), bool natural_stagger = false) {
    return {.event_time = false, .size = size, .offset = offset, .natural_stagger = natural_stagger};
  }
};
struct SlidingEventTimeWindows {
  static WindowAssigner of(Millis size, Millis slide, Millis offset = Millis(0)) {
    return {.kind = WindowAssigner::Kind::kSliding, .size = size, .slide = slide, .offset = offset};
  }
};
struct SlidingProcessingTimeWindows {
  static WindowAssigner of(Millis size, Millis slide, Millis offset = Millis(0)) {
    WindowAssigner windows = SlidingEventTimeWindows::of(size, slide, offset);
    windows.event_time = false;
    return windows;
  }
};
struct EventTimeSessionWindows {
  static WindowAssigner with_gap(Millis gap) { return {.kind = WindowAssigner::Kind::kSession, .gap = gap}; }
  /// `gap_of(element)` gives the gap behind the element.
  template <class F>
  static DynamicGap<F> with_dynamic_gap(F gap_of) {
    return {true, std::move(gap_of)};
  }
};
struct ProcessingTimeSessionWindows {
  static WindowAssigner with_gap(Millis gap) {
    return {.kind = WindowAssigner::Kind::kSession, .event_time = false, .gap = gap};
  }
  template <class F>
  static DynamicGap<F> with_dynamic_gap(F gap_of) {
    return {false, std::move(gap_of)};
  }
};
/// All elements of a key in one window, which fires only if a trigger says so.
struct GlobalWindows {
  static WindowAssigner create() { return {.kind = WindowAssigner::Kind::kGlobal}; }
};

enum class TriggerResult : uint8_t { kContinue = 0, kFire = 1, kPurge = 2, kFireAndPurge = 3 };

/// When a window tells its result. Made by the classes below. Without one, a window tells it when its time is
/// over, and again for each late element that is allowed.
struct Trigger {
  enum class Kind : uint8_t {
    kEventTime,
    kProcessingTime,
    kNever,
    kEndOfStream,
    kCount,
    kContinuousEventTime,
    kContinuousProcessingTime,
    kDelta,
    kPurging,
    kProcessingTimeout,
  };
  Kind kind = Kind::kEventTime;
  int64_t count = 0;
  Millis interval{0};
  double threshold = 0;
  bool reset_on_element = false;
  bool clear_on_timeout = false;
  std::shared_ptr<const Trigger> of = nullptr;
};
struct EventTimeTrigger {
  static Trigger create() { return {.kind = Trigger::Kind::kEventTime}; }
};
struct ProcessingTimeTrigger {
  static Trigger create() { return {.kind = Trigger::Kind::kProcessingTime}; }
};
/// Of global windows: when the input has ended.
struct EndOfStreamTrigger {
  static Trigger create() { return {.kind = Trigger::Kind::kEndOfStream}; }
};
struct CountTrigger {
  static Trigger of(int64_t count) { return {.kind = Trigger::Kind::kCount, .count = count}; }
};
struct ContinuousEventTimeTrigger {
  static Trigger of(Millis interval) {
    return {.kind = Trigger::Kind::kContinuousEventTime, .interval = interval};
  }
};
struct ContinuousProcessingTimeTrigger {
  static Trigger of(Millis interval) {
    return {.kind = Trigger::Kind::kContinuousProcessingTime, .interval = interval};
  }
};
/// Fires when the measure of an element (WindowedDataStream::measure) is more than `threshold` away from that
/// of the element that fired last.
struct DeltaTrigger {
  static Trigger of(double threshold) { return {.kind = Trigger::Kind::kDelta, .threshold = threshold}; }
};
/// As `trigger`, and the contents go whenever it fires.
struct PurgingTrigger {
  static Trigger of(Trigger trigger) {
    return {.kind = Trigger::Kind::kPurging, .of = std::make_shared<const Trigger>(std::move(trigger))};
  }
};
/// As `trigger`, and `timeout` of processing time after the first element since it fired.
struct ProcessingTimeoutTrigger {
  static Trigger of(Trigger trigger, Millis timeout, bool reset_on_element = false,
                    bool clear_on_timeout = false) {
    return {.kind = Trigger::Kind::kProcessingTimeout,
            .interval = timeout,
            .reset_on_element = reset_on_element,
            .clear_on_timeout = clear_on_timeout,
            .of = std::make_shared<const Trigger>(std::move(trigger))};
  }
};

/// Which elements of a window its function does not get to see.
struct Evictor {
  enum class Kind : uint8_t { kCount, kTime, kDelta };
  Kind kind = Kind::kCount;
  int64_t count = 0;
  Millis window{0};
  double threshold = 0;
  bool after = false;
};
/// Keeps the last `count` elements. `after`: evicts when the function has run, not before.
struct CountEvictor {
  static Evictor of(int64_t count, bool after = false) { return {.count = count, .after = after}; }
};
/// Keeps what is younger than the newest element - `window`.
struct TimeEvictor {
  static Evictor of(Millis window, bool after = false) {
    return {.kind = Evictor::Kind::kTime, .window = window, .after = after};
  }
};
/// Drops what is `threshold` or more away from the last element, by WindowedDataStream::measure.
struct DeltaEvictor {
  static Evictor of(double threshold, bool after = false) {
    return {.kind = Evictor::Kind::kDelta, .threshold = threshold, .after = after};
  }
};

namespace detail {

/// What a custom trigger may ask and do.
class TriggerCall {
 public:
  virtual ~TriggerCall() = default;
  virtual int64_t watermark() const = 0;
  virtual int64_t processing_time() const = 0;
  virtual int64_t last_instant() const = 0;
  virtual void set_timer(TimeDomain domain, int64_t time) = 0;
  virtual void delete_timer(TimeDomain domain, int64_t time) = 0;
  virtual std::optional<int64_t> number(size_t slot) = 0;
  virtual void set_number(size_t slot, std::optional<int64_t> value) = 0;
  virtual void merge_number(size_t slot, bool sum) = 0;
};

/// A custom trigger without its type.
class TriggerCode {
 public:
  virtual ~TriggerCode() = default;
  virtual TriggerResult on_element(const void* element, std::optional<int64_t> time,
                                   TriggerCall& call) const = 0;
  virtual TriggerResult on_time(TimeDomain domain, int64_t time, TriggerCall& call) const = 0;
  virtual void on_merge(TriggerCall& call) const = 0;
  virtual void clear(TriggerCall& call) const = 0;
  virtual bool can_merge() const = 0;
};

}  // namespace detail

/// What a trigger of a program's own is given: the current key and window, and five numbers that are kept for
/// them.
class TriggerContext {
 public:
  explicit TriggerContext(detail::TriggerCall& call) : call_(call) {}
  Timestamp current_watermark() const { return timestamp_of(call_.watermark()); }
  ProcessingTime current_processing_time() const { return ProcessingTime(Millis(call_.processing_time())); }
  /// The last instant of the window; of the global one the end of time.
  Timestamp max_timestamp() const { return timestamp_of(call_.last_instant()); }
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
  static constexpr size_t kNumbers = 5;
  std::optional<int64_t> number(size_t slot) const { return call_.number(slot); }
  void set_number(size_t slot, int64_t value) { call_.set_number(slot, value); }
  void clear_number(size_t slot) { call_.set_number(slot, std::nullopt); }
  /// Only in on_merge: the numbers of the windows that were merged become this window's.
  void merge_by_sum(size_t slot) { call_.merge_number(slot, true); }
  void merge_by_minimum(size_t slot) { call_.merge_number(slot, false); }

 private:
  detail::TriggerCall& call_;
};

/// A trigger of a program's own. One object serves all keys and windows, so it keeps nothing itself.
template <class T>
class CustomTrigger : public detail::TriggerCode {
 public:
  virtual TriggerResult on_element(const T& element, std::optional<Timestamp> time,
                                   TriggerContext& context) const = 0;
  virtual TriggerResult on_event_time(Timestamp, TriggerContext&) const { return TriggerResult::kContinue; }
  virtual TriggerResult on_processing_time(ProcessingTime, TriggerContext&) const {
    return TriggerResult::kContinue;
  }
  virtual void on_merge(TriggerContext&) const {}
  virtual void clear(TriggerContext& context) const = 0;
  /// Whether it can serve windows that merge (sessions).
  bool can_merge() const override { return false; }

  TriggerResult on_element(const void* element, std::optional<int64_t> time,
                           detail::TriggerCall& call) const final {
    TriggerContext context(call);
    const auto at = time ? std::optional(timestamp_of(*time)) : std::nullopt;
    return on_element(*static_cast<const T*>(element), at, context);
  }
  TriggerResult on_time(detail::TimeDomain domain, int64_t time, detail::TriggerCall& call) const final {
    TriggerContext context(call);
    return domain == detail::TimeDomain::kEvent ? on_event_time(timestamp_of(time), context)
                                                : on_processing_time(ProcessingTime(Millis(time)), context);
  }
  void on_merge(detail::TriggerCall& call) const final {
    TriggerContext context(call);
    on_merge(context);
  }
  void clear(detail::TriggerCall& call) const final {
    TriggerContext context(call);
    clear(context);
  }
};

/// One firing of a window, as its function sees it.
template <class K>
class WindowContext : public Context {
 public:
  explicit WindowContext(detail::WindowCall& call) : Context(call), window_call_(call) {}
  K current_key() const { return detail::decoded<K>(call_.key()); }
  /// Nothing for the global window.
  std::optional<TimeWindow> window() const {
    const auto bounds = window_call_.window();
    if (!bounds) return std::nullopt;
    return TimeWindow{timestamp_of(bounds->first), timestamp_of(bounds->second)};
  }

 private:
  detail::WindowCall& window_call_;
};

/// Sees all elements of a window when it fires. States are those of the key, or of the window
/// (StateOptions::of_window, not where windows merge).
template <class K, class In, class Out>
class ProcessWindowFunction : public StateOwner {
 public:
  using Key = K;
  using Output = Out;
  virtual ~ProcessWindowFunction() = default;
  virtual void process(WindowContext<K>& context, const std::vector<In>& elements, Collector<Out>& out) = 0;
  /// The window is over: gives up what was kept for it.
  virtual void clear(WindowContext<K>&) {}
};

namespace detail {

/// The contents of windows without their types: folded into an accumulator, or every element.
class WindowCode {
 public:
  virtual ~WindowCode() = default;
  virtual StateOwner* owner() { return nullptr; }
  virtual bool folds() const = 0;
  /// What is kept: of the accumulator or of the elements.
  virtual std::string stored_type() const = 0;

  virtual void fold(std::string&, bool /*fresh*/, const void* /*element*/) {}
  virtual void merge(std::string&, const std::string&) {}
  virtual void fire(const std::string& /*accumulator*/, WindowCall&) {}
  /// Elements as bytes, of the left and the right input.
  virtual void fire(const std::vector<std::string_view>& /*left*/,
                    const std::vector<std::string_view>& /*right*/, WindowCall&) {}
  virtual void clear(WindowCall&) {}
};
using MakeWindowCode = std::function<std::unique_ptr<WindowCode>()>;

template <class T>
std::vector<T> all_decoded(const std::vector<std::string_view>& elements) {
  std::vector<T> values;
  values.reserve(elements.size());
  for (const std::string_view bytes : elements) values.push_back(decoded<T>(bytes));
  return values;
}

/// An aggregate, and what is told of its result: Tell(const Result&, WindowCall&).
template <class In, class A, class Tell>
class AggregateCode : public WindowCode {
 public:
  using Accumulator = decltype(std::declval<const A&>().create_accumulator());
  AggregateCode(A aggregate, Tell tell) : aggregate_(std::move(aggregate)), tell_(std::move(tell)) {}
  StateOwner* owner() override { return tell_.owner(); }
  bool folds() const override { return true; }
  std::string stored_type() const override { return Codec<Accumulator>::name(); }
  void fold(std::string& bytes, bool fresh, const void* element) override {
    Accumulator accumulator = fresh ? aggregate_.create_accumulator() : decoded<Accumulator>(bytes);
    aggregate_.add(accumulator, *static_cast<const In*>(element));
    keep(accumulator, bytes);
  }
  void merge(std::string& bytes, const std::string& other) override {
    auto accumulator = decoded<Accumulator>(bytes);
    aggregate_.merge(accumulator, decoded<Accumulator>(other));
    keep(accumulator, bytes);
  }
  void fire(const std::string& accumulator, WindowCall& call) override {
    tell_(aggregate_.get_result(decoded<Accumulator>(accumulator)), call);
  }
  void clear(WindowCall& call) override { tell_.clear(call); }

 private:
  static void keep(const Accumulator& accumulator, std::string& bytes) {
    bytes.clear();
    Codec<Accumulator>::encode(accumulator, bytes);
  }
  A aggregate_;
  Tell tell_;
};

/// reduce(f) as an aggregate.
template <class T, class F>
struct ReduceAggregate {
  F reduce;
  std::optional<T> create_accumulator() const { return std::nullopt; }
  void add(std::optional<T>& sum, const T& element) const { sum = sum ? reduce(*sum, element) : element; }
  T get_result(const std::optional<T>& sum) const { return *sum; }
  void merge(std::optional<T>& sum, const std::optional<T>& other) const {
    if (other) add(sum, *other);
  }
};

/// Emits the result itself.
template <class Out>
struct TellResult {
  StateOwner* owner() { return nullptr; }
  void operator()(const Out& result, WindowCall& call) { call.emit(&result); }
  void clear(WindowCall&) {}
};
/// Gives it to a window function as its only element.
template <class F, class In>
struct TellFunction {
  std::unique_ptr<F> function;
  StateOwner* owner() { return function.get(); }
  void operator()(const In& result, WindowCall& call) {
    WindowContext<typename F::Key> context(call);
    Collector<typename F::Output> out(call);
    function->process(context, std::vector<In>{result}, out);
  }
  void clear(WindowCall& call) {
    WindowContext<typename F::Key> context(call);
    function->clear(context);
  }
};

template <class F, class In>
class ElementsCode : public WindowCode {
 public:
  explicit ElementsCode(std::unique_ptr<F> function) : function_(std::move(function)) {}
  StateOwner* owner() override { return function_.get(); }
  bool folds() const override { return false; }
  std::string stored_type() const override { return Codec<In>::name(); }
  void fire(const std::vector<std::string_view>& elements, const std::vector<std::string_view>&,
            WindowCall& call) override {
    WindowContext<typename F::Key> context(call);
    Collector<typename F::Output> out(call);
    function_->process(context, all_decoded<In>(elements), out);
  }
  void clear(WindowCall& call) override {
    WindowContext<typename F::Key> context(call);
    function_->clear(context);
  }

 private:
  std::unique_ptr<F> function_;
};

/// f(context, left, right, out) over both sides of a window.
template <class K, class Left, class Right, class Out, class F>
class CoGroupCode : public WindowCode {
 public:
  explicit CoGroupCode(F function) : function_(std::move(function)) {}
  bool folds() const override { return false; }
  std::string stored_type() const override {
    return "either<" + Codec<Left>::name() + "," + Codec<Right>::name() + ">";
  }
  void fire(const std::vector<std::string_view>& left, const std::vector<std::string_view>& right,
            WindowCall& call) override {
    WindowContext<K> context(call);
    Collector<Out> out(call);
    function_(context, all_decoded<Left>(left), all_decoded<Right>(right), out);
  }

 private:
  F function_;
};

}  // namespace detail
}  // namespace strandline
