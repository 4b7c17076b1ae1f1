#include "sql/full_name.h"

#include <algorithm>

#include "sql/unparse.h"

namespace strand::sql {

namespace {

std::string as_written(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    const std::string_view code = part.substr(i, 3);
    if (code != "%2E" && code != "%25") {
      out += part[i];
      continue;
    }
    out += code == "%2E" ? '.' : '%';
    i += 2;
  }
  return out;
}

}  // namespace

std::string part_of_name(const std::string& part) {
  std::string out;
  for (const char c : part)
    out += c == '.' ? std::string("%2E") : c == '%' ? std::string("%25") : std::string(1, c);
  return out;
}

std::string last_part(const std::string& full_name) {
  return as_written(std::string_view(full_name).substr(full_name.rfind('.') + 1));  // npos + 1 is 0
}

bool is_inside(const std::string& full_name, const std::string& prefix, int parts) {
  return full_name.starts_with(prefix) && std::count(full_name.begin() + static_cast<int64_t>(prefix.size()),
                                                     full_name.end(), '.') == parts - 1;
}

std::string name_to_sql(const std::string& full_name) {
  std::string text;
  for (size_t at = 0; at <= full_name.size();) {
    const size_t dot = std::min(full_name.find('.', at), full_name.size());
    text +=
        (at > 0 ? "." : "") + identifier_to_sql(as_written(std::string_view(full_name).substr(at, dot - at)));
    at = dot + 1;
  }
  return text;
}

}  // namespace strand::sql
