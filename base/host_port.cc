#include "base/host_port.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace temper {
namespace {

constexpr size_t kMaxHostBytes = 253;  // of a name, RFC 1035

bool IsHost(std::string_view host) {
  if (host.empty() || host.size() > kMaxHostBytes) return false;
  std::string_view also = ".-_";
  if (host.front() == '[') {
    if (host.size() < 4 || host.back() != ']') return false;
    host = host.substr(1, host.size() - 2);
    also = ":.%";
  }
  return std::all_of(host.begin(), host.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || also.find(c) != std::string_view::npos;
  });
}

}  // namespace

Result<HostPort> ParseHostPort(std::string_view text, bool allow_port_zero) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsHost(text.substr(0, colon))) {
    return InvalidArgument(Quoted(text) + " is not HOST:PORT, such as 127.0.0.1:7400");
  }
  const int64_t first = allow_port_zero ? 0 : 1;
  const auto port = ParseInt64(text.substr(colon + 1));
  if (!port.ok() || *port < first || *port > 65535) {
    return InvalidArgument(Quoted(text) + " has no port from " + std::to_string(first) +
                           " to 65535 behind its host");
  }
  return HostPort{std::string(text.substr(0, colon)), static_cast<int>(*port)};
}

}  // namespace temper
