#include "ops/stream/process_operator.h"

namespace strand::ops {
namespace {

using state::TimeDomain;

ProcessContext::Times of_element(const Record& record, EventTime watermark) {
  return {.watermark = watermark,
          .timestamp = record.time ? std::optional(record.time->millis) : std::nullopt,
          .output_time = record.time};
}

ProcessContext::Times of_timer(TimeDomain domain, int64_t time, EventTime watermark) {
  ProcessContext::Times times{.watermark = watermark, .timestamp = time, .output_time = std::nullopt};
  if (domain == TimeDomain::kEvent) times.output_time = EventTime{time};
  return times;
}

}  // namespace

Status ProcessOperator::on_element(int input, const Record& record, StreamOutput& out) {
  ProcessContext context(state_, of_element(record, watermark()), out);
  return function_->on_element(input, record, context);
}

Status ProcessOperator::on_timer(TimeDomain domain, const state::Timer& timer, StreamOutput& out) {
  ProcessContext context(state_, of_timer(domain, timer.time, watermark()), out);
  return function_->on_timer(domain, timer.time, context);
}

BroadcastOperator::BroadcastOperator(KeyGroupRange own, std::unique_ptr<BroadcastFunction> function)
    : KeyedOperator(own), function_(std::move(function)) {
  function_->attach(broadcast_);
}

Status BroadcastOperator::broadcast(const Record& record, StreamOutput& out) {
  ProcessContext context(state_, of_element(record, watermark()), out);
  return function_->on_broadcast(record, broadcast_, context);
}

std::string BroadcastOperator::save_broadcast() const {
  ByteWriter out;
  state::Codec<BroadcastState>::encode(broadcast_, out);
  return out.take();
}

Status BroadcastOperator::load_broadcast(std::string_view bytes) {
  ByteReader in(bytes);
  STRAND_TRY(broadcast_, state::Codec<BroadcastState>::decode(in));
  return {};
}

Status BroadcastOperator::on_element(int input, const Record& record, StreamOutput& out) {
  ProcessContext context(state_, of_element(record, watermark()), out);
  return function_->on_element(input, record, context);
}

Status BroadcastOperator::on_timer(TimeDomain domain, const state::Timer& timer, StreamOutput& out) {
  ProcessContext context(state_, of_timer(domain, timer.time, watermark()), out);
  return function_->on_timer(domain, timer.time, context);
}

}  // namespace strand::ops
