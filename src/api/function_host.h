// A function of the program in its operator: its states, its call, and what it must be warned of.
#pragma once

#include "api/code_flow.h"
#include "api/state_cells.h"
#include "strandline/function.h"

namespace strand::api {

/// What a function is given for one element, timer or barrier. Where it emits, which key it works on and what
/// time it is are those of the operator; the rest is set by whoever calls the function.
class FunctionCall : public strandline::detail::WindowCall {
 public:
  FunctionCall(StateHome& home, FlowOutput& output) : home_(home), output_(output) {}
  void attach(flow::OperatorContext& context, bool flink_restore) {
    context_ = &context;
    flink_restore_ = flink_restore;
  }
  /// `emitted`: the timestamp of what the function emits.
  void begin(std::optional<int64_t> timestamp, std::optional<EventTime> emitted) {
    timestamp_ = timestamp;
    emitted_ = emitted;
  }
  int64_t clock_readings() const { return clock_readings_; }
  bool take_emitted_anything() { return std::exchange(emitted_anything_, false); }

  std::string_view key() const override;
  std::optional<int64_t> timestamp() const override { return timestamp_; }
  int64_t watermark() const override;
  int64_t processing_time() override;
  void set_timer(strandline::detail::TimeDomain domain, int64_t time) override {
    timers(domain).set(at(), time);
  }
  void delete_timer(strandline::detail::TimeDomain domain, int64_t time) override {
    timers(domain).erase(at(), time);
  }
  void emit(const void* element) override {
    emitted_anything_ = true;
    output_.emit(element, emitted_);
  }
  void emit_at(const void* element, int64_t timestamp) override {
    emitted_anything_ = true;
    output_.emit(element, EventTime{timestamp});
  }
  void emit_side(const std::string& tag, const RowType& type, const void* element) override {
    output_.emit_side(tag, type, element, emitted_);
  }
  std::optional<std::pair<int64_t, int64_t>> window() const override {
    if (!home_.window) return std::nullopt;
    return std::pair{home_.window->first, home_.window->second};
  }

 private:
  void require_key() const;
  state::Timers& timers(strandline::detail::TimeDomain domain);
  state::StateKeyView at() const { return home_.keyed->at({}); }
  StateHome& home_;
  FlowOutput& output_;
  flow::OperatorContext* context_ = nullptr;
  bool flink_restore_ = false;
  std::optional<int64_t> timestamp_;
  std::optional<EventTime> emitted_;
  int64_t clock_readings_ = 0;
  bool emitted_anything_ = false;
};

/// One function, its states of the subtask, and its call. Belongs to an operator. State: section "subtask".
class FunctionHost {
 public:
  FunctionHost(const strandline::detail::FunctionSpec& spec, FlowOutput& output, StateHome& home)
      : code_(spec.make()), broadcast_(spec.broadcast), home_(home), call_(home, output) {
    home_.of_subtask = &of_subtask_;
  }
  strandline::detail::FunctionCode& code() { return *code_; }
  FunctionCall& call() { return call_; }

  /// Binds the states; the keyed ones must have a home.
  Status open(flow::OperatorContext& context, bool flink_restore);
  Status restore(const std::vector<state::Section>& parts);
  void start();
  void element(size_t input, const void* element, std::optional<EventTime> time);
  void before_barrier();
  void finish();
  void snapshot(state::SnapshotBuilder& out) const;
  int64_t state_rows() const { return of_subtask_.values(); }
  int64_t clock_readings() const { return call_.clock_readings(); }

 private:
  /// Of states with a time to live; once an operator, at its start.
  void warn_of_clocks() const;
  void warn_of_buffers();
  std::unique_ptr<strandline::detail::FunctionCode> code_;
  bool broadcast_;  // the second input is
  OperatorState of_subtask_;
  StateHome& home_;
  FunctionCall call_;
  flow::OperatorContext* context_ = nullptr;
  bool held_back_ =
      false;  // it has emitted without an element, and has no state that it could have kept it in
  bool warned_ = false;
};

}  // namespace strand::api
