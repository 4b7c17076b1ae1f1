// strandline run examples/ad-clicks/job.sql, as a program of its own:
//
//   ad-clicks [--state DIR] [--set KEY=VALUE] [--from latest|none|PATH]

#include <cstdio>

#include "ad-clicks/pipeline.h"

int main(int argc, char** argv) {
  strandline::Job job = ad_clicks::make();
  if (!job.error().empty()) {
    std::fprintf(stderr, "%s\n", job.error().c_str());
    return 1;
  }
  return strandline::run(job, argc, argv);
}
