// The rules, and what they ask of a plan.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/lint.h"

namespace strand::lint {

void event_time(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);                // L01
void idle_shards(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);               // L02
void separate_roll_up(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);          // L03
void late_partials(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);             // L04
void deduplication_memory(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);      // L05
void added_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);                // L06
void shared_writer(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);             // L07
void no_checkpoints(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);            // L08
void transaction_times(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);         // L09
void open_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);                 // L10
void closed_twice(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);              // L12
void reading_speed(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);             // L13
void unread_late_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);          // L14
void short_idle_timeout(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);        // L15
void unmeasured_bound(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);          // L16
void wall_clock_state(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);          // L17
void clock_in_key(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);              // L18
void replay_flag(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);               // L19
void silence_unwatched(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);         // L20
void endless_join(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);              // L21
void timer_would_do(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);            // L22
void time_unit(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);                 // L23
void more_readers_than_shards(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);  // L24
void days_of_nobody(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);            // L25
void float_keys_and_money(const plan::Plan& plan, const Facts&, std::vector<Finding>& found);      // L26

/// A finding about a node; number and rule are filled in by lint().
Finding at(const plan::Node& node, std::string message, std::string explanation, std::string rewrite);

/// Whether `input`, or a node that it hangs on, satisfies the condition.
bool any_above(const plan::Input& input, const std::function<bool(const plan::Input&)>& condition);
/// The inputs that rows reach `input` from through projections, filters and unions: where their meaning is
/// made.
std::vector<plan::Input> origins(const plan::Input& input);
/// Whether any node reads this port.
bool is_read(const plan::Plan& plan, const plan::Node& node, Port port);

/// Whether the value of a column of `input` depends on the wall clock.
bool comes_from_clock(const plan::Input& input, size_t column);
/// Whether the table ends by itself: then its shards end, and hold nothing.
bool is_bounded(const plan::TableSpec& table);
/// Whether rows from a table that does not end reach `input`.
bool is_endless(const plan::Input& input);
/// Whether the name contains one of the words, which are written small.
bool has_word(const std::string& name, std::initializer_list<std::string_view> words);
std::optional<int64_t> whole_number(const std::string& text);
/// Rows that are shown and forgotten.
bool is_for_eyes(const plan::TableSpec& table);
/// A duration setting in milliseconds; 0 if it is not set.
int64_t setting_millis(const plan::Plan& plan, const std::string& key, const std::string& fallback);

}  // namespace strand::lint
