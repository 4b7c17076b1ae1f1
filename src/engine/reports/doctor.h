// Looks at a running job for what keeps its output back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/reports/books.h"
#include "engine/reports/text.h"
#include "engine/reports/why.h"
#include "plan/alignment.h"

namespace strand::engine::reports {

/// Names in a list before it is cut.
inline constexpr size_t kNamesShown = 3;

/// Looks at one job at one instant, once. Each look tells what it finds in lines; those that say whether they
/// found the cause come in the order of `Cause`, and the first one that did ends the search.
class Doctor {
 public:
  Doctor(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now)
      : view_(view), plan_(plan), memory_limit_(memory_limit), now_(now) {}

  Diagnosis diagnose();

 private:
  void line(std::string text) { out_.lines.push_back(std::move(text)); }
  bool is(Cause cause, bool stuck, std::string headline) {
    out_.cause = cause;
    out_.stuck = stuck;
    out_.headline = std::move(headline);
    return true;
  }
  std::string event(EventTime t) const { return event_text(t, now_); }
  std::string wall(WallTime t) const { return wall_text(t, now_); }
  std::string ago(WallTime t) const { return span_text(now_ - t) + " ago"; }

  Diagnosis not_running();
  bool memory();
  bool checkpoint();
  bool transaction();
  int64_t rows_held() const;
  bool blocked();
  void tell_windows(bool found);
  void tell_window(const OperatorBooks& books, const plan::WindowAggregate& window);
  std::string closes(const SourceBooks& source, const OpenWindow& open) const;

  // Where rows went (doctor_rows.cc).
  bool nothing_read();
  static std::string path_of(const SourceBooks& source);
  bool all_bad();
  bool all_filtered();
  bool feeds_window(const plan::Node& node) const;
  static bool reads(const plan::Node& reader, const plan::Node& node);
  bool all_late();
  std::string newest_shard() const;

  // Who holds event time (doctor_time.cc).
  void tell_completeness();
  void tell_holder(const runtime::ShardView& shard);
  void tell_others(const SourceBooks& source);
  /// A row or two may be odd: it is the cause where event time itself lies where no event of this century
  /// does.
  bool wrong_unit();
  bool clock_in_future();
  bool no_event_time();
  static std::string idle_advice(const SourceBooks& source);
  bool silent_shard();
  bool quiet_source(const SourceBooks& source, const runtime::ShardView& holder);
  static std::optional<plan::WatermarkAlignment> alignment_of(const SourceBooks& source);
  std::vector<std::string> paused_in(const std::string& group) const;
  /// The source that the others of a group wait for.
  const SourceBooks* slowest_of(const std::string& group) const;
  void tell_paused();
  bool aligned();

  const JobView& view_;
  const plan::Plan& plan_;
  int64_t memory_limit_;
  WallTime now_;
  Books books_;
  bool aligned_ = false;
  Diagnosis out_;
};

}  // namespace strand::engine::reports
