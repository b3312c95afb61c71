// The service on the network: gRPC handlers that only convert.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tuner/server/service.h"

namespace temper::tuner {

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;
  // HOST:PORT that it listens on.
  virtual const std::string& address() const = 0;
  // Refuses new calls, lets those that run end for up to `seconds`, then returns.
  virtual void Shutdown(double seconds) = 0;
};

// Serves `service` (borrowed) at HOST:PORT; port 0 takes a free one. Without mutual TLS only
// loopback addresses are served (PERMISSION_DENIED). UNAVAILABLE: the port is in use.
Result<std::unique_ptr<GrpcServer>> StartGrpcServer(const std::string& listen,
                                                    TuningService* service);

// Whether HOST:PORT names a loopback address with a port; else INVALID_ARGUMENT for what is no
// address, PERMISSION_DENIED for what is not loopback.
Status CheckListenAddress(const std::string& listen);

// UNAVAILABLE where the port is in use now, so that nothing else is begun in vain.
Status CheckPortIsFree(const std::string& listen);

}  // namespace temper::tuner
