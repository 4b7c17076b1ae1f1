#include "sim/world/click_log.h"

#include <map>

#include "base/text.h"
#include "sim/world/simulation.h"

namespace strand::sim {

std::string create_clicks() {
  std::string sql =
      "CREATE TABLE clicks (click_id STRING, ad_id STRING, spend_micros BIGINT, device_ms BIGINT, arrival_ms "
      "BIGINT,"
      " ts AS TO_TIMESTAMP_LTZ(LEAST(device_ms, arrival_ms), 3), read_time AS PROCTIME(),"
      " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (";
  for (const auto& [name, value] : click_files()) sql += "'" + name + "' = '" + value + "', ";
  return sql + "'json.ignore-parse-errors' = 'true', 'scan.watermark.idle-timeout' = '20 s');\n";
}

std::string create_log() { return "CREATE TABLE log (click_id STRING) WITH ('connector' = 'simlog');\n"; }

void compare_log(const ClickInput& input, const SimTables& store, std::vector<std::string>& out) {
  std::map<std::string, int64_t> times;
  for (const std::string& row : store.added("log")) ++times[row.substr(3, row.size() - 4)];  // +I[id]
  for (const ClickLine& line : input.lines) {
    if (!line.bad) --times[line.click_id];
  }
  for (const auto& [id, more] : times) {
    if (more != 0) out.push_back("log: " + id + " " + std::to_string(more) + " times more than clicked");
  }
}

std::string sql_instant(int64_t millis) {
  std::string text = format_utc(millis).substr(0, 23);
  text[10] = ' ';
  return text;
}

std::string sql_seconds(int64_t millis) {
  std::string text = std::to_string(millis / 1000);
  if (millis % 1000 != 0) text += "." + std::to_string(1000 + millis % 1000).substr(1);
  return "INTERVAL '" + text + "' SECOND";
}

}  // namespace strand::sim
