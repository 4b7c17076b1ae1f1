// Functions of the program as operators: with keys and without.
#include "api/flows.h"
#include "api/function_host.h"
#include "api/keyed_flow.h"

namespace strand::api {

using strandline::detail::FunctionSpec;

namespace {

/// Hands the elements and timers of a keyed function to it.
class KeyedCode final : public ops::KeyedOperator {
 public:
  KeyedCode(KeyGroupRange own, FunctionHost& host) : KeyedOperator(own), host_(host) {}
  Status open() override { return Status(); }

 private:
  Status on_element(int input, const ops::Record& record, ops::StreamOutput&) override {
    host_.element(static_cast<size_t>(input), record.element, record.time);
    return Status();
  }
  Status on_timer(state::TimeDomain domain, const state::Timer& timer, ops::StreamOutput&) override {
    const bool event = domain == state::TimeDomain::kEvent;
    host_.call().begin(timer.time, event ? std::optional(EventTime{timer.time}) : std::nullopt);
    using strandline::detail::TimeDomain;
    host_.code().on_timer(event ? TimeDomain::kEvent : TimeDomain::kProcessing, host_.call());
    return Status();
  }
  FunctionHost& host_;
};

class KeyedFunctionFlow final : public KeyedFlow {
 public:
  KeyedFunctionFlow(const FunctionSpec& spec, std::shared_ptr<const SideOutputs> sides, bool flink_restore)
      : KeyedFlow(spec.inputs, *spec.output, std::move(sides)),
        host_(spec, output_, home_),
        flink_restore_(flink_restore) {}

  Status open(flow::OperatorContext& context) override {
    STRAND_OK(KeyedFlow::open(context));
    return host_.open(context, flink_restore_);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    STRAND_OK(KeyedFlow::restore(parts));
    return host_.restore(parts);
  }
  Status before_barrier(flow::Emitter& out) override {
    return run(out, [&] {
      host_.before_barrier();
      return Status();
    });
  }
  Status finish(flow::Emitter& out) override {
    return run(out, [&] {
      host_.finish();
      return Status();
    });
  }
  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    host_.snapshot(out);
    return KeyedFlow::snapshot(epoch, out);
  }
  int64_t state_rows() const override { return KeyedFlow::state_rows() + host_.state_rows(); }
  int64_t state_bytes() const override { return KeyedFlow::state_bytes() + host_.state_rows() * kValueBytes; }
  int64_t clock_readings() const override { return host_.clock_readings(); }

 private:
  static constexpr int64_t kValueBytes = 128;  // of state of the subtask, about

  Result<std::unique_ptr<ops::KeyedOperator>> make_operator(const flow::OperatorContext& context) override {
    return std::unique_ptr<ops::KeyedOperator>(new KeyedCode(context.key_groups, host_));
  }
  void start() override { host_.start(); }
  Status on_unkeyed(size_t input, const columnar::Batch& batch) override {
    ElementReader& reader = *readers_[input];
    Status status;
    batch.for_each_row([&](int64_t row) {
      if (!status.ok()) return;
      auto element = reader.read(row);
      if (element.ok()) return host_.element(input, *element, reader.time(row));
      status = std::move(element).status();
    });
    return status;
  }

  FunctionHost host_;
  bool flink_restore_;
};

/// Elements without keys.
class FunctionFlow final : public flow::Operator {
 public:
  FunctionFlow(const FunctionSpec& spec, std::shared_ptr<const SideOutputs> sides, bool flink_restore)
      : output_(*spec.output, std::move(sides)),
        host_(spec, output_, home_),
        flink_restore_(flink_restore),
        pure_(spec.kind == "map" || spec.kind == "flat map") {
    for (const RowType* type : spec.inputs) readers_.push_back(std::make_unique<ElementReader>(*type));
  }

  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return host_.open(context, flink_restore_);
  }
  Status restore(const std::vector<state::Section>& parts) override { return host_.restore(parts); }
  Status process(int input, const columnar::Batch& batch, flow::Emitter& out) override {
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    return run(out, [&] { return elements(static_cast<size_t>(input), batch); });
  }
  /// A function of the element alone says of a held one what it said before.
  Status process_held(const columnar::Batch& batch, flow::Emitter& out) override {
    if (!pure_) return Status();
    output_.begin(out);
    STRAND_OK(guarded(*context_, reading_, [&] { return elements(0, batch); }));
    output_.take_rows();
    return output_.end();
  }
  Status before_barrier(flow::Emitter& out) override {
    return run(out, [&] {
      host_.before_barrier();
      return Status();
    });
  }
  Status finish(flow::Emitter& out) override {
    return run(out, [&] {
      host_.finish();
      return Status();
    });
  }
  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    host_.snapshot(out);
    return Status();
  }
  bool judges_lateness() const override { return true; }
  int64_t state_rows() const override { return host_.state_rows(); }
  int64_t clock_readings() const override { return host_.clock_readings(); }

 private:
  template <class F>
  Status run(flow::Emitter& out, F&& work) {
    output_.begin(out);
    STRAND_OK(guarded(*context_, reading_, [&]() -> Status {
      if (!std::exchange(started_, true)) host_.start();
      return work();
    }));
    context_->ledger->add(obs::Entry::kOut, output_.take_rows());
    return output_.end();
  }
  Status elements(size_t input, const columnar::Batch& batch) {
    STRAND_OK(require_elements(batch, context_->operator_id));
    ElementReader& reader = *readers_[input];
    reader.begin(batch);
    reading_ = &reader;
    Status status;
    batch.for_each_row([&](int64_t row) {
      if (!status.ok()) return;
      auto element = reader.read(row);
      if (element.ok()) return host_.element(input, *element, reader.time(row));
      status = std::move(element).status();
    });
    reading_ = nullptr;
    return status;
  }

  std::vector<std::unique_ptr<ElementReader>> readers_;
  FlowOutput output_;
  StateHome home_;
  FunctionHost host_;
  bool flink_restore_;
  bool pure_;
  bool started_ = false;
  const ElementReader* reading_ = nullptr;  // null between elements
  flow::OperatorContext* context_ = nullptr;
};

}  // namespace

OperatorPtr make_function_flow(const FunctionSpec& spec, std::shared_ptr<const SideOutputs> sides,
                               const plan::FunctionOptions& options) {
  if (spec.keyed) return std::make_unique<KeyedFunctionFlow>(spec, std::move(sides), options.flink_restore);
  return std::make_unique<FunctionFlow>(spec, std::move(sides), options.flink_restore);
}

}  // namespace strand::api
