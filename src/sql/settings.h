// The settings of a job that SET, profiles and --set can give.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace strand::sql {

enum class SettingType : uint8_t { kText, kDuration, kInteger, kNumber, kBoolean, kMemory, kZone, kChoice };

/// One setting. Names and defaults are those of Flink 2.3 where Flink has the thing; ours begin with
/// `strand.`.
struct SettingSpec {
  std::string_view key;
  SettingType type;
  std::string_view fallback;  // empty: none
  std::string_view choices;   // kChoice: separated by `|`
  std::string_view meaning;
  int64_t lowest = 0;  // kInteger and kNumber
};

/// Every setting, sorted by key.
std::span<const SettingSpec> all_settings();
const SettingSpec* find_setting(std::string_view key);

/// Today's name of a key that Flink has renamed; else the key itself.
std::string current_key(std::string_view key);
/// A value as the rest of the program compares it: words that are a choice in the writing of `choices`,
/// `TRUE` as `true`, old names of choices as today's. What is no value of the key stays.
std::string current_value(std::string_view key, const std::string& value);

/// Errors: kUnknownOption, naming the nearest; kBadOption for a value of the wrong kind, or one that asks for
/// what would change answers and is not there. `warning`: the setting is accepted and changes nothing:
/// kNoEffect where we know what it asks for or Flink has it, kUnknownOption for any other `table.*` key
/// (Flink has more of them).
Status check_setting(const std::string& key, const std::string& value, Status& warning);

}  // namespace strand::sql
