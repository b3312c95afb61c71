#include <grpcpp/grpcpp.h>

#include <chrono>

#include "proto/measure.grpc.pb.h"
#include "worker/agent/session.h"

namespace temper::agent {
namespace {

constexpr auto kDeadline = std::chrono::seconds(10);
constexpr int kMaxMessageBytes = 64 << 20;

class GrpcClient final : public MeasureClient {
 public:
  explicit GrpcClient(const std::string& address) : address_(address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetMaxSendMessageSize(kMaxMessageBytes);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = proto::MeasureService::NewStub(channel_);
  }

  Result<proto::RegisterReply> Register(const proto::RegisterRequest& request) override {
    proto::RegisterReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    grpc::Status status = stub_->Register(&context, request, &reply);
    return ToResult(status, std::move(reply));
  }

  Result<proto::SynchronizeReply> Synchronize(const proto::SynchronizeRequest& request) override {
    proto::SynchronizeReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    grpc::Status status = stub_->Synchronize(&context, request, &reply);
    return ToResult(status, std::move(reply));
  }

 private:
  template <typename T>
  Result<T> ToResult(const grpc::Status& status, T reply) const {
    if (status.ok()) return reply;
    // Without a connection the words are gRPC's own, about addresses and file descriptors.
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
        channel_->GetState(false) != GRPC_CHANNEL_READY) {
      return Unavailable("nothing answers at " + address_);
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return DeadlineExceeded("no answer from " + address_ + " in time");
    }
    // Nobody else cancels: gRPC does it with the calls that meet a server which is ending.
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
      return Unavailable("the server at " + address_ + " is stopping");
    }
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }

  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;  // as gRPC hands it out
  std::unique_ptr<proto::MeasureService::Stub> stub_;
};

}  // namespace

std::unique_ptr<MeasureClient> MakeGrpcClient(const std::string& address) {
  return std::make_unique<GrpcClient>(address);
}

}  // namespace temper::agent
