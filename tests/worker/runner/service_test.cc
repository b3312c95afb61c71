// The runner on kernels that are right, wrong, and worse; in this process, and as the real program
// in its jail for those that would end it.
#include "worker/runner/service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/frame_channel.h"
#include "base/seeded_values.h"
#include "worker/sandbox/jail.h"

namespace temper::runner {
namespace {

constexpr uint64_t kSeed = 11;

std::vector<ScopedFd> Open(const std::vector<std::string>& kinds) {
  std::vector<ScopedFd> fds;
  for (const std::string& kind : kinds) {
    fds.emplace_back(open((KERNELS + kind + ".so").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fds.back().valid()) << kind;
  }
  return fds;
}

proto::RunnerRequest PrepareRequest(double error = 0) {
  proto::RunnerRequest request;
  auto* prepare = request.mutable_prepare();
  prepare->set_key(1);
  prepare->set_seed(kSeed);
  for (int64_t i : {0, 5, 11}) {
    double x = SeededValue(DType::kFloat32, kSeed, 0, i);
    double w = SeededValue(DType::kFloat32, kSeed, 1, i);
    auto* element = prepare->add_expected();
    element->set_index(i);
    element->set_value(2 * x + w + error);
    element->set_magnitude(2 * std::abs(x) + std::abs(w));
  }
  return request;
}

proto::RunnerRequest MeasureRequest() {
  proto::RunnerRequest request;
  request.mutable_measure()->set_key(1);
  request.mutable_measure()->set_budget_seconds(0.002);
  return request;
}

class Service : public ::testing::Test {
 protected:
  void SetUp() override {
    auto reply = service_.Serve(PrepareRequest(), Open({"GOOD"}));
    ASSERT_EQ(reply.timings_size(), 1);
    ASSERT_EQ(reply.timings(0).outcome(), proto::OUTCOME_OK) << reply.timings(0).message();
  }
  proto::Timing Measure(const std::string& kind) {
    auto reply = service_.Serve(MeasureRequest(), Open({kind}));
    EXPECT_EQ(reply.timings_size(), 1);
    return reply.timings_size() > 0 ? reply.timings(0) : proto::Timing();
  }
  void ExpectWrong(const std::string& kind, const std::string& message) {
    proto::Timing timing = Measure(kind);
    EXPECT_EQ(timing.outcome(), proto::OUTCOME_WRONG_RESULT) << kind;
    EXPECT_NE(timing.message().find(message), std::string::npos) << timing.message();
    EXPECT_EQ(timing.samples_size(), 0);
  }
  RunnerService service_{1};
};

TEST_F(Service, TimesRightKernels) {
  for (const char* kind : {"GOOD", "PACKED"}) {
    proto::Timing timing = Measure(kind);
    ASSERT_TRUE(timing.outcome() == proto::OUTCOME_OK ||
                timing.outcome() == proto::OUTCOME_TOO_NOISY)
        << timing.message();
    EXPECT_GT(timing.median_us(), 0);
    EXPECT_GE(timing.samples_size(), 3);
    EXPECT_GT(timing.control_us(), 0);
    EXPECT_GT(timing.drift(), 0.5);
  }
}

TEST_F(Service, NamesWhatIsWrong) {
  ExpectWrong("WRONG", "element 14");
  ExpectWrong("INCOMPLETE", "element 11");
  ExpectWrong("DIRTY_HALO", "halo element 0");
  ExpectWrong("WRITE_BEFORE", "beside");
  ExpectWrong("RETURN_CODE", "returned 5");
  ExpectWrong("OTHER_SHAPE", "argument 1");
  ExpectWrong("OTHER_VERSION", "ABI version");
}

TEST_F(Service, AKernelThatWritesToItsInputsSpoilsTheWorkload) {
  auto reply = service_.Serve(MeasureRequest(), Open({"GOOD", "WRITE_INPUT", "PACKED"}));
  ASSERT_EQ(reply.timings_size(), 3);
  EXPECT_EQ(reply.timings(0).outcome(), proto::OUTCOME_INFRASTRUCTURE);
  EXPECT_EQ(reply.timings(1).outcome(), proto::OUTCOME_WRONG_RESULT);
  EXPECT_NE(reply.timings(1).message().find("wrote to its input 0"), std::string::npos);
  EXPECT_EQ(reply.timings(2).outcome(), proto::OUTCOME_INFRASTRUCTURE);
  EXPECT_TRUE(service_.Serve(MeasureRequest(), Open({"GOOD"})).unknown_key());
}

TEST_F(Service, AWorkspaceThatCannotBeHadIsOutOfMemory) {
  EXPECT_EQ(Measure("HUGE_WORKSPACE").outcome(), proto::OUTCOME_OUT_OF_MEMORY);
}

TEST_F(Service, AFileThatIsNoKernelIsRefused) {
  std::vector<ScopedFd> fds;
  fds.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto reply = service_.Serve(MeasureRequest(), fds);
  EXPECT_EQ(reply.timings(0).outcome(), proto::OUTCOME_WRONG_RESULT);
}

TEST_F(Service, TimesSeveralInTurnsAndLeavesOutTheWrongOnes) {
  auto reply = service_.Serve(MeasureRequest(), Open({"GOOD", "WRONG", "PACKED"}));
  ASSERT_EQ(reply.timings_size(), 3);
  EXPECT_GT(reply.timings(0).median_us(), 0);
  EXPECT_EQ(reply.timings(1).outcome(), proto::OUTCOME_WRONG_RESULT);
  EXPECT_GT(reply.timings(2).median_us(), 0);
}

TEST_F(Service, AsksForAnUnknownWorkload) {
  auto request = MeasureRequest();
  request.mutable_measure()->set_key(99);
  auto reply = service_.Serve(request, Open({"GOOD"}));
  EXPECT_TRUE(reply.unknown_key());
  EXPECT_EQ(reply.timings_size(), 0);
}

TEST_F(Service, ForgetsTheLeastRecentlyUsedWorkload) {
  for (uint64_t key = 2; key < 2 + kMaxPrepared - 1; ++key) {
    auto request = PrepareRequest();
    request.mutable_prepare()->set_key(key);
    service_.Serve(request, Open({"GOOD"}));
  }
  EXPECT_FALSE(service_.Serve(MeasureRequest(), Open({"GOOD"})).unknown_key());
  auto request = PrepareRequest();
  request.mutable_prepare()->set_key(100);
  service_.Serve(request, Open({"GOOD"}));
  EXPECT_FALSE(service_.Serve(MeasureRequest(), Open({"GOOD"})).unknown_key());
  request = MeasureRequest();
  request.mutable_measure()->set_key(2);
  EXPECT_TRUE(service_.Serve(request, Open({"GOOD"})).unknown_key());
}

TEST(ServiceConstants, ColdOnesAreEvictedBeforeEachRunAndWarmOnesNever) {
  int64_t evictions = 0;
  RunnerService service(1, [&](const void* data, int64_t bytes) {
    EXPECT_NE(data, nullptr);
    EXPECT_EQ(bytes, 1 << 20);
    ++evictions;
  });
  auto prepared = service.Serve(PrepareRequest(), Open({"LARGE"}));
  ASSERT_EQ(prepared.timings(0).outcome(), proto::OUTCOME_OK) << prepared.timings(0).message();
  EXPECT_EQ(evictions, 0) << "that is no timing";
  for (bool warm : {true, false}) {
    evictions = 0;
    auto request = MeasureRequest();
    request.mutable_measure()->set_warm_constants(warm);
    auto timing = service.Serve(request, Open({"LARGE"})).timings(0);
    EXPECT_GT(timing.median_us(), 0) << timing.message();
    if (warm) {
      EXPECT_EQ(evictions, 0);
    } else {
      EXPECT_GE(evictions, timing.samples_size());
    }
  }
}

TEST(ServicePrepare, AReferenceThatDiffersFromTheInterpreterIsRefused) {
  RunnerService service(1);
  auto reply = service.Serve(PrepareRequest(0.001), Open({"GOOD"}));
  EXPECT_EQ(reply.timings(0).outcome(), proto::OUTCOME_INFRASTRUCTURE);
  EXPECT_NE(reply.timings(0).message().find("double precision"), std::string::npos);
  EXPECT_TRUE(service.Serve(MeasureRequest(), Open({"GOOD"})).unknown_key());
}

// The real program.
class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ends = FrameChannel::MakePair();
    ASSERT_TRUE(ends.ok());
    channel_ = std::move(ends->first);
    sandbox::JailOptions options;
    options.program = MEASURE_RUNNER;
    options.fds = {{ends->second.fd(), 3}};
    auto child = sandbox::StartJailed(options);
    ASSERT_TRUE(child.ok()) << child.status().ToString();
    child_.emplace(std::move(*child));
    ends->second.Close();
    auto reply = Call(PrepareRequest(), {"GOOD"});
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    ASSERT_EQ(reply->timings(0).outcome(), proto::OUTCOME_OK) << reply->timings(0).message();
  }
  Result<proto::RunnerReply> Call(const proto::RunnerRequest& request,
                                  const std::vector<std::string>& kinds, double timeout = 20) {
    std::vector<ScopedFd> fds = Open(kinds);
    std::vector<int> numbers;
    for (const ScopedFd& fd : fds) numbers.push_back(fd.get());
    TEMPER_RETURN_IF_ERROR(channel_.Send(request.SerializeAsString(), numbers, timeout));
    TEMPER_ASSIGN_OR_RETURN(Frame frame, channel_.Receive(timeout));
    proto::RunnerReply reply;
    if (!reply.ParseFromString(frame.bytes)) return DataLoss("no reply");
    return reply;
  }
  int SignalAfter(const std::string& kind) {
    EXPECT_EQ(Call(MeasureRequest(), {kind}).status().code(), Code::kUnavailable);
    auto status = child_->Wait(10);
    EXPECT_TRUE(status.ok());
    return status.ok() ? sandbox::SignalOf(*status) : -1;
  }
  FrameChannel channel_;
  std::optional<Subprocess> child_;
};

TEST_F(Program, ServesInItsJail) {
  auto reply = Call(MeasureRequest(), {"GOOD", "PACKED"});
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_GT(reply->timings(1).median_us(), 0);
  EXPECT_GT(reply->control_gflops(), 1);
  EXPECT_GT(reply->timed_seconds(), 0);
  EXPECT_GE(reply->switches(), 0);
  channel_.Close();
  auto status = child_->Wait(10);
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(status->Success()) << status->ToString();
}

TEST_F(Program, ACrashShowsItsSignal) { EXPECT_EQ(SignalAfter("CRASH"), SIGSEGV); }

TEST_F(Program, ReadingFarBeyondAnOperandCrashes) {
  EXPECT_EQ(SignalAfter("READ_FAR_BEYOND"), SIGSEGV);
}

TEST_F(Program, WritingBeyondAnOutputCrashes) { EXPECT_EQ(SignalAfter("WRITE_BEYOND"), SIGSEGV); }

TEST_F(Program, AHangCanBeEnded) {
  EXPECT_EQ(Call(MeasureRequest(), {"HANG"}, 0.3).status().code(), Code::kDeadlineExceeded);
  child_->Kill();
  EXPECT_TRUE(child_->Wait(10).ok());
}

}  // namespace
}  // namespace temper::runner
