#include "compiler/driver/choose.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"

namespace temper::driver {
namespace {

class FakeSource final : public ScheduleSource {
 public:
  Result<std::vector<FoundSchedule>> Find(const Hash& workload, const Target& /*target*/,
                                          int threads, Constants constants) override {
    asked_threads = threads;
    asked_constants.push_back(constants);
    if (!failure.ok()) return failure;
    return found[workload];
  }
  std::string Name() const override { return "fake.db"; }

  std::map<Hash, std::vector<FoundSchedule>> found;
  Status failure;
  int asked_threads = 0;
  std::vector<Constants> asked_constants;
};

KernelWorkload WorkloadOf(te::Program program, const std::string& name) {
  KernelWorkload workload;
  workload.program = te::Canonicalize(program);
  workload.hash = te::WorkloadHash(workload.program);
  workload.name = name;
  workload.uses = 1;
  return workload;
}

class Choose : public ::testing::Test {
 protected:
  Choose() : target_(*ParseTarget("x86-64-v3")) {
    workloads_ = {WorkloadOf(testing::MatmulBiasRelu(8, 16, 8), "matmul"),
                  WorkloadOf(testing::Softmax(4, 8), "softmax")};
    chooser_ = [this](const te::Program& program, const Target& target, int /*threads*/,
                      Constants constants) {
      ++untuned_;
      if (constants == Constants::kWarm) ++warm_;
      return Result<UntunedSchedule>(UntunedSchedule{For(program, target)});
    };
  }

  static schedule::Schedule For(const te::Program& program, const Target& target) {
    schedule::Schedule schedule = lower::ReferenceSchedule(program, target);
    schedule.workload = te::WorkloadHash(program);
    return schedule;
  }

  std::string TextFor(int workload) const {
    return schedule::ToText(For(workloads_[workload].program, target_));
  }

  Result<std::vector<ChosenKernel>> Run(bool require_tuned = false) {
    return ChooseSchedules(workloads_, {target_, 3, require_tuned}, &source_, chooser_, &warnings_);
  }

  Target target_;
  std::vector<KernelWorkload> workloads_;
  FakeSource source_;
  ScheduleChooser chooser_;
  std::vector<std::string> warnings_;
  std::atomic<int> untuned_ = 0, warm_ = 0;
};

TEST_F(Choose, TakesTheFirstRecordAndItsLevel) {
  source_.found[workloads_[0].hash] = {{true, TextFor(0), 12.5}, {false, TextFor(0), 3}};
  source_.found[workloads_[1].hash] = {{false, TextFor(1), 7}};
  auto chosen = Run(true);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ((*chosen)[0].level, SourceLevel::kExact);
  EXPECT_EQ((*chosen)[0].expected_us, 12.5);
  EXPECT_EQ((*chosen)[1].level, SourceLevel::kSimilar);
  EXPECT_EQ((*chosen)[1].expected_us, 7);
  EXPECT_FALSE((*chosen)[1].lowered.arguments.empty());
  EXPECT_EQ(untuned_, 0);
  EXPECT_EQ(source_.asked_threads, 3);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Choose, ChoosesWhereThereIsNoRecord) {
  source_.found[workloads_[1].hash] = {{true, TextFor(1), 7}};
  auto chosen = Run();
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ((*chosen)[0].level, SourceLevel::kPrior);
  EXPECT_EQ((*chosen)[1].level, SourceLevel::kExact);
  EXPECT_EQ(untuned_, 1);
}

TEST_F(Choose, AsksForConstantsWhereEachWorkloadHasThem) {
  workloads_[0].constants = Constants::kWarm;
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(source_.asked_constants, (std::vector{Constants::kWarm, Constants::kCold}));
  EXPECT_EQ(untuned_, 2);
  EXPECT_EQ(warm_, 1);
}

TEST_F(Choose, PassesOverRecordsThatDoNotApply) {
  // No schedule at all; of another workload; illegal: a stage is missing.
  schedule::Schedule illegal = For(workloads_[0].program, target_);
  illegal.stages.pop_back();
  source_.found[workloads_[0].hash] = {{true, "nonsense", 1},
                                       {true, TextFor(1), 2},
                                       {true, schedule::ToText(illegal), 3},
                                       {false, TextFor(0), 4}};
  source_.found[workloads_[1].hash] = {{true, "", 1}};
  auto chosen = Run();
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ((*chosen)[0].level, SourceLevel::kSimilar);
  EXPECT_EQ((*chosen)[0].expected_us, 4);
  EXPECT_EQ((*chosen)[1].level, SourceLevel::kPrior);
  ASSERT_EQ(warnings_.size(), 4);
  for (const std::string& warning : warnings_) {
    EXPECT_NE(warning.find("fake.db"), std::string::npos) << warning;
  }
  EXPECT_NE(warnings_[0].find("matmul"), std::string::npos);
  EXPECT_NE(warnings_[3].find("softmax"), std::string::npos);
}

TEST_F(Choose, PassesOverRecordsOfALargerErrorThanIsAllowed) {
  schedule::Schedule winograd = For(workloads_[0].program, target_);
  winograd.alternative = 1;
  source_.found[workloads_[0].hash] = {{true, schedule::ToText(winograd), 1},
                                       {true, TextFor(0), 2}};
  auto chosen = ChooseSchedules({workloads_[0]}, {target_, 1, true, te::Numerics::kStrict},
                                &source_, chooser_, &warnings_);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ((*chosen)[0].expected_us, 2);
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_NE(warnings_[0].find("--numerics strict"), std::string::npos) << warnings_[0];
}

TEST_F(Choose, RequireTunedNamesWhatIsMissing) {
  source_.found[workloads_[0].hash] = {{true, TextFor(0), 1}};
  auto chosen = Run(true);
  EXPECT_EQ(chosen.status().code(), Code::kNotFound);
  EXPECT_NE(chosen.status().message().find("1 of 2"), std::string::npos);
  EXPECT_NE(chosen.status().message().find("softmax"), std::string::npos);
  EXPECT_EQ(chosen.status().message().find("matmul"), std::string::npos);
  EXPECT_EQ(untuned_, 0);
}

TEST_F(Choose, AFailingSourceIsAnError) {
  source_.failure = Unavailable("the server went away");
  EXPECT_EQ(Run().status().code(), Code::kUnavailable);
}

TEST_F(Choose, AFailingChooserIsAnErrorThatNamesTheKernel) {
  chooser_ = [](const te::Program&, const Target&, int, Constants) -> Result<UntunedSchedule> {
    return Internal("no schedule");
  };
  auto chosen = Run();
  EXPECT_EQ(chosen.status().code(), Code::kInternal);
  EXPECT_NE(chosen.status().message().find("kernel "), std::string::npos);
}

TEST_F(Choose, WorksWithoutASource) {
  auto chosen = ChooseSchedules(workloads_, {target_, 1, false}, nullptr, chooser_, &warnings_);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(untuned_, 2);
}

}  // namespace
}  // namespace temper::driver
