#include "sim_canaries.h"

#include <string_view>

namespace strand::app {

namespace {

using connect::table::Rules;
using Options = sim::SimulationOptions;

/// Few late clicks spread over many ads: a late total that a replay does not make again is soon the only
/// trace.
void sparse(Options& o) {
  o.input.ads = 60;
  o.input.late = 0.02;
}

/// Requests of the dead arrive long after.
void slow_store(Options& o) {
  sparse(o);
  o.store_fault = 0.2;
  o.arrivals = 0.0005;
}

/// Commits wait for their store, so that epochs pile up; the process dies meanwhile.
void outages(Options& o) {
  o.outages = 0.5;
  o.arrivals = 0.0002;
  o.power_loss = 0;
}

/// Event times and window ends lie on whole seconds, so that a watermark is often just before an end.
void whole_seconds(Options& o) {
  o.input.grain = Duration{1'000};
  o.input.late = 0.2;
}

/// A store without transactions over two rows: each request travels alone, and those of the dead may come
/// after the flush.
void loose(Options& o) {
  slow_store(o);
  o.defences.attempt_rows = false;
}

/// Some snapshots take longer than the next barrier.
void stuck_uploads(Options& o) {
  o.stuck_uploads = 0.1;
  o.checkpoint_timeout = Duration{9'000};
}

/// While the job is down much comes in, so that one shard is read far ahead of the others.
void long_downtime(Options& o) { o.downtime_max = Duration{60'000}; }

/// Every start after a stop is a new generation, from an older savepoint mostly.
void upgrades(Options& o) {
  sparse(o);
  o.goes_back = 0.8;
  o.upgrades = 1;
}

void late_clicks(Options& o) { o.input.late = 0.2; }

/// The power fails at every crash, and often.
void no_power(Options& o) { o.power_loss = 1.0; }

SimCanary rules(const char* name, std::vector<bool Rules::*> off, void (*more)(Options&) = nullptr,
                bool second_line = false, std::string job = {}) {
  return {name,
          [off = std::move(off), more](Options& o) {
            for (bool Rules::* rule : off) o.defences.rules.*rule = false;
            if (more != nullptr) more(o);
          },
          second_line, std::move(job)};
}

SimCanary engine(const char* name, bool runtime::Defences::* off, void (*more)(Options&) = nullptr,
                 std::string job = {}, bool second_line = false) {
  return {name,
          [off, more](Options& o) {
            o.defences.runtime.*off = false;
            if (more != nullptr) more(o);
          },
          second_line, std::move(job)};
}

/// The syncs of files in a folder, or of the folder itself.
SimCanary sync_of_files(const char* name, const char* folder, bool second_line = false) {
  return {name,
          [part = std::string(folder)](Options& o) {
            no_power(o);
            o.defences.no_sync = [part](sim::Call call, std::string_view path) {
              return call == sim::Call::kSync && path.find(part) != std::string_view::npos;
            };
          },
          second_line};
}
SimCanary sync_of_folder(const char* name, const char* folder, bool second_line = false) {
  return {name,
          [part = std::string(folder)](Options& o) {
            no_power(o);
            o.defences.no_sync = [part](sim::Call call, std::string_view path) {
              return call == sim::Call::kSyncDir && path.ends_with(part);
            };
          },
          second_line};
}

}  // namespace

const std::vector<SimCanary>& sim_canaries() {
  using D = runtime::Defences;
  static const std::vector<SimCanary> kAll = {
      engine("E1 epoch recorded before the barrier", &D::e1,
             [](Options& o) {
               o.slow_uploads = 1.0;
               o.power_loss = 1.0;
             }),
      engine("E2 attempt recorded before it writes", &D::e2, [](Options& o) { o.goes_back = 0.8; }),
      engine("an upload that comes too late counts for nothing", &D::given_up_uploads, stuck_uploads),
      engine("dead work ends before the next attempt", &D::dead_work,
             [](Options& o) {
               o.retained = 1;
               o.env_fault = 0.01;
               o.env_faults_max = 40;
               o.slow_uploads = 1.0;
             }),
      engine("T1 floor", &D::t1_floor),
      engine("T1 restored floor", &D::t1_restored),
      engine("T2 floor of the key group", &D::t2_floor_by_group),
      engine("T3 late from the instant that closes", &D::t3_late_as_closed, whole_seconds),
      engine("T7 no idle mark in a checkpoint", &D::t7_no_idle_marks, long_downtime, "session", true),
      engine("T5 the end of time is no floor", &D::t5_end_is_no_floor),
      engine("T5 what roll-ups have closed is closed below", &D::t5_closed_below),
      engine("channels wait at a barrier, for functions", &D::hold_back, nullptr, "process, list"),
      engine("channels wait at a barrier, for two inputs", &D::hold_back, nullptr, "co-process"),
      engine("channels wait at a barrier, for patterns", &D::hold_back, nullptr, "pattern"),
      engine("buffers emptied at the barrier", &D::barrier_buffers),
      engine("rows in flight in the snapshot", &D::in_flight, [](Options& o) { o.unaligned = 1.0; }),
      engine("rows judged before partial sums", &D::partial_rows_judged),
      engine("partial sums before watermarks", &D::partials_before_watermark),
      engine("F2, F4 held rows", &D::held_rows, late_clicks),
      rules("F1 flush", {&Rules::f1}),
      rules("F2 rewritten from state", {&Rules::f2}, late_clicks),
      rules("F3 only the writer's columns", {&Rules::f3}),
      rules("W1 absolute values", {&Rules::w1}),
      rules("W3 tag at the barrier", {&Rules::w3}),
      rules("W2 a higher attempt is not overwritten", {&Rules::w2}, loose),
      rules("W2s nor a later request", {&Rules::w2s}, loose),
      rules("F3c the flush compares and sets", {&Rules::f3c}, loose),
      rules("F5 the flush is repeated", {&Rules::f5}, sparse),
      rules("F7 second sweep", {&Rules::f7}, loose),
      rules("F7w not before requests of the dead have come", {&Rules::f7w}, loose),
      engine("F7d that it is due is recorded", &D::f7d, loose, "hop"),
      rules("F8 a new generation flushes", {&Rules::f8}, upgrades, false, "tumble"),
      rules("F9 back to the restored epoch", {&Rules::f9}, sparse),
      rules("W6 attempt row", {&Rules::w6}, slow_store),
      rules("X2 uncommitted rows in every checkpoint", {&Rules::x2}, outages),
      rules("X1 commits of the dead are refused", {&Rules::x1}, outages),
      rules("X3e only epochs above the marker", {&Rules::x3e}, outages),
      rules("X3c, X1 the sink is claimed", {&Rules::x3c, &Rules::x1}, outages),
      rules("W5 barriers wait for acknowledgements", {&Rules::w5}, slow_store),
      rules("X1c, X3 rows show with their checkpoint", {&Rules::x1c, &Rules::x3}),
      rules("X1m a repeated commit changes nothing", {&Rules::x1m}),
      rules("X3e, X1m only epochs above the marker", {&Rules::x3e, &Rules::x1m}),
      rules("W4 finished rows are refused", {&Rules::w4}, slow_store, true),
      rules("X3a markers of subtasks that are no more", {&Rules::x3a}, outages),
      sync_of_files("fsync of state files", "/checkpoints/files/"),
      sync_of_files("fsync of manifests", "/checkpoints/manifests/"),
      sync_of_files("fsync of attempts", "/checkpoints/attempts/"),
      sync_of_files("fsync of the epoch", "/checkpoints/epoch"),
      sync_of_files("fsync of savepoints", "/savepoints/"),
      sync_of_files("fsync of rows in files", "/exceptions/.part"),
      sync_of_files("fsync of markers", "/exceptions/.strandline/strand/marker"),
      sync_of_files("fsync of the owner", "/exceptions/.strandline/strand/owner"),
      sync_of_folder("fsync of the folder of state files", "/checkpoints/files"),
      sync_of_folder("fsync of the folder of manifests", "/checkpoints/manifests"),
      sync_of_folder("fsync of the folder of attempts", "/checkpoints/attempts"),
      sync_of_folder("fsync of the folder of checkpoints", "/checkpoints"),
      sync_of_folder("fsync of the folder of rows", "/exceptions"),
      sync_of_folder("fsync of the folder of markers", "/exceptions/.strandline/strand"),
      sync_of_files("fsync of the note of what is shown", "/exceptions/.strandline/strand/shown"),
  };
  return kAll;
}

}  // namespace strand::app
