// unpaid-orders [--state DIR] [--set KEY=VALUE] [--from latest|none|PATH]
#include "unpaid-orders/job.h"

int main(int argc, char** argv) {
  strandline::Job job = unpaid_orders::make(
      {{"connector", "filesystem"}, {"path", "events"}, {"format", "json"}},
      {{"connector", "filesystem"}, {"path", "unpaid"}, {"format", "json"}}, {{"connector", "print"}});
  return strandline::run(job, argc, argv);
}
