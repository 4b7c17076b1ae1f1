// Facts that no run of the engine is asked for yet, and what they wait for.
#include "tests/story/story.h"

namespace strand::story {

namespace {

constexpr Reasoned kMissing[] = {
    {"defaults of a managed service and of Flink, which the engine does not have", "F163 F254 F279"},
    {"a decision: the index entry begins with the generation, and its shard is by a hash of ours",
     "F204 F205"},
    {"a decision: an item without any writer's columns is deleted (F3), the story keeps it", "F199"},
    {"a decision: a generation for each writer (W2), where the story has one for the item", "F253"},
    {"a decision: a transaction is opened when its checkpoint is complete, and lives for milliseconds (X5)",
     "F226 F227"},
};

}  // namespace

std::map<std::string, std::string> not_built() { return by_id(kMissing); }

}  // namespace strand::story
