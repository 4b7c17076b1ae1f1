// Windows of typed streams.
#include <algorithm>

#include "api/arguments.h"
#include "api/flows.h"
#include "api/function_host.h"
#include "api/keyed_flow.h"
#include "ops/stream/window_operator.h"

namespace strand::api {

/// An element in a window: which input it came by, its timestamp, itself.
struct StoredElement {
  uint8_t side = 0;
  std::optional<EventTime> time;
  std::string bytes;
  double compared_by = 0;  // made when an evictor looks; not stored
  double measure() const { return compared_by; }
};

inline int64_t held_bytes(const StoredElement& element) { return state::held_bytes(element.bytes); }

}  // namespace strand::api

template <>
struct strand::state::Codec<strand::api::StoredElement> {
  static std::string name() { return "element"; }
  static void encode(const api::StoredElement& element, ByteWriter& out) {
    out.put(element.side);
    out.put(static_cast<uint8_t>(element.time.has_value()));
    out.put(element.time.value_or(EventTime{0}).millis);
    out.put_string(element.bytes);
  }
  static Result<api::StoredElement> decode(ByteReader& in) {
    api::StoredElement element;
    STRAND_TRY(element.side, in.get<uint8_t>());
    STRAND_TRY(const uint8_t timed, in.get<uint8_t>());
    STRAND_TRY(const int64_t millis, in.get<int64_t>());
    if (timed != 0) element.time = EventTime{millis};
    STRAND_TRY(element.bytes, in.get_string());
    return element;
  }
};

namespace strand::api {

/// Elements of one input; those of two are not carried over.
inline Status change_type(std::vector<StoredElement>& elements, const TypeChange& change) {
  for (StoredElement& element : elements) {
    STRAND_TRY(element.bytes, change.argument(0).apply(element.bytes));
  }
  return Status();
}

using strandline::detail::WindowCode;
using strandline::detail::WindowSpec;

namespace {

constexpr const char* kContents = "window-contents";

/// What the contents of windows tell the program: the function and the call that it is given.
struct WindowHost {
  std::unique_ptr<WindowCode> code;
  FunctionCall* call = nullptr;
  StateHome* home = nullptr;

  /// The call of one firing; `home->window` is set until it ends.
  template <class F>
  Status with(const ops::Firing& firing, F&& f) {
    const ops::Firing::Facts& facts = firing.facts();
    home->window.reset();
    if (facts.window) home->window = state::Namespace{facts.window->start, facts.window->end};
    call->begin(facts.timestamp.millis, facts.timestamp);
    f(*call);
    home->window.reset();
    return Status();
  }
};

/// Contents that can be told of again after a restore.
class ToldContents : public ops::WindowContents {
 public:
  /// Calls f for the windows that have contents, in the order of keys.
  virtual void for_each_window(const std::function<void(const state::StateKey&)>& f) = 0;
};

/// Elements folded as they come, into bytes.
class FoldedBytes final : public ToldContents {
 public:
  explicit FoldedBytes(WindowHost& host) : host_(host) {}
  void for_each_window(const std::function<void(const state::StateKey&)>& f) override {
    state_->for_each_key(*table_, f);
  }
  Status open(state::KeyedState& state) override {
    state_ = &state;
    STRAND_TRY(table_, state.table<std::string>(kContents, "fold<" + host_.code->stored_type() + ">"));
    return Status();
  }
  void add(const ops::Record& record, state::Namespace space) override {
    std::string* old = table_->find(state_->at(space));
    std::string& bytes = old != nullptr ? *old : table_->at(state_->at(space));
    host_.code->fold(bytes, old == nullptr, record.element);
  }
  void merge(state::Namespace to, const std::vector<state::Namespace>& from) override {
    for (const state::Namespace space : from) {
      std::string* source = table_->find(state_->at(space));
      if (source == nullptr) continue;
      const std::string moved = std::move(*source);
      table_->erase(state_->at(space));
      std::string* target = table_->find(state_->at(to));
      if (target == nullptr) {
        table_->at(state_->at(to)) = moved;
      } else {
        host_.code->merge(*target, moved);
      }
    }
  }
  void clear(state::Namespace space) override { table_->erase(state_->at(space)); }
  Status fire(const ops::Firing& firing, state::Namespace space) override {
    const std::string* bytes = table_->find(state_->at(space));
    if (bytes == nullptr) return Status();
    const std::string accumulator = *bytes;  // the function may change state
    return host_.with(firing, [&](FunctionCall& call) { host_.code->fire(accumulator, call); });
  }
  Status close(const ops::Firing& firing) override {
    return host_.with(firing, [&](FunctionCall& call) { host_.code->clear(call); });
  }

