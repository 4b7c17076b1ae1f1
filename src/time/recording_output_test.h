// A watermark output that writes down what it is told, as text: `wm 5`, `idle`, `active`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "time/watermark_output.h"

namespace strand::time {

class RecordingOutput : public WatermarkOutput {
 public:
  void watermark(EventTime time) override {
    seen_.push_back(time == EventTime::max() ? "wm max" : "wm " + std::to_string(time.millis));
  }
  void status(bool idle) override { seen_.push_back(idle ? "idle" : "active"); }
  std::vector<std::string> take() { return std::exchange(seen_, {}); }

 private:
  std::vector<std::string> seen_;
};

}  // namespace strand::time
