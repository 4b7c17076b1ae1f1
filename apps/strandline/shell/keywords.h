// The words of SQL that a shell completes.
#pragma once

#include <string>
#include <vector>

namespace strand::app::shell {

const std::vector<std::string>& keywords();

}  // namespace strand::app::shell
