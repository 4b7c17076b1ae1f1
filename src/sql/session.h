// The settings of a script while its statements are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sql/source_text.h"

namespace strand::sql {

/// Current settings: defaults, then SET in the order of the file, and above all those given outside the file.
class Session {
 public:
  /// Errors: kUnknownOption, kBadOption, with the setting's origin as place.
  Status fix(const std::map<std::string, plan::Setting>& settings);
  Status set(const std::string& key, const std::string& value, const Place& place);
  void reset(const std::string& key, const Place& place);
  void reset_all(const Place& place);

  /// The value, or the default, or an empty text.
  std::string get(const std::string& key) const;
  Duration duration(const std::string& key) const;
  /// All that have a value, defaults included.
  std::map<std::string, plan::Setting> all() const;

  std::vector<std::string> notes;
  std::vector<Status> warnings;

 private:
  bool is_fixed(const std::string& key, const char* word, const Place& place);

  std::map<std::string, plan::Setting> fixed_;
  std::map<std::string, plan::Setting> set_;
};

}  // namespace strand::sql
