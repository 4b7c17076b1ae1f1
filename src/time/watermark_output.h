// Where watermarks go.
#pragma once

#include "base/ids.h"

namespace strand::time {

/// Takes the watermarks and idle marks of a generator, a shard, a source or a valve, in the order in which
/// they were made.
class WatermarkOutput {
 public:
  virtual ~WatermarkOutput() = default;
  virtual void watermark(EventTime time) = 0;
  virtual void status(bool idle) = 0;
};

}  // namespace strand::time
