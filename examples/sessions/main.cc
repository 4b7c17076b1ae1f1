// sessions [--state DIR] [--set KEY=VALUE] [--from latest|none|PATH]
#include "sessions/job.h"

int main(int argc, char** argv) {
  strandline::Job job = sessions::make(
      {{"connector", "filesystem"}, {"path", "clicks"}, {"format", "json"}},
      {{"connector", "filesystem"}, {"path", "sessions"}, {"format", "json"}}, {{"connector", "print"}});
  return strandline::run(job, argc, argv);
}
