// Compiled code of sampled schedules agrees with the interpreter on the loop nest they lower to.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/interpreter.h"
#include "tests/compiler/codegen/referee.h"
#include "tests/support/programs.h"
#include "tuner/space/space.h"

namespace temper::codegen {
namespace {

// Whether `finished`, compiled for `target`, gives what `reference` gives when interpreted.
void ExpectSame(const tir::Function& reference, const tir::Function& finished,
                const std::vector<bool>& outputs, const Target& target, uint64_t seed) {
  auto kernel = Kernel::Build(finished, outputs, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  Rng rng(seed);
  std::vector<std::vector<uint8_t>> ours, theirs;
  for (size_t p = 0; p < reference.params.size(); ++p) {
    const tir::Buffer& b = reference.buffers[reference.params[p]];
    int64_t count = b.ElementCount();
    std::vector<uint8_t> data(count * ByteSize(b.dtype));
    for (int64_t i = 0; i < count && !outputs[p]; ++i) {
      SetElement(data.data(), b.dtype, i, 4 * rng.Uniform01() - 2);
    }
    ours.push_back(data);
    theirs.push_back(data);
  }
  std::vector<void*> our_args, their_args;
  for (size_t p = 0; p < ours.size(); ++p) {
    our_args.push_back(ours[p].data());
    their_args.push_back(theirs[p].data());
  }
  Status interpreted = tir::Interpret(reference, their_args);
  ASSERT_TRUE(interpreted.ok()) << interpreted.ToString();
  ASSERT_EQ((*kernel)->Run(our_args), 0);
  for (size_t p = 0; p < ours.size(); ++p) {
    const tir::Buffer& b = reference.buffers[reference.params[p]];
    for (int64_t i = 0; i < b.ElementCount(); ++i) {
      double x = Element(ours[p].data(), b.dtype, i), y = Element(theirs[p].data(), b.dtype, i);
      bool same = x == y || std::abs(x - y) <= 2e-5 * std::max(1.0, std::abs(y));
      ASSERT_TRUE(same) << b.name << "[" << i << "] is " << x << ", should be " << y;
    }
  }
}

class SchedulesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SchedulesTest, SampledSchedulesAgree) {
  Target host = DetectTarget();
  Target target = GetParam() == "native" ? host : *ParseTarget(GetParam());
  if (Status s = CanRunOn(target, host); !s.ok()) target = host;
  Rng rng(11);
  for (const auto& [name, raw] : testing::SmallPrograms()) {
    te::Program program = te::Canonicalize(raw);
    auto space = tuner::Space::Create(program, target, 2);
    int compared = 0;
    for (int i = 0; i < 40 && compared < 8; ++i) {
      auto schedule = space.Build(space.Sample(rng));
      if (!schedule.ok()) continue;
      auto lowered = lower::LowerToLoops(program, *schedule, target);
      ASSERT_TRUE(lowered.ok()) << name << ": " << lowered.status().ToString();
      auto finished = lower::Finish(lowered->function, target);
      ASSERT_TRUE(finished.ok()) << name << ": " << finished.status().ToString();
      std::vector<bool> outputs;
      for (const auto& a : lowered->arguments) outputs.push_back(a.output);
      SCOPED_TRACE(name + " " + std::to_string(i));
      ExpectSame(lowered->function, *finished, outputs, target, i);
      if (HasFatalFailure()) return;
      ++compared;
    }
    EXPECT_GT(compared, 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SchedulesTest, ::testing::Values("native", "x86-64-v3", "x86-64"),
                         [](const auto& info) {
                           std::string s = info.param;
                           for (char& c : s) c = c == '-' ? '_' : c;
                           return s;
                         });

}  // namespace
}  // namespace temper::codegen
