#include "compiler/tools/server_client.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "costmodel/features.h"
#include "tuner/client/client.h"

namespace temper::tools {
namespace {

class Client final : public ServerClient {
 public:
  Client(std::string address, std::unique_ptr<tuner::TunerClient> tuner)
      : address_(std::move(address)), tuner_(std::move(tuner)) {}

  Result<std::vector<KnownBest>> Query(const KnownFilter& filter) override {
    proto::QueryRequest request;
    for (const Hash& hash : filter.workloads) request.add_workloads(std::string(hash.AsBytes()));
    request.set_target(filter.target);
    request.set_micro_architecture(filter.micro_architecture);
    request.set_threads(filter.threads);
    TEMPER_ASSIGN_OR_RETURN(const proto::QueryReply reply, tuner_->Query(request));
    std::vector<KnownBest> known;
    for (const proto::QueryRecord& r : reply.records()) {
      auto hash = Hash::FromBytes(r.workload());
      if (!hash.ok()) return hash.status().WithContext(address_);
      known.push_back({*hash, r.target(), r.micro_architecture(), r.threads(), r.task_name(),
                       r.best_us(), r.gflops(), r.trials(), r.schedule(), r.worker(),
                       r.created_ms(), r.numerics(),
                       r.warm_constants() ? Constants::kWarm : Constants::kCold});
    }
    return known;
  }

  Result<std::vector<Worker>> Workers() override {
    TEMPER_ASSIGN_OR_RETURN(const proto::ListDevicesReply reply, tuner_->ListDevices());
    std::vector<Worker> workers;
    for (const proto::Device& d : reply.devices()) {
      Worker worker{d.name(), d.target().name(), d.fingerprint(), d.health(), {}};
      worker.cores.assign(d.cores().begin(), d.cores().end());
      worker.threads = d.threads();
      worker.unsandboxed = d.unsandboxed();
      worker.control_gflops = d.control_gflops();
      worker.done = d.done();
      worker.leased = d.leased();
      worker.seen_seconds_ago = d.seen_seconds_ago();
      workers.push_back(std::move(worker));
    }
    return workers;
  }

  Result<std::string> CostModelOf(const Target& target) override {
    proto::GetModelRequest request;
    request.set_target(Fingerprint(target));
    request.set_micro_architecture(MicroArchitecture(target));
    request.set_features_version(costmodel::kFeaturesVersion);
    TEMPER_ASSIGN_OR_RETURN(const proto::GetModelReply reply, tuner_->GetModel(request));
    return reply.model();
  }

  const std::string& address() const override { return address_; }

 private:
  std::string address_;
  std::unique_ptr<tuner::TunerClient> tuner_;
};

class ServerSource final : public driver::ScheduleSource {
 public:
  ServerSource(ServerClient* client, te::Numerics numerics)
      : client_(client), numerics_(numerics) {}

  Result<std::vector<driver::FoundSchedule>> Find(const Hash& workload, const Target& target,
                                                  int threads, Constants constants) override {
    KnownFilter filter;
    filter.workloads = {workload};
    filter.target = Fingerprint(target);
    filter.micro_architecture = MicroArchitecture(target);
    filter.threads = threads;
    TEMPER_ASSIGN_OR_RETURN(std::vector<KnownBest> known, client_->Query(filter));
    std::vector<std::pair<bool, driver::FoundSchedule>> found;  // the first: constants elsewhere
    for (const KnownBest& k : known) {
      if (k.best_us <= 0 || k.workload != workload || k.threads != threads) continue;
      const auto numerics = te::ParseNumerics(k.numerics);
      if (!numerics || *numerics > numerics_) continue;
      found.emplace_back(k.constants != constants,
                         driver::FoundSchedule{k.target == filter.target, k.schedule, k.best_us});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::tuple(!a.second.exact, a.first, a.second.us) <
             std::tuple(!b.second.exact, b.first, b.second.us);
    });
    std::vector<driver::FoundSchedule> sorted;
    for (auto& [elsewhere, schedule] : found) sorted.push_back(std::move(schedule));
    return sorted;
  }

  std::string Name() const override { return client_->address(); }

 private:
  ServerClient* client_;
  te::Numerics numerics_;
};

}  // namespace

Result<std::unique_ptr<ServerClient>> ConnectServer(const std::string& address) {
  TEMPER_ASSIGN_OR_RETURN(auto tuner, tuner::ConnectTuner(address));
  return std::unique_ptr<ServerClient>(std::make_unique<Client>(address, std::move(tuner)));
}

std::unique_ptr<driver::ScheduleSource> MakeServerSource(ServerClient* client,
                                                         te::Numerics numerics) {
  return std::make_unique<ServerSource>(client, numerics);
}

}  // namespace temper::tools
