// `strandline status`, the status line of a run, and the restore report.
#pragma once

#include <string>

#include "engine/reports/books.h"
#include "obs/events.h"

namespace strand::engine::reports {

/// One job, several lines: since when, attempt and generation, checkpoint, rows, shards, memory, restore
/// report.
std::string status_text(const JobView& view, const plan::Plan& plan, WallTime now);
std::string status_json(const JobView& view, const plan::Plan& plan, WallTime now);

/// The event of the status line that a run logs every ten seconds.
obs::Event status_event(const JobView& view, const plan::Plan& plan, WallTime now);
/// The line that a terminal rewrites in place; at most `width` columns. `read_before` records had been read
/// `since`.
std::string status_line(const JobView& view, const plan::Plan& plan, WallTime now, int64_t read_before,
                        WallTime since, size_t width);

/// What the last restore had to do; lines indented by two, none if the job started anew.
std::string restore_text(const JobView& view, const Books& books, WallTime now);

/// Records read by the sources since the job's beginning.
int64_t records_read(const Books& books);

}  // namespace strand::engine::reports
