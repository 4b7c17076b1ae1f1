// Facts that no run of the engine is asked for yet, and what they wait for.
#include <sstream>

#include "tests/story/story.h"

namespace strand::story {

namespace {

struct Missing {
  const char* reason;
  const char* ids;
};

constexpr Missing kMissing[] = {
    {"`explain` with a given rate (arithmetic of settings: replay, exposure, catch-up, size of state)",
     "F001 F002 F003 F004 F005 F006 F007 F008 F009 F010 F100 F101 F134 F135 F162 F210 F279 F280 F281 F282"},
    {"an alarm on the lag of the watermark, and its settings", "F070"},
    {"windows in processing time", "F024 F095 F096 F097 F099"},
    {"a second window over the same clicks", "F081"},
    {"sliding windows", "F082 F083 F084 F085 F086 F087 F088"},
    {"session windows", "F089 F090 F091 F092 F093 F094"},
    {"allowed lateness (branch A)", "F113 F114 F115 F116 F117 F118 F119 F120 F123 F295 F296"},
    {"deduplication whose ids expire by processing time", "F132"},
    {"`strandline check` on settings of the state's lifetime, with the retention of the input", "F131"},
    {"barriers that hold nothing back (at least once)", "F144"},
    {"a simulated store whose calls take time", "F156"},
    {"unaligned barriers (branch U)", "F145 F157 F158 F159 F160 F161 F177 F178 F179 F180 F188 F189"},
    {"defaults of a managed service and of Flink, which the engine does not have", "F163 F254"},
    {"a decision: floors belong to key groups (T2), the story takes the minimum of all", "F190 F251"},
    {"deduplication against a store outside (branch X)", "F192 F193 F293"},
    {"a decision: the index entry is generation#epoch#shard by a hash of ours, and a flush reads a range of "
     "it",
     "F197 F204 F205 F209"},
    {"a decision: an item without any writer's columns is deleted (F3), the story keeps it", "F199"},
    {"savepoints and two generations side by side (branch B)",
     "F220 F221 F253 F255 F256 F257 F258 F259 F260 F261 F262 F263"},
    {"a sink that shows rows when their checkpoint is complete (branch K)",
     "F222 F223 F224 F225 F226 F227 F228 F286"},
    {"Kafka, and the lint rules of its transactions", "F229 F230 F231 F232"},
    {"key groups of the C++ API in a run at another parallelism (branch Q)",
     "F243 F244 F245 F246 F247 F248 F249 F250 F252"},
    {"models of Kafka Streams and Spark", "F264 F265 F266 F267 F268 F269 F273 F275 F276"},
};

}  // namespace

std::map<std::string, std::string> not_built() {
  std::map<std::string, std::string> out;
  for (const Missing& missing : kMissing) {
    std::istringstream ids(missing.ids);
    for (std::string id; ids >> id;) out[id] = missing.reason;
  }
  return out;
}

}  // namespace strand::story
