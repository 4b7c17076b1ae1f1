// How many files this process may have open.
#pragma once

namespace strand::env {

/// From now on as many as the system lets it have: raises the soft limit to the hard one.
void allow_many_open_files();

}  // namespace strand::env
