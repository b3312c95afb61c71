#include "tuner/client/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "base/host_port.h"
#include "proto/tuner.grpc.pb.h"

namespace temper::tuner {
namespace {

constexpr double kDeadlineSeconds = 20;
constexpr double kReconnectSeconds = 2;
constexpr int kMaxMessageBytes = 64 << 20;

std::chrono::system_clock::time_point In(double seconds) {
  return std::chrono::system_clock::now() +
         std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

class Client final : public TunerClient {
 public:
  explicit Client(const std::string& address) : address_(address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetMaxSendMessageSize(kMaxMessageBytes);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = proto::TunerService::NewStub(channel_);
  }

  bool Connect(double seconds) { return channel_->WaitForConnected(In(seconds)); }

  Result<proto::SubmitJobReply> SubmitJob(const proto::SubmitJobRequest& request) override {
    return Call<proto::SubmitJobReply>(&proto::TunerService::Stub::SubmitJob, request);
  }
  Result<proto::JobStatus> WatchJob(const proto::WatchJobRequest& request) override {
    return Call<proto::JobStatus>(&proto::TunerService::Stub::WatchJob, request);
  }
  Result<proto::JobStatus> CancelJob(const std::string& job) override {
    proto::CancelJobRequest request;
    request.set_job(job);
    return Call<proto::JobStatus>(&proto::TunerService::Stub::CancelJob, request);
  }
  Result<proto::ListJobsReply> ListJobs() override {
    return Call<proto::ListJobsReply>(&proto::TunerService::Stub::ListJobs,
                                      proto::ListJobsRequest());
  }
  Result<proto::QueryReply> Query(const proto::QueryRequest& request) override {
    return Call<proto::QueryReply>(&proto::TunerService::Stub::Query, request);
  }
  Result<proto::GetModelReply> GetModel(const proto::GetModelRequest& request) override {
    return Call<proto::GetModelReply>(&proto::TunerService::Stub::GetModel, request);
  }
  Result<proto::ListDevicesReply> ListDevices() override {
    return Call<proto::ListDevicesReply>(&proto::TunerService::Stub::ListDevices,
                                         proto::ListDevicesRequest());
  }

 private:
  template <typename Reply, typename Method, typename Request>
  Result<Reply> Call(Method method, const Request& request) {
    // Every call may be repeated: one that meets a connection which has just broken is.
    grpc::Status status;
    for (int attempt = 0; attempt < 2; ++attempt) {
      Reply reply;
      grpc::ClientContext context;
      context.set_deadline(In(kDeadlineSeconds));
      status = (stub_.get()->*method)(&context, request, &reply);
      if (status.ok()) return reply;
      // Nobody else cancels: gRPC does it with the calls that meet a server which is ending.
      if (status.error_code() == grpc::StatusCode::CANCELLED) {
        status = {grpc::StatusCode::UNAVAILABLE, "the tuner-server is stopping"};
      }
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
      if (attempt == 0) channel_->WaitForConnected(In(kReconnectSeconds));
    }
    // Without a connection the words are gRPC's own, about addresses and file descriptors.
    const Code code = static_cast<Code>(status.error_code());
    if (code == Code::kUnavailable && channel_->GetState(false) != GRPC_CHANNEL_READY) {
      return Unavailable("the tuner-server at " + address_ + " does not answer any more");
    }
    if (code == Code::kDeadlineExceeded) {
      return DeadlineExceeded("the tuner-server at " + address_ + " did not answer in time");
    }
    return Status(code, status.error_message());
  }

  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;  // as gRPC hands it out
  std::unique_ptr<proto::TunerService::Stub> stub_;
};

}  // namespace

Result<std::unique_ptr<TunerClient>> ConnectTuner(const std::string& address,
                                                  double timeout_seconds) {
  TEMPER_RETURN_IF_ERROR(ParseHostPort(address).status());
  auto client = std::make_unique<Client>(address);
  if (!client->Connect(timeout_seconds)) {
    return Unavailable("no tuner-server answers at " + address +
                       "; start one with tuner-server --listen " + address +
                       " --db tuning.db, name another with --server, or use --local");
  }
  return std::unique_ptr<TunerClient>(std::move(client));
}

}  // namespace temper::tuner
