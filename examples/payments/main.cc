// payments [--state DIR] [--set KEY=VALUE] [--from latest|none|PATH]
#include "payments/job.h"

int main(int argc, char** argv) {
  strandline::Job job = payments::make(
      {{"connector", "filesystem"}, {"path", "orders"}, {"format", "json"}},
      {{"connector", "filesystem"}, {"path", "payments"}, {"format", "json"}},
      {{"connector", "filesystem"}, {"path", "paid"}, {"format", "json"}}, {{"connector", "print"}});
  return strandline::run(job, argc, argv);
}
