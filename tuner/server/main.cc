// tuner-server: searches for fast schedules with the help of measure-workers.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/core_lock.h"
#include "base/ending_signals.h"
#include "db/sqlite_store.h"
#include "tuner/server/grpc_server.h"

namespace {

struct Flags {
  std::string listen = "127.0.0.1:7400";
  std::string db;
  bool verbose = false;
};

int Fail(const temper::Status& status) {
  std::fprintf(stderr, "tuner-server: %s\n", status.message().c_str());
  return 1;
}

int Run(const Flags& flags) {
  using namespace temper;
  Logger log = Logger::Stderr("tuner-server", flags.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  Status address = tuner::CheckListenAddress(flags.listen);
  if (!address.ok()) {
    const int failed = Fail(address.WithContext("--listen"));
    return address.code() == Code::kInvalidArgument ? 2 : failed;
  }
  // Before a database is made.
  if (Status free = tuner::CheckPortIsFree(flags.listen); !free.ok()) return Fail(free);

  auto signals = EndingSignals::Block();
  if (!signals.ok()) return Fail(signals.status());

  db::SqliteOptions store_options;
  store_options.create = true;
  store_options.log = log;
  auto store = db::OpenSqliteStore(flags.db, store_options);
  if (!store.ok()) return Fail(store.status());

  SystemClock clock;
  tuner::ServiceOptions options;
  if (auto folder = CoreLockFolder(); folder.ok()) options.core_lock_folder = *folder;
  tuner::TuningService service(options, store->get(), &clock, tuner::ModelTunerFactory(), log);
  Status resumed = service.Resume();
  if (!resumed.ok()) return Fail(resumed);
  auto server = tuner::StartGrpcServer(flags.listen, &service);
  if (!server.ok()) return Fail(server.status());
  service.Start();
  std::printf("%s\n", (*server)->address().c_str());
  std::fflush(stdout);
  log.Info("listening on {}, database {}", (*server)->address(), flags.db);

  signals->Wait();
  log.Info("stopping");
  service.Stop();
  (*server)->Shutdown(2);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // its errors come back as statuses
  Flags flags;
  CLI::App app{
      "Tunes models: searches for fast schedules, which measure-workers build and time.\n"
      "Example: tuner-server --listen 127.0.0.1:7400 --db tuning.db"};
  app.name("tuner-server");
  app.add_option("--listen", flags.listen, "HOST:PORT, loopback only; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--db", flags.db, "the tuning database; made if it is not there")->required();
  app.add_flag("--verbose", flags.verbose, "log more");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return Run(flags);
}
