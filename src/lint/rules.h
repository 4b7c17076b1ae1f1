// The rules, and what they ask of a plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lint/lint.h"

namespace strand::lint {

void event_time(const plan::Plan& plan, std::vector<Finding>& found);            // L01
void idle_shards(const plan::Plan& plan, std::vector<Finding>& found);           // L02
void separate_roll_up(const plan::Plan& plan, std::vector<Finding>& found);      // L03
void late_partials(const plan::Plan& plan, std::vector<Finding>& found);         // L04
void deduplication_memory(const plan::Plan& plan, std::vector<Finding>& found);  // L05
void added_rows(const plan::Plan& plan, std::vector<Finding>& found);            // L06
void shared_writer(const plan::Plan& plan, std::vector<Finding>& found);         // L07
void no_checkpoints(const plan::Plan& plan, std::vector<Finding>& found);        // L08
void open_rows(const plan::Plan& plan, std::vector<Finding>& found);             // L10
void closed_twice(const plan::Plan& plan, std::vector<Finding>& found);          // L12
void reading_speed(const plan::Plan& plan, std::vector<Finding>& found);         // L13

/// A finding about a node; number and rule are filled in by lint().
Finding at(const plan::Node& node, std::string message, std::string explanation, std::string rewrite);

/// Whether `input`, or a node that it hangs on, satisfies the condition.
bool any_above(const plan::Input& input, const std::function<bool(const plan::Input&)>& condition);
/// The inputs that rows reach `input` from through projections, filters and unions: where their meaning is
/// made.
std::vector<plan::Input> origins(const plan::Input& input);
/// Whether any node reads this port.
bool is_read(const plan::Plan& plan, const plan::Node& node, Port port);

/// Rows that are shown and forgotten.
bool is_for_eyes(const plan::TableSpec& table);
/// A duration setting in milliseconds; 0 if it is not set.
int64_t setting_millis(const plan::Plan& plan, const std::string& key, const std::string& fallback);

}  // namespace strand::lint
