#include "time/operator_time.h"

namespace strand::time {

/// What the valve of one input announces.
class OperatorTime::InputOutput final : public WatermarkOutput {
 public:
  InputOutput(OperatorTime& time, size_t input, WatermarkOutput& out)
      : time_(time), input_(input), out_(out) {}
  void watermark(EventTime t) override {
    if (time_.valves_[input_].ended()) return;  // told by `end_input`
    const bool was_idle = time_.combined_.idle();
    if (time_.combined_.update_watermark(input_, t)) out_.watermark(time_.combined_.combined());
    time_.announce_idle(was_idle, out_);
  }
  void status(bool idle) override {
    if (time_.valves_[input_].ended()) return;
    const bool was_idle = time_.combined_.idle();
    if (time_.combined_.update_idle(input_, idle)) out_.watermark(time_.combined_.combined());
    time_.announce_idle(was_idle, out_);
  }

 private:
  OperatorTime& time_;
  size_t input_;
  WatermarkOutput& out_;
};

OperatorTime::OperatorTime(const std::vector<size_t>& channels) : combined_(channels.size()) {
  for (const size_t count : channels) valves_.emplace_back(count);
}

void OperatorTime::on_watermark(size_t input, size_t channel, EventTime watermark, WatermarkOutput& out) {
  InputOutput of_input(*this, input, out);
  valves_[input].on_watermark(channel, watermark, of_input);
}

void OperatorTime::on_status(size_t input, size_t channel, bool idle, WatermarkOutput& out) {
  InputOutput of_input(*this, input, out);
  valves_[input].on_status(channel, idle, of_input);
}

void OperatorTime::on_end(size_t input, size_t channel, WatermarkOutput& out) {
  InputOutput of_input(*this, input, out);
  valves_[input].on_end(channel, of_input);
  if (valves_[input].ended()) end_input(input, out);
}

void OperatorTime::end_input(size_t input, WatermarkOutput& out) {
  const bool was_idle = combined_.idle();
  const bool grown = combined_.end(input);
  if (!combined_.ended()) {
    if (grown) out.watermark(combined_.combined());
    announce_idle(was_idle, out);
    return;
  }
  if (was_idle) out.status(false);
  out.watermark(EventTime::max());
}

}  // namespace strand::time
