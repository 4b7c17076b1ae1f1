#include "api/code_flow.h"

#include <stdexcept>

namespace strand::api {

void FlowOutput::flush_if_full(ElementWriter& writer, Port port) {
  if (writer.rows() < kMaxRows || !failed_.ok()) return;
  failed_ = out_->emit(port, writer.finish());
}

void FlowOutput::emit(const void* element, std::optional<EventTime> time) {
  main_.append(element, time);
  ++rows_;
  flush_if_full(main_, Port::kMain);
}

void FlowOutput::emit_side(const std::string& tag, const RowType& type, const void* element,
                           std::optional<EventTime> time) {
  if (sides_ == nullptr) return;
  const auto side = sides_->by_tag.find(tag);
  if (side == sides_->by_tag.end()) return;
  if (side->second.type != &type)
    throw std::logic_error("side output '" + tag + "' is read as a stream of another type");
  auto& writer = side_writers_[side->second.port];
  if (writer == nullptr) writer = std::make_unique<ElementWriter>(type);
  writer->append(element, time);
  flush_if_full(*writer, static_cast<Port>(side->second.port));
}

Status FlowOutput::end() {
  for (auto& [port, writer] : side_writers_) {
    if (failed_.ok() && writer->rows() > 0) failed_ = out_->emit(static_cast<Port>(port), writer->finish());
  }
  if (failed_.ok() && main_.rows() > 0) failed_ = out_->emit(Port::kMain, main_.finish());
  return std::exchange(failed_, Status());
}

Status function_threw(const flow::OperatorContext& context, const ElementReader* reader,
                      const std::string& what) {
  std::string message = "the function of operator '" + context.operator_id + "' has thrown" + what;
  if (reader != nullptr) message += ", given the element " + reader->last_read();
  return Status(ErrorCode::kFunctionThrew, std::move(message))
      .hint("catch in the function what is expected, and emit such elements to a side output");
}

Status require_elements(const columnar::Batch& batch, const std::string& operator_id) {
  if (!batch.kinds()) return Status();
  Status status;
  batch.for_each_row([&](int64_t row) {
    const columnar::RowKind kind = batch.kind(row);
    if (kind == columnar::RowKind::kInsert || !status.ok()) return;
    status = Status(ErrorCode::kBadUsage, "a function takes new rows only, found a row of kind " +
                                              std::string(columnar::to_string(kind)))
                 .at(operator_id)
                 .hint("rows that are updated later (totals, last rows) can be written, but not be elements");
  });
  return status;
}

}  // namespace strand::api
