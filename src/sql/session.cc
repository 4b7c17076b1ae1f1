#include "sql/session.h"

#include "base/text.h"
#include "sql/settings.h"

namespace strand::sql {

Status Session::fix(const std::map<std::string, plan::Setting>& settings) {
  for (const auto& [key, setting] : settings) {
    Status warning;
    STRAND_OK(check_setting(key, setting.value, warning).at(setting.origin));
    if (!warning.ok()) warnings.push_back(std::move(warning).at(setting.origin));
    fixed_[current_key(key)] = {current_value(key, setting.value), setting.origin};
  }
  return Status();
}

bool Session::is_fixed(const std::string& key, const char* word, const Place& place) {
  const auto found = fixed_.find(key);
  if (found == fixed_.end()) return false;
  notes.push_back(where(place) + ": " + word + " '" + key + "' is skipped: " + found->second.origin +
                  " gives '" + found->second.value + "'");
  return true;
}

Status Session::set(const std::string& key, const std::string& value, const Place& place) {
  Status warning;
  STRAND_OK(located(check_setting(key, value, warning), place));
  if (!warning.ok()) warnings.push_back(located(std::move(warning), place));
  if (!is_fixed(current_key(key), "SET", place))
    set_[current_key(key)] = {current_value(key, value), where(place)};
  return Status();
}

void Session::reset(const std::string& key, const Place& place) {
  if (!is_fixed(current_key(key), "RESET", place)) set_.erase(current_key(key));
}

void Session::reset_all(const Place& place) {
  for (const auto& [key, setting] : fixed_) is_fixed(key, "RESET", place);
  set_.clear();
}

std::string Session::get(const std::string& key) const {
  if (const auto found = fixed_.find(key); found != fixed_.end()) return found->second.value;
  if (const auto found = set_.find(key); found != set_.end()) return found->second.value;
  const SettingSpec* spec = find_setting(key);
  return spec == nullptr ? "" : std::string(spec->fallback);
}

Duration Session::duration(const std::string& key) const {
  const Result<Duration> parsed = parse_duration(get(key));
  return parsed.ok() ? *parsed : Duration{0};
}

std::map<std::string, plan::Setting> Session::all() const {
  std::map<std::string, plan::Setting> all;
  for (const SettingSpec& spec : all_settings()) {
    if (!spec.fallback.empty()) all[std::string(spec.key)] = {std::string(spec.fallback), "default"};
  }
  for (const auto& [key, setting] : set_) all[key] = setting;
  for (const auto& [key, setting] : fixed_) all[key] = setting;
  return all;
}

}  // namespace strand::sql
