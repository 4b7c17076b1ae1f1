// What the tests of this folder share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sql/compile.h"

namespace strand::sql {

/// Line 1 of the jobs in tests.
inline const std::string kDeclarations =
    "CREATE TABLE clicks (click_id STRING, ad_id STRING, n BIGINT, ms BIGINT, other TIMESTAMP(3), "
    "ts AS TO_TIMESTAMP_LTZ(ms, 3), read_time AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
    "WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json'); "
    "CREATE TABLE sink (ad_id STRING, `day` STRING, n BIGINT, PRIMARY KEY (ad_id, `day`) NOT ENFORCED) "
    "WITH ('connector' = 'sqlite', 'path' = 'a.db', 'table-name' = 'sink');\n";

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The message of a job that must not compile.
inline std::string error_of(const std::string& sql) {
  const Result<CompiledJob> job = compile({.text = kDeclarations + sql, .file = "job.sql"});
  return job.ok() ? "it compiles" : job.status().to_string();
}

inline CompiledJob job_of(SqlInput input) {
  if (input.file.empty()) input.file = "job.sql";
  input.text = kDeclarations + input.text;
  Result<CompiledJob> job = compile(input);
  EXPECT_TRUE(job.ok()) << job.status().to_string();
  return job.ok() ? *std::move(job) : CompiledJob{};
}
inline plan::Plan plan_of(const std::string& sql) { return job_of({.text = sql, .file = {}}).plan; }

/// The node of that id; the test fails where there is none.
inline const plan::Node* find_node(const plan::Plan& plan, const std::string& id) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (node->id == id) return node.get();
  }
  static const plan::Node kNone{.id = {},
                                .label = {},
                                .detail = {},
                                .inputs = {{}},
                                .output = std::make_shared<const columnar::Schema>(),
                                .side_outputs = {},
                                .rowtime = {},
                                .where = {}};
  ADD_FAILURE() << "no node " << id << " in\n" << plan::explain(plan);
  return &kNone;
}
/// The detail of the node of that id; the test fails where there is none.
template <class Detail>
Detail detail_of(const plan::Plan& plan, const std::string& id) {
  const auto* detail = std::get_if<Detail>(&find_node(plan, id)->detail);
  EXPECT_NE(detail, nullptr) << id;
  return detail == nullptr ? Detail{} : *detail;
}
inline std::vector<std::string> ids_of(const plan::Plan& plan) {
  std::vector<std::string> ids;
  for (const plan::NodePtr& node : plan.nodes()) ids.push_back(node->id);
  return ids;
}
inline std::vector<std::string> names_of(const columnar::SchemaPtr& schema) {
  std::vector<std::string> names;
  for (const columnar::Field& field : schema->fields()) names.push_back(field.name);
  return names;
}

}  // namespace strand::sql
