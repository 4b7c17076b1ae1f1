#include "api/keyed_flow.h"

namespace strand::api {

KeyedFlow::KeyedFlow(const std::vector<const RowType*>& inputs, const RowType& output,
                     std::shared_ptr<const SideOutputs> sides)
    : output_(output, std::move(sides)) {
  for (const RowType* type : inputs) readers_.push_back(std::make_unique<ElementReader>(*type));
}

Status KeyedFlow::open(flow::OperatorContext& context) {
  context_ = &context;
  share_ = obs::MemoryShare(context.memory);
  STRAND_TRY(op_, make_operator(context));
  op_->set_clock(context.now);
  home_.keyed = &op_->keyed_state();
  return op_->open();
}

Status KeyedFlow::restore(const std::vector<state::Section>& parts) {
  for (const state::Section& part : parts) {
    if (part.ref.name != kKeyedSection) continue;
    STRAND_OK(state::check_version(part.ref, kKeyedVersion));
    STRAND_OK(op_->load(part.bytes()));
  }
  share_.set(state_bytes());
  return Status();
}

Status KeyedFlow::process(int input, const columnar::Batch& batch, flow::Emitter& out) {
  const auto i = static_cast<size_t>(input);
  op_->set_clock(context_->now);
  context_->ledger->add(obs::Entry::kIn, batch.rows());
  skipped_ = 0;
  STRAND_OK(run(out, [&] { return elements(i, batch); }));
  const auto late = static_cast<int64_t>(late_.size());
  context_->ledger->add(obs::Entry::kLate, late);
  context_->ledger->add(obs::Entry::kFiltered, skipped_);
  context_->ledger->add(obs::Entry::kCounted, batch.rows() - late - skipped_);
  return emit_late(i, batch, out);
}

Status KeyedFlow::on_unkeyed(size_t, const columnar::Batch&) {
  return Status(ErrorCode::kInternal, "an input without keys").at(context_->operator_id);
}

Status KeyedFlow::elements(size_t input, const columnar::Batch& batch) {
  STRAND_OK(require_elements(batch, context_->operator_id));
  ElementReader& reader = *readers_[input];
  reader.begin(batch);
  reading_ = &reader;
  if (batch.columns().size() <= key_column(reader.type())) {
    STRAND_OK(on_unkeyed(input, batch));
    reading_ = nullptr;
    return Status();
  }
  home_.has_key = true;
  Status status;
  batch.for_each_row([&](int64_t row) {
    if (!status.ok()) return;
    row_ = row;
    auto element = reader.read(row);
    if (!element.ok()) {
      status = std::move(element).status();
      return;
    }
    ops::Record record{std::string(reader.key(row)), 0, {}, reader.time(row), *element};
    prepare(input, record);
    status = op_->process(static_cast<int>(input), reader.group(row), record, *this);
  });
  home_.has_key = false;
  reading_ = nullptr;
  return status;
}

Status KeyedFlow::emit_late(size_t input, const columnar::Batch& batch, flow::Emitter& out) {
  if (late_.empty()) return Status();
  auto rows = std::make_shared<columnar::Selection>(std::exchange(late_, {}));
  const Port port = input == 0 ? Port::kLate : Port::kLateRight;
  return out.wanted(port) ? out.emit(port, batch.with_selection(std::move(rows))) : Status();
}

Status KeyedFlow::advance(flow::Emitter& out) {
  op_->set_clock(context_->now);
  home_.has_key = true;
  Status status = run(out, [&] { return op_->advance(context_->watermark, *this); });
  home_.has_key = false;
  return status;
}

Status KeyedFlow::on_wakeup(flow::Emitter& out) {
  home_.has_key = true;
  Status status = run(out, [&] { return op_->advance_clock(context_->now, *this); });
  home_.has_key = false;
  return status;
}

WallTime KeyedFlow::next_wakeup() const {
  const auto first = op_->keyed_state().timers(state::TimeDomain::kProcessing).earliest();
  return first ? WallTime{*first} : WallTime::never();
}

Status KeyedFlow::snapshot(Epoch, state::SnapshotBuilder& out) {
  out.add_deferred(
      kKeyedSection, kKeyedVersion,
      [frozen = op_->keyed_state().freeze()]() -> Result<std::string> { return frozen->encode(); });
  return Status();
}

}  // namespace strand::api
