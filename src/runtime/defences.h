// Rules of the replay protocol that the runtime keeps.
#pragma once

namespace strand::runtime {

/// One switch for each rule; all on. Only tests turn one off, to prove that they would notice: whoever does
/// that in a job loses exactly what the rule is for.
struct Defences {
  bool e1 = true;                         // an epoch is recorded as used before its barrier is injected
  bool e2 = true;                         // an attempt is recorded before it claims or writes anything
  bool f7d = true;                        // that a second sweep is due is recorded with the attempt
  bool dead_work = true;                  // an attempt starts when nothing of a dead one is under way
  bool given_up_uploads = true;           // files of a checkpoint that was given up are not referred to
  bool hold_back = true;                  // channels wait at a barrier until all have delivered theirs
  bool in_flight = true;                  // rows that a barrier has overtaken are in its snapshot
  bool t1_floor = true;                   // barriers save the floor
  bool t1_restored = true;                // and never one below the restored floor
  bool t2_floor_by_group = true;          // each key group gets the floor that it had, not the lowest
  bool t3_late_as_closed = true;          // rows are late from the instant that closes their window
  bool t7_no_idle_marks = true;           // no shard comes back as idle
  bool t5_end_is_no_floor = true;         // a drained snapshot saves no floor at the end of time
  bool t5_closed_below = true;            // and what roll-ups have closed is closed for what feeds them
  bool barrier_buffers = true;            // buffers are emptied before a snapshot
  bool partial_rows_judged = true;        // rows are judged late one by one, before any partial sum
  bool partials_before_watermark = true;  // partial sums go before the watermark
  bool held_rows = true;                  // operators tell what they hold after a restore
};

}  // namespace strand::runtime
