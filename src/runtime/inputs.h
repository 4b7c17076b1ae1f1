// The channels into a task.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "checkpoint/aligner.h"
#include "flow/channel.h"

namespace strand::runtime {

/// The channels into a task, read one element at a time. Reads round robin, so that no channel starves.
///
/// Barriers are aligned (checkpoint/aligner.h), or overtake: then the task takes its snapshot as soon as one
/// of them may, and the rows in front of the barrier of each channel, which it has not read, are recorded.
/// They are known when the barrier is announced (flow/channel.h); of a channel where none is yet, what is
/// read is recorded until it comes. Held rows are never overtaken, so a barrier that comes so early is
/// aligned. Belongs to its task; a crash loses what is recorded, and with it the snapshot.
class Inputs {
 public:
  /// `hold_back`: as the Aligner's.
  explicit Inputs(std::vector<flow::Channel*> channels, bool hold_back = true)
      : channels_(std::move(channels)),
        aligner_(std::max<size_t>(channels_.size(), 1), hold_back),
        held_(channels_.size(), false) {}

  /// Barriers that may overtake do so; without it they are aligned, whatever they say.
  void let_overtake() { overtakable_ = true; }

  struct Next {
    size_t channel;
    flow::Element element;
  };
  /// The next element that may be handled; nothing if there is none. Barriers and HeldEnds come out once,
  /// from the last channel that delivers them. After a barrier came out, nothing else does until `release`.
  std::optional<Next> next();
  void release() { aligner_.release(); }
  void abort(Epoch epoch);
  size_t size() const { return channels_.size(); }
  /// The epoch whose barriers have arrived on some channels and are missing on others.
  std::optional<Epoch> aligning() const { return aligner_.aligning(); }

  /// A barrier that overtakes at `now`, once for each epoch: the snapshot is taken now.
  std::optional<flow::Barrier> overtaking(WallTime now);
  /// When a barrier that has come will overtake; never() if none is there.
  WallTime overtakes_at() const;
  /// Whether rows in front of a barrier that has overtaken are still to come.
  bool recording();
  /// What was recorded, by channel.
  std::vector<std::vector<columnar::Batch>> take_recorded();

 private:
  std::optional<Next> take(size_t channel);
  std::optional<flow::Barrier> first_barrier() const;
  void record_overtaken(size_t channel);

  std::vector<flow::Channel*> channels_;
  checkpoint::Aligner aligner_;
  std::vector<bool> held_;  // has delivered its HeldEnd and waits for the others
  bool held_over_ = false;
  size_t turn_ = 0;
  bool overtakable_ = false;
  flow::Barrier aligned_;  // the newest barrier that has been read
  struct Recording {
    Epoch epoch;
    std::vector<bool> complete;  // by channel
    std::vector<std::vector<columnar::Batch>> rows;
  };
  std::optional<Recording> recording_;
};

}  // namespace strand::runtime