 private:
  WindowHost& host_;
  state::KeyedState* state_ = nullptr;
  state::Table<std::string>* table_ = nullptr;
};

/// Every element.
class KeptElements final : public ToldContents {
 public:
  void for_each_window(const std::function<void(const state::StateKey&)>& f) override {
    state_->for_each_key(*table_, f);
  }
  KeptElements(WindowHost& host, const WindowSpec& spec) : host_(host), measure_(spec.measure) {
    for (const RowType* type : spec.inputs) types_.push_back(type);
    if (!spec.evictor) return;
    using Kind = window::EvictorOptions::Kind;
    evictor_ = window::EvictorOptions{.kind = static_cast<Kind>(spec.evictor->kind),
                                      .count = spec.evictor->count,
                                      .window = Duration{spec.evictor->window.count()},
                                      .threshold = spec.evictor->threshold,
                                      .after = spec.evictor->after};
  }
  Status open(state::KeyedState& state) override {
    state_ = &state;
    STRAND_TRY(table_, state.table<Elements>(kContents, "elements<" + host_.code->stored_type() + ">"));
    return Status();
  }
  void add(const ops::Record& record, state::Namespace space) override {
    const auto side = static_cast<size_t>(record.value);
    StoredElement element{static_cast<uint8_t>(side), record.time, {}};
    types_[side]->encode(record.element, element.bytes);
    table_->at(state_->at(space)).push_back(std::move(element));
  }
  void merge(state::Namespace to, const std::vector<state::Namespace>& from) override {
    for (const state::Namespace space : from) {
      Elements* source = table_->find(state_->at(space));
      if (source == nullptr) continue;
      Elements moved = std::move(*source);
      table_->erase(state_->at(space));
      Elements& target = table_->at(state_->at(to));
      std::ranges::move(moved, std::back_inserter(target));
    }
  }
  void clear(state::Namespace space) override { table_->erase(state_->at(space)); }
  Status fire(const ops::Firing& firing, state::Namespace space) override {
    const Elements* contents = table_->find(state_->at(space));
    if (contents == nullptr) return Status();
    Elements elements = *contents;
    if (evictor_ && !evictor_->after) evict(elements);
    STRAND_OK(tell(firing, elements));
    if (!evictor_) return Status();
    if (evictor_->after) evict(elements);
    if (elements.empty()) {
      clear(space);
    } else {
      table_->at(state_->at(space)) = std::move(elements);
    }
    return Status();
  }
  Status close(const ops::Firing& firing) override {
    return host_.with(firing, [&](FunctionCall& call) { host_.code->clear(call); });
  }

 private:
  using Elements = std::vector<StoredElement>;
  Status tell(const ops::Firing& firing, const Elements& elements) {
    if (host_.code->folds()) return tell_folded(firing, elements);
    std::vector<std::string_view> sides[2];
    for (const StoredElement& element : elements) sides[element.side].push_back(element.bytes);
    return host_.with(firing, [&](FunctionCall& call) { host_.code->fire(sides[0], sides[1], call); });
  }
  /// What is left of the elements, folded now.
  Status tell_folded(const ops::Firing& firing, const Elements& elements) {
    if (elements.empty()) return Status();
    std::string accumulator;
    void* scratch = types_[0]->make();
    for (size_t i = 0; i < elements.size(); ++i) {
      types_[0]->decode(elements[i].bytes, scratch);
      host_.code->fold(accumulator, i == 0, scratch);
    }
    types_[0]->destroy(scratch);
    return host_.with(firing, [&](FunctionCall& call) { host_.code->fire(accumulator, call); });
  }
  void evict(Elements& elements) const {
    if (evictor_->kind == window::EvictorOptions::Kind::kDelta) {
      void* scratch = types_[0]->make();
      for (StoredElement& element : elements) {
        types_[0]->decode(element.bytes, scratch);
        element.compared_by = measure_(scratch);
      }
      types_[0]->destroy(scratch);
    }
    window::evict(*evictor_, elements);
  }
  WindowHost& host_;
  std::function<double(const void*)> measure_;
  std::vector<const RowType*> types_;
  std::optional<window::EvictorOptions> evictor_;
  state::KeyedState* state_ = nullptr;
  state::Table<Elements>* table_ = nullptr;
};

window::TriggerPtr trigger_of(const strandline::Trigger& trigger) {
  using Kind = strandline::Trigger::Kind;
  const Duration interval{trigger.interval.count()};
  switch (trigger.kind) {
    case Kind::kEventTime:
      return window::event_time_trigger();
    case Kind::kProcessingTime:
      return window::processing_time_trigger();
    case Kind::kNever:
      return window::never_trigger();
    case Kind::kEndOfStream:
      return window::end_of_stream_trigger();
    case Kind::kCount:
      return window::count_trigger(trigger.count);
    case Kind::kContinuousEventTime:
      return window::continuous_event_trigger(interval);
    case Kind::kContinuousProcessingTime:
      return window::continuous_processing_trigger(interval);
    case Kind::kDelta:
      return window::delta_trigger(trigger.threshold);
    case Kind::kPurging:
      return window::purging_trigger(trigger_of(*trigger.of));
    case Kind::kProcessingTimeout:
      return window::processing_timeout_trigger(
          trigger_of(*trigger.of), {interval, trigger.reset_on_element, trigger.clear_on_timeout});
  }
  return window::never_trigger();
}

bool compares(const strandline::Trigger& trigger) {
  return trigger.kind == strandline::Trigger::Kind::kDelta || (trigger.of && compares(*trigger.of));
}

/// A trigger of the program.
class ForeignTrigger final : public window::Trigger {
 public:
  explicit ForeignTrigger(std::shared_ptr<const strandline::detail::TriggerCode> code)
      : code_(std::move(code)) {}
  window::TriggerResult on_element(const window::TriggerElement& element,
                                   window::TriggerContext& context) const override {
    Call call(context);
    const auto time = element.time ? std::optional(element.time->millis) : std::nullopt;
    return static_cast<window::TriggerResult>(code_->on_element(element.element, time, call));
  }
  window::TriggerResult on_event_time(int64_t time, window::TriggerContext& context) const override {
    return on_time(strandline::detail::TimeDomain::kEvent, time, context);
  }
  window::TriggerResult on_processing_time(int64_t time, window::TriggerContext& context) const override {
    return on_time(strandline::detail::TimeDomain::kProcessing, time, context);
  }
  void clear(window::TriggerContext& context) const override {
    Call call(context);
    code_->clear(call);
  }
  void on_merge(window::TriggerContext& context) const override {
    Call call(context);
    code_->on_merge(call);
  }
  bool can_merge() const override { return code_->can_merge(); }

