// Facts that are not read at parallelism 1, 2 and 4, and why.
#include "tests/story/story.h"

namespace strand::story {

namespace {

constexpr Reasoned kOnce[] = {
    {"they speak of subtasks and of the groups that each owns, and set the parallelism themselves",
     "F190 F243 F244 F245 F246 F247 F248 F249 F250 F251 F252"},
    {"what `explain` predicts from the settings and a given rate, parallelism among them",
     "F001 F002 F003 F004 F005 F006 F007 F008 F009 F010 F100 F101 F134 F135 F162 F210 F280 F281 F282"},
    {"two channels of one operator, filled by hand", "F143 F144 F145"},
    {"rows that wait for the one sink of a single subtask", "F158"},
    {"a shard that comes back with an old row counts at once beside others in a subtask, and not alone in "
     "one",
     "F065 F066 F067"},
    {"requests to a table, one by one",
     "F197 F203 F206 F209 F220 F221 F256 F257 F258 F259 F260 F261 F262 F263 F277"},
    {"other ways to count, by an operator that sees all shards",
     "F264 F265 F266 F267 F268 F269 F273 F275 F276"},
    {"sweeps over 46 crashes; at other parallelisms the runs of `strandline sim` crash anywhere",
     "F285 F286 F287 F288 F289 F290 F291 F292 F294"},
    {"random runs, each at a parallelism of its own", "F297 F298 F299 F300 F301 F302"},
};

}  // namespace

std::map<std::string, std::string> told_once() { return by_id(kOnce); }

}  // namespace strand::story
