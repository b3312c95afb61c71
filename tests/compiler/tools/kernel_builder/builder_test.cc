// From a workload on the wire to a measured kernel, in one process: builder and runner together.
#include "compiler/tools/kernel_builder/builder.h"

#include <gtest/gtest.h>

#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_schedule.h"
#include "compiler/wire/wire_target.h"
#include "tests/support/programs.h"
#include "worker/runner/service.h"

namespace temper::tools {
namespace {

using temper::testing::MatmulBiasRelu;

class Builder : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("builder_test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    builder_.emplace(folder_->path());
  }
  proto::BuildRequest RequestFor(const te::Program& program) {
    proto::BuildRequest request;
    *request.mutable_workload() = wire::ToProto(te::Canonicalize(program));
    *request.mutable_target() = wire::ToProto(target_);
    request.set_seed(5);
    return request;
  }
  Target target_ = DetectTarget();
  std::optional<ScopedTempDir> folder_;
  std::optional<KernelBuilder> builder_;
};

TEST_F(Builder, TheReferenceAgreesWithTheEvaluatorAndIsMeasured) {
  te::Program program = te::Canonicalize(MatmulBiasRelu(33, 17, 29));
  proto::BuildRequest request = RequestFor(program);
  request.set_elements(64);
  auto built = builder_->Build(request);
  ASSERT_EQ(built.reply.outcome(), proto::OUTCOME_OK) << built.reply.message();
  EXPECT_EQ(built.reply.workload_hash(), te::WorkloadHash(program).AsBytes());
  EXPECT_EQ(built.reply.expected_size(), 64);
  EXPECT_TRUE(built.object.valid());
  EXPECT_FALSE(FileExists(folder_->File("kernel.so")));

  runner::RunnerService runner(1);
  proto::RunnerRequest prepare;
  prepare.mutable_prepare()->set_key(1);
  prepare.mutable_prepare()->set_seed(5);
  *prepare.mutable_prepare()->mutable_expected() = built.reply.expected();
  std::vector<ScopedFd> fds;
  fds.push_back(std::move(built.object));
  auto prepared = runner.Serve(prepare, fds);
  ASSERT_EQ(prepared.timings(0).outcome(), proto::OUTCOME_OK) << prepared.timings(0).message();

  request.set_elements(0);
  *request.mutable_schedule() = wire::ToProto(lower::ReferenceSchedule(program, target_));
  built = builder_->Build(request);
  ASSERT_EQ(built.reply.outcome(), proto::OUTCOME_OK) << built.reply.message();
  proto::RunnerRequest measure;
  measure.mutable_measure()->set_key(1);
  measure.mutable_measure()->set_budget_seconds(0.002);
  fds.clear();
  fds.push_back(std::move(built.object));
  auto measured = runner.Serve(measure, fds);
  ASSERT_EQ(measured.timings_size(), 1);
  EXPECT_GT(measured.timings(0).median_us(), 0) << measured.timings(0).message();
}

TEST_F(Builder, AnIllegalScheduleIsRefusedWithItsReason) {
  te::Program program = te::Canonicalize(MatmulBiasRelu(32, 32, 32));
  proto::BuildRequest request = RequestFor(program);
  schedule::Schedule schedule = lower::ReferenceSchedule(program, target_);
  ASSERT_FALSE(schedule.stages.empty());
  schedule.stages.pop_back();
  *request.mutable_schedule() = wire::ToProto(schedule);
  auto built = builder_->Build(request);
  EXPECT_EQ(built.reply.outcome(), proto::OUTCOME_ILLEGAL_SCHEDULE);
  EXPECT_FALSE(built.reply.message().empty());
  EXPECT_FALSE(built.object.valid());
}

TEST_F(Builder, AHostileWorkloadIsRefused) {
  proto::BuildRequest request = RequestFor(MatmulBiasRelu(8, 8, 8));
  request.mutable_workload()->mutable_stages(0)->mutable_result()->set_shape(0, int64_t{1} << 60);
  auto built = builder_->Build(request);
  EXPECT_EQ(built.reply.outcome(), proto::OUTCOME_INFRASTRUCTURE);
  request = RequestFor(MatmulBiasRelu(8, 8, 8));
  request.mutable_target()->set_vector_bits(-1);
  EXPECT_EQ(builder_->Build(request).reply.outcome(), proto::OUTCOME_INFRASTRUCTURE);
}

TEST_F(Builder, WithoutAWorkloadItSaysWhatTheMachineIs) {
  auto built = builder_->Build(proto::BuildRequest());
  EXPECT_EQ(built.reply.outcome(), proto::OUTCOME_OK);
  EXPECT_EQ(built.reply.fingerprint(), Fingerprint(target_));
  auto detected = wire::FromProto(built.reply.detected());
  ASSERT_TRUE(detected.ok()) << detected.status().ToString();
  EXPECT_EQ(TargetText(*detected), TargetText(target_));
}

TEST_F(Builder, ItDescribesANamedTargetThatItsMachineCanRun) {
  proto::BuildRequest request;
  request.mutable_target()->set_name("x86-64");
  auto built = builder_->Build(request);
  EXPECT_EQ(built.reply.outcome(), proto::OUTCOME_OK) << built.reply.message();
  EXPECT_EQ(built.reply.fingerprint(), Fingerprint(*ParseTarget("x86-64")));
  request.mutable_target()->set_name("no-such-target");
  built = builder_->Build(request);
  EXPECT_EQ(built.reply.outcome(), proto::OUTCOME_INFRASTRUCTURE);
  EXPECT_NE(built.reply.message().find("no-such-target"), std::string::npos);
}

}  // namespace
}  // namespace temper::tools
