#include "flow/operator.h"

namespace strand::flow {

Status Operator::no_state() {
  return Status(ErrorCode::kStateMismatch, "the checkpoint holds state for an operator that keeps none");
}

Status Emitter::no_time() {
  return Status(ErrorCode::kInternal, "an operator that makes no event time has emitted a watermark");
}

}  // namespace strand::flow
