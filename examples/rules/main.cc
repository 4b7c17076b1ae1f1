// rules [--state DIR] [--set KEY=VALUE] [--from latest|none|PATH]
#include "rules/job.h"

int main(int argc, char** argv) {
  strandline::Job job = rules::make({{"connector", "filesystem"}, {"path", "readings"}, {"format", "json"}},
                                    {{"connector", "filesystem"}, {"path", "limits"}, {"format", "json"}},
                                    {{"connector", "filesystem"}, {"path", "alarms"}, {"format", "json"}});
  return strandline::run(job, argc, argv);
}