 private:
  class Call final : public strandline::detail::TriggerCall {
   public:
    explicit Call(window::TriggerContext& context) : context_(context) {}
    int64_t watermark() const override { return context_.watermark().millis; }
    int64_t processing_time() const override { return context_.now().millis; }
    int64_t last_instant() const override { return context_.last_instant(); }
    void set_timer(strandline::detail::TimeDomain domain, int64_t time) override {
      if (domain == strandline::detail::TimeDomain::kEvent) return context_.set_event_timer(time);
      context_.set_processing_timer(time);
    }
    void delete_timer(strandline::detail::TimeDomain domain, int64_t time) override {
      if (domain == strandline::detail::TimeDomain::kEvent) return context_.erase_event_timer(time);
      context_.erase_processing_timer(time);
    }
    std::optional<int64_t> number(size_t slot) override { return context_.get(slot_of(slot)); }
    void set_number(size_t slot, std::optional<int64_t> value) override {
      if (value) return context_.set(slot_of(slot), *value);
      context_.clear(slot_of(slot));
    }
    void merge_number(size_t slot, bool sum) override {
      context_.merge(slot_of(slot),
                     sum ? window::TriggerContext::Fold::kSum : window::TriggerContext::Fold::kMinimum);
    }

   private:
    static window::TriggerSlot slot_of(size_t slot) {
      if (slot >= window::kTriggerSlots) throw std::out_of_range("a trigger has five numbers, 0 to 4");
      return static_cast<window::TriggerSlot>(slot);
    }
    window::TriggerContext& context_;
  };
  window::TriggerResult on_time(strandline::detail::TimeDomain domain, int64_t time,
                                window::TriggerContext& context) const {
    Call call(context);
    return static_cast<window::TriggerResult>(code_->on_time(domain, time, call));
  }
  std::shared_ptr<const strandline::detail::TriggerCode> code_;
};

ops::StreamWindowOptions options_of(const WindowSpec& spec) {
  ops::StreamWindowOptions options;
  const strandline::WindowAssigner& assigner = spec.assigner;
  options.assigner.kind = static_cast<window::AssignerOptions::Kind>(assigner.kind);
  options.assigner.event_time = assigner.event_time;
  options.assigner.size = assigner.size.count();
  options.assigner.slide = assigner.slide.count();
  options.assigner.offset = assigner.offset.count();
  options.assigner.gap = assigner.gap.count();
  options.assigner.own_gaps = spec.gap_of != nullptr;
  options.assigner.natural_stagger = assigner.natural_stagger;
  options.allowed_lateness = {spec.allowed_lateness.count()};
  options.late_output = true;
  if (spec.gap_of)
    options.gap_of = [gap_of = spec.gap_of](const ops::Record& r) { return gap_of(r.element); };
  if (spec.measure)
    options.measure_of = [measure = spec.measure](const ops::Record& r) { return measure(r.element); };
  if (spec.custom_trigger) {
    options.trigger = std::make_unique<ForeignTrigger>(spec.custom_trigger);
  } else if (spec.trigger) {
    options.trigger = trigger_of(*spec.trigger);
  }
  return options;
}

class WindowFlow final : public KeyedFlow {
 public:
  WindowFlow(const WindowSpec& spec, bool flink_restore)
      : KeyedFlow(spec.inputs, *spec.output, nullptr),
        spec_(spec),
        flink_restore_(flink_restore),
        call_(home_, output_) {
    host_.code = spec.make();
    host_.call = &call_;
    host_.home = &home_;
    home_.merging = spec.assigner.kind == strandline::WindowAssigner::Kind::kSession;
  }

