#include "flow/operator.h"

namespace strand::flow {

Status Operator::no_state() {
  return Status(ErrorCode::kStateMismatch, "the checkpoint holds state for an operator that keeps none");
}

}  // namespace strand::flow
