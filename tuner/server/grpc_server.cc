#include "tuner/server/grpc_server.h"

#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <sys/socket.h>

#include <chrono>

#include "base/file.h"
#include "base/host_port.h"
#include "base/text.h"
#include "proto/measure.grpc.pb.h"
#include "proto/tuner.grpc.pb.h"

namespace temper::tuner {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

template <typename T>
grpc::Status Answer(Result<T> result, T* reply) {
  if (!result.ok()) {
    return {static_cast<grpc::StatusCode>(result.status().code()), result.status().message()};
  }
  *reply = std::move(*result);
  return grpc::Status::OK;
}

Status CannotListen(const std::string& listen) {
  return Unavailable("cannot listen on " + listen +
                     ": the port is in use or not allowed; choose another with --listen, or "
                     "port 0 for a free one");
}

class MeasureHandlers final : public proto::MeasureService::Service {
 public:
  explicit MeasureHandlers(TuningService* service) : service_(service) {}
  grpc::Status Register(grpc::ServerContext*, const proto::RegisterRequest* request,
                        proto::RegisterReply* reply) override {
    return Answer(service_->Register(*request), reply);
  }
  grpc::Status Synchronize(grpc::ServerContext*, const proto::SynchronizeRequest* request,
                           proto::SynchronizeReply* reply) override {
    return Answer(service_->Synchronize(*request), reply);
  }

 private:
  TuningService* service_;
};

class TunerHandlers final : public proto::TunerService::Service {
 public:
  explicit TunerHandlers(TuningService* service) : service_(service) {}
  grpc::Status SubmitJob(grpc::ServerContext*, const proto::SubmitJobRequest* request,
                         proto::SubmitJobReply* reply) override {
    return Answer(service_->SubmitJob(*request), reply);
  }
  grpc::Status WatchJob(grpc::ServerContext*, const proto::WatchJobRequest* request,
                        proto::JobStatus* reply) override {
    return Answer(service_->WatchJob(*request), reply);
  }
  grpc::Status CancelJob(grpc::ServerContext*, const proto::CancelJobRequest* request,
                         proto::JobStatus* reply) override {
    return Answer(service_->CancelJob(*request), reply);
  }
  grpc::Status ListJobs(grpc::ServerContext*, const proto::ListJobsRequest*,
                        proto::ListJobsReply* reply) override {
    return Answer(service_->ListJobs(), reply);
  }
  grpc::Status Query(grpc::ServerContext*, const proto::QueryRequest* request,
                     proto::QueryReply* reply) override {
    return Answer(service_->Query(*request), reply);
  }
  grpc::Status GetModel(grpc::ServerContext*, const proto::GetModelRequest* request,
                        proto::GetModelReply* reply) override {
    return Answer(service_->GetModel(*request), reply);
  }
  grpc::Status ListDevices(grpc::ServerContext*, const proto::ListDevicesRequest*,
                           proto::ListDevicesReply* reply) override {
    return Answer(service_->ListDevices(), reply);
  }

 private:
  TuningService* service_;
};

class Server final : public GrpcServer {
 public:
  explicit Server(TuningService* service) : measure_(service), tuner_(service) {}
  ~Server() override { Shutdown(0); }

  Status Start(const std::string& listen) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
    // A second server on the port must fail, not share it.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    grpc::ResourceQuota quota("tuner-server");
    quota.SetMaxThreads(256);
    builder.SetResourceQuota(quota);
    builder.RegisterService(&measure_);
    builder.RegisterService(&tuner_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) return CannotListen(listen);
    address_ = listen.substr(0, listen.rfind(':') + 1) + std::to_string(port);
    return OkStatus();
  }

  const std::string& address() const override { return address_; }

  void Shutdown(double seconds) override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() +
                      std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
    server_->Wait();
    server_.reset();
  }

 private:
  MeasureHandlers measure_;
  TunerHandlers tuner_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace

Status CheckListenAddress(const std::string& listen) {
  TEMPER_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(listen, /*allow_port_zero=*/true));
  const std::string& host = address.host;
  auto octets = SplitString(host, '.');
  bool loopback = host == "localhost" || host == "[::1]";
  if (octets.size() == 4 && octets[0] == "127") {
    loopback = true;
    for (std::string_view octet : octets) {
      auto n = ParseInt64(octet);
      loopback = loopback && n.ok() && *n >= 0 && *n <= 255;
    }
  }
  if (!loopback) {
    return PermissionDenied("refusing to listen on " + Quoted(host) +
                            ": without mutual TLS anybody who reaches it could use this server; "
                            "listen on 127.0.0.1 and tunnel to it, for example with ssh -L");
  }
  return OkStatus();
}

Status CheckPortIsFree(const std::string& listen) {
  TEMPER_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(listen, /*allow_port_zero=*/true));
  if (address.port == 0) return OkStatus();
  std::string host = address.host;
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    return CannotListen(listen);
  }
  bool free = false;  // one address of a name is enough
  for (const addrinfo* a = found; a != nullptr && !free; a = a->ai_next) {
    ScopedFd socket_fd(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    const int on = 1;  // as gRPC does; it still fails where somebody listens
    free = socket_fd.valid() &&
           setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           bind(socket_fd.get(), a->ai_addr, a->ai_addrlen) == 0;
  }
  freeaddrinfo(found);
  return free ? OkStatus() : CannotListen(listen);
}

Result<std::unique_ptr<GrpcServer>> StartGrpcServer(const std::string& listen,
                                                    TuningService* service) {
  TEMPER_RETURN_IF_ERROR(CheckListenAddress(listen));
  auto server = std::make_unique<Server>(service);
  TEMPER_RETURN_IF_ERROR(server->Start(listen));
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace temper::tuner
