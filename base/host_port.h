// Network addresses as people write them: HOST:PORT.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace temper {

struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 one in brackets
  int port = 0;
};

// INVALID_ARGUMENT quotes the text and says what it lacks. Port 0, which stands for a free one, is
// for listeners alone.
Result<HostPort> ParseHostPort(std::string_view text, bool allow_port_zero = false);

}  // namespace temper
