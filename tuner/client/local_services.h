// A tuner-server and a measure-worker of our own, as child processes: what `temper tune --local`
// runs on.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace temper::tuner {

struct LocalOptions {
  std::string program_folder;  // where tuner-server and measure-worker lie
  std::string db;              // made if it is not there
  int threads = 1;
  bool allow_unsandboxed = false;
  std::string target = "native";  // a name, of the worker
};

// Both end with this object, or with the thread that started them.
class LocalServices {
 public:
  // Starts both. An error has the words of the program that did not start.
  static Result<std::unique_ptr<LocalServices>> Start(const LocalOptions& options);
  virtual ~LocalServices() = default;

  // HOST:PORT of the server.
  virtual const std::string& address() const = 0;
  // OK while both run; else the last words of the one that ended.
  virtual Status Check() = 0;
  // Asks both to end and waits for it.
  virtual void Stop() = 0;
};

// The folder of this process's program.
std::string OwnProgramFolder();

}  // namespace temper::tuner
