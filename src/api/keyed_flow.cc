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
  if (context.spill != nullptr) op_->spill_to(*context.spill);
  op_->set_clock(context.now);
  home_.keyed = &op_->keyed_state();
  return op_->open();
}

Status KeyedFlow::restore(const std::vector<state::Section>& parts) {
  STRAND_OK(op_->keyed_state().restore(parts));
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
  std::vector<int64_t> rows;
  const bool spills = op_->keyed_state().spills();
  if (spills) batch.for_each_row([&](int64_t row) { rows.push_back(row); });
  size_t done = 0;
  batch.for_each_row([&](int64_t row) {
    if (spills && status.ok() && done % kRowsAhead == 0)
      status = bring_back(reader, std::span(rows).subspan(done));
    ++done;
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
  STRAND_OK(std::move(status));
  return op_->make_room();
}

/// What the first of the rows will ask for.
Status KeyedFlow::bring_back(const ElementReader& reader, std::span<const int64_t> rows) {
  std::vector<ops::KeyedOperator::Coming> coming;
  for (const int64_t row : rows.first(std::min(rows.size(), kRowsAhead)))
    coming.push_back({reader.group(row), reader.key(row), reader.time(row)});
  STRAND_OK(op_->make_room());
  return op_->bring_back(coming);
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

Status KeyedFlow::snapshot(Epoch, state::SnapshotBuilder& out) { return op_->keyed_state().snapshot(out); }

void KeyedFlow::snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) {
  op_->keyed_state().written(epoch, refs);
}

}  // namespace strand::api
