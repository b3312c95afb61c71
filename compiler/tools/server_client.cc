#include "compiler/tools/server_client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>

#include "proto/tuner.grpc.pb.h"

namespace temper::tools {
namespace {

constexpr auto kTimeout = std::chrono::seconds(10);
constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr int kMaxMessageBytes = 64 << 20;

std::chrono::system_clock::time_point Deadline(std::chrono::seconds timeout = kTimeout) {
  return std::chrono::system_clock::now() + timeout;
}

class Client final : public ServerClient {
 public:
  explicit Client(std::string address) : address_(std::move(address)) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    channel_ = grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
    stub_ = proto::TunerService::NewStub(channel_);
  }

  Status Connect() {
    if (channel_->WaitForConnected(Deadline(kConnectTimeout))) return OkStatus();
    return Unavailable(fmt::format(
        "no tuner-server answers at {} within {} seconds. Start one with `tuner-server --listen {} "
        "--db tuning.db`, or name another with --server.",
        address_, kConnectTimeout.count(), address_));
  }

  Result<std::vector<KnownBest>> Query(const KnownFilter& filter) override {
    proto::QueryRequest request;
    for (const Hash& hash : filter.workloads) request.add_workloads(std::string(hash.AsBytes()));
    request.set_target(filter.target);
    request.set_micro_architecture(filter.micro_architecture);
    request.set_threads(filter.threads);
    proto::QueryReply reply;
    grpc::ClientContext context;
    context.set_deadline(Deadline());
    TEMPER_RETURN_IF_ERROR(ToStatus(stub_->Query(&context, request, &reply)));
    std::vector<KnownBest> known;
    for (const proto::QueryRecord& r : reply.records()) {
      auto hash = Hash::FromBytes(r.workload());
      if (!hash.ok()) return hash.status().WithContext(address_);
      known.push_back({*hash, r.target(), r.micro_architecture(), r.threads(), r.task_name(),
                       r.best_us(), r.gflops(), r.trials(), r.schedule(), r.worker(),
                       r.created_ms()});
    }
    return known;
  }

  Result<std::vector<Worker>> Workers() override {
    proto::ListDevicesReply reply;
    grpc::ClientContext context;
    context.set_deadline(Deadline());
    TEMPER_RETURN_IF_ERROR(ToStatus(stub_->ListDevices(&context, {}, &reply)));
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

  const std::string& address() const override { return address_; }

 private:
  Status ToStatus(const grpc::Status& status) const {
    if (status.ok()) return OkStatus();
    return Status(static_cast<Code>(status.error_code()), status.error_message())
        .WithContext("tuner-server at " + address_);
  }

  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<proto::TunerService::Stub> stub_;
};

class ServerSource final : public driver::ScheduleSource {
 public:
  explicit ServerSource(ServerClient* client) : client_(client) {}

  Result<std::vector<driver::FoundSchedule>> Find(const Hash& workload, const Target& target,
                                                  int threads) override {
    KnownFilter filter;
    filter.workloads = {workload};
    filter.target = Fingerprint(target);
    filter.micro_architecture = MicroArchitecture(target);
    filter.threads = threads;
    TEMPER_ASSIGN_OR_RETURN(std::vector<KnownBest> known, client_->Query(filter));
    std::vector<driver::FoundSchedule> found;
    for (const KnownBest& k : known) {
      if (k.best_us <= 0 || k.workload != workload || k.threads != threads) continue;
      found.push_back({k.target == filter.target, k.schedule, k.best_us});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.exact != b.exact ? a.exact : a.us < b.us;
    });
    return found;
  }

  std::string Name() const override { return client_->address(); }

 private:
  ServerClient* client_;
};

}  // namespace

Result<std::unique_ptr<ServerClient>> ConnectServer(const std::string& address) {
  auto client = std::make_unique<Client>(address);
  TEMPER_RETURN_IF_ERROR(client->Connect());
  return std::unique_ptr<ServerClient>(std::move(client));
}

std::unique_ptr<driver::ScheduleSource> MakeServerSource(ServerClient* client) {
  return std::make_unique<ServerSource>(client);
}

}  // namespace temper::tools
