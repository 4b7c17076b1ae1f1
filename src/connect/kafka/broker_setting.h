// What a broker is set to.
#pragma once

#include <optional>
#include <string>

#include "connect/kafka/client.h"

namespace strand::connect::kafka {

/// The value of a setting of the broker that answers first, for messages: nothing where it does not answer in
/// time, does not know the setting, or this user may not ask.
std::optional<std::string> broker_setting(const Client& client, const std::string& name);

}  // namespace strand::connect::kafka
