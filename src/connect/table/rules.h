// Rules of replay.md that can be taken away, to prove that the tests notice.
#pragma once

namespace strand::connect::table {

/// One switch for each rule that a sink or a simulated store keeps; all on. Only tests turn one off: whoever
/// does that in a job loses exactly what the rule is for.
struct Rules {
  bool w1 = true;   // values are absolute, not added
  bool w2 = true;   // a higher (generation, attempt) is not overwritten
  bool w2s = true;  // nor a higher sequence of the same attempt
  bool w3 = true;   // the tag is the last barrier passed, not the last checkpoint known to be complete
  bool w4 = true;   // finished rows are not written again
  bool w4d = true;  // unless the value is mine or dead
  bool w5 = true;   // a barrier waits for the acknowledgements
  bool w6 = true;   // requests of the dead fail
  bool f1 = true;   // the flush
  bool f2 = true;   // held values are rewritten, not removed
  bool f3 = true;   // only the writer's own columns go
  bool f3c = true;  // the flush is a compare-and-set on the listed tag
  bool f5 = true;   // the flush is repeated after a crash inside it
  bool f8 = true;   // a new generation flushes, too
  bool f9 = true;   // back to the restored epoch, however old
  bool f7 = true;   // a second sweep, where requests of the dead can arrive after the flush
  bool f7w = true;  // not before the last of them must have arrived
  bool x1 = true;   // a commit is refused where a higher (generation, attempt) owns the sink or the marker
  bool x1m = true;  // and changes nothing where the marker is not below it
  bool x1c = true;  // rows show only when their checkpoint is complete
  bool x2 = true;   // rows of every uncommitted epoch are in every checkpoint
  bool x3 = true;   // after a restore the markers are read, and a store ahead of the job is refused
  bool x3a = true;  // also the markers of subtasks that are no more
  bool x3c = true;  // the sink is claimed first
  bool x3e = true;  // only epochs above the marker are sent again
};

}  // namespace strand::connect::table