  Status open(flow::OperatorContext& context) override {
    call_.attach(context, flink_restore_);
    STRAND_OK(KeyedFlow::open(context));
    return host_.code->owner() == nullptr ? Status() : bind_states(*host_.code->owner(), home_);
  }
  int64_t clock_readings() const override { return call_.clock_readings(); }
  /// Windows that have told a result and may yet correct it (replay.md F2): the results are those of their
  /// contents, unless a trigger, an evictor or a state of the function has a part in them.
  Status emit_held(flow::Emitter& out) override {
    const bool from_contents = !spec_.trigger && !spec_.custom_trigger && !spec_.evictor &&
                               host_.code->owner() == nullptr && !home_.merging && spec_.assigner.event_time;
    if (!from_contents || spec_.allowed_lateness.count() == 0 || flink_restore_) return Status();
    output_.begin(out);
    STRAND_OK(guarded(*context_, nullptr, [&] { return tell_again(); }));
    output_.take_rows();  // they were booked when they were news
    return output_.end();
  }

 private:
  Status tell_again() {
    state::KeyedState& state = op_->keyed_state();
    home_.has_key = true;
    Status told;
    contents_->for_each_window([&](const state::StateKey& key) {
      const window::Window window{key.space.first, key.space.second};
      if (!told.ok() || EventTime{window.last()} > context_->judge(key.group)) return;
      state.set_key(key.group, key.key);
      const ops::Firing::Facts facts{.window = window,
                                     .watermark = context_->judge(key.group),
                                     .now = context_->now,
                                     .timestamp = {window.last()}};
      told = contents_->fire(ops::Firing(facts, state, *this), key.space);
    });
    home_.has_key = false;
    STRAND_OK(std::move(told));
    return state.failed();
  }

  Result<std::unique_ptr<ops::KeyedOperator>> make_operator(const flow::OperatorContext& context) override {
    ops::StreamWindowOptions options = options_of(spec_);
    options.key_groups = context.key_groups;
    options.floor = context.floor;
    options.flink_restore = flink_restore_;
    std::unique_ptr<ToldContents> contents;
    if (host_.code->folds() && !spec_.evictor) {
      contents = std::make_unique<FoldedBytes>(host_);
    } else {
      contents = std::make_unique<KeptElements>(host_, spec_);
    }
    contents_ = contents.get();
    options.contents = std::move(contents);
    STRAND_TRY(std::unique_ptr<ops::KeyedOperator> made, ops::StreamWindowOperator::make(std::move(options)));
    return made;
  }
  void prepare(size_t input, ops::Record& record) override { record.value = static_cast<int64_t>(input); }

  WindowSpec spec_;
  bool flink_restore_;
  FunctionCall call_;
  WindowHost host_;
  ToldContents* contents_ = nullptr;  // the operator's
};

Status check_window(const WindowSpec& spec) {
  const auto no_measure = [](const char* what) {
    return Status(ErrorCode::kBadWindow, std::string(what) + " compares elements, and nothing says by what")
        .hint("call measure(…) on the window");
  };
  if (!spec.measure && spec.trigger && compares(*spec.trigger)) return no_measure("a delta trigger");
  if (!spec.measure && spec.evictor && spec.evictor->kind == strandline::Evictor::Kind::kDelta)
    return no_measure("a delta evictor");
  return check_arguments(spec);
}

}  // namespace

Result<OperatorPtr> make_window_flow(const WindowSpec& spec, const plan::FunctionOptions& options) {
  STRAND_OK(check_window(spec));
  STRAND_TRY(const auto checked, ops::StreamWindowOperator::make(options_of(spec)));
  return OperatorPtr(std::make_unique<WindowFlow>(spec, options.flink_restore));
}

}  // namespace strand::api
