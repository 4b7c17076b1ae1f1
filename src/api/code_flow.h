// What operators that run code of the program have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/elements.h"
#include "api/job_state.h"
#include "flow/operator.h"
#include "strandline/detail/call.h"

namespace strand::api {

/// Collects what a function emits, by output, and hands it on as batches at the end of each call of the
/// operator, or when a batch is full. Belongs to one operator.
class FlowOutput {
 public:
  static constexpr int64_t kMaxRows = 4096;
  FlowOutput(const RowType& main, std::shared_ptr<const SideOutputs> sides)
      : main_(main), sides_(std::move(sides)) {}

  void begin(flow::Emitter& out) { out_ = &out; }
  void emit(const void* element, std::optional<EventTime> time);
  /// Throws std::logic_error where the tag is read as another type.
  void emit_side(const std::string& tag, const RowType& type, const void* element,
                 std::optional<EventTime> time);
  /// Hands everything on; what a full batch has met on the way, too.
  Status end();
  /// Rows emitted on the main port since the last call.
  int64_t take_rows() { return std::exchange(rows_, 0); }

 private:
  void flush_if_full(ElementWriter& writer, Port port);
  ElementWriter main_;
  std::shared_ptr<const SideOutputs> sides_;                       // or null
  std::map<size_t, std::unique_ptr<ElementWriter>> side_writers_;  // by port
  flow::Emitter* out_ = nullptr;
  Status failed_;
  int64_t rows_ = 0;
};

Status function_threw(const flow::OperatorContext& context, const ElementReader* reader,
                      const std::string& what);

/// Runs `f`, which returns a Status, and turns what the code of the program throws into an error that names
/// the operator and, if `reader` then points to one, the element that it was given.
template <class F>
Status guarded(const flow::OperatorContext& context, const ElementReader* const& reader, F&& f) {
  const auto thrown = [&](const std::string& what) { return function_threw(context, reader, what); };
  try {
    return f();
  } catch (const std::exception& e) {
    return thrown(std::string(": ") + e.what());
  } catch (...) {  // what is no std::exception says nothing about itself
    return thrown("");
  }
}

/// Only +I may reach a function: an element cannot be taken back.
Status require_elements(const columnar::Batch& batch, const std::string& operator_id);

}  // namespace strand::api
