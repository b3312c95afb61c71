// Every shared example program, by the reference schedule of each target, against its definition.
#include "tests/support/programs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "compiler/te/interpret.h"
#include "compiler/tir/interpreter.h"
#include "compiler/tir/printer.h"
#include "compiler/tir/verify.h"

namespace temper::lower {
namespace {

int64_t BufferBytes(const te::Tensor& t) {
  int64_t count = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    count *= t.shape[d] + (t.halo_before.empty() ? 0 : t.halo_before[d] + t.halo_after[d]);
  }
  return count * ByteSize(t.dtype);
}

// Small values of the type: floats of either sign, any int8.
std::vector<std::byte> RandomBuffer(const te::Tensor& t, Rng& rng) {
  std::vector<std::byte> out(static_cast<size_t>(BufferBytes(t)));
  if (t.dtype == DType::kFloat32) {
    for (size_t at = 0; at < out.size(); at += 4) {
      const auto value = static_cast<float>(rng.Normal());
      std::memcpy(&out[at], &value, 4);
    }
  } else {
    for (std::byte& b : out) b = static_cast<std::byte>(rng.Next());
  }
  return out;
}

void ExpectSame(const te::Tensor& t, const std::vector<std::byte>& got,
                const std::vector<std::byte>& want, const std::string& what) {
  if (t.dtype != DType::kFloat32) {
    EXPECT_EQ(got, want) << what;
    return;
  }
  for (size_t at = 0; at < got.size(); at += 4) {
    float a, b;
    std::memcpy(&a, &got[at], 4);
    std::memcpy(&b, &want[at], 4);
    // The same operations in the same order, but for a last digit of exp.
    ASSERT_NEAR(a, b, 2e-6 * std::max(1.0f, std::fabs(b))) << what << " element " << at / 4;
  }
}

TEST(LowerProgramsTest, TheReferenceScheduleComputesTheDefinition) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = *ParseTarget(name);
    Rng rng(1);
    for (const auto& [program_name, source] : testing::SmallPrograms()) {
      const std::string what = program_name + " for " + name;
      const te::Program p = te::Canonicalize(source);
      std::vector<std::vector<std::byte>> inputs, got, want;
      std::vector<const void*> input_pointers;
      std::vector<void*> want_pointers, args;
      for (int id : p.inputs) inputs.push_back(RandomBuffer(p.tensors[id], rng));
      for (int id : p.outputs) {
        want.emplace_back(static_cast<size_t>(BufferBytes(p.tensors[id])));
        got.emplace_back(want.back().size());
      }
      for (auto& b : inputs) {
        input_pointers.push_back(b.data());
        args.push_back(b.data());
      }
      for (auto& b : want) want_pointers.push_back(b.data());
      for (auto& b : got) args.push_back(b.data());
      Status status = te::EvaluateProgram(p, input_pointers, want_pointers,
                                          {.precision = te::Precision::kNative});
      ASSERT_TRUE(status.ok()) << what << ": " << status.ToString();

      auto lowered = LowerToLoops(p, ReferenceSchedule(p, target), target);
      ASSERT_TRUE(lowered.ok()) << what << ": " << lowered.status().ToString();
      auto finished = Finish(lowered->function, target);
      ASSERT_TRUE(finished.ok()) << what << ": " << finished.status().ToString();
      EXPECT_TRUE(tir::Verify(lowered->function).ok()) << what;
      status = tir::VerifyFinished(*finished);
      EXPECT_TRUE(status.ok()) << what << ": " << status.ToString();
      for (const tir::Function* f : {&lowered->function, &*finished}) {
        for (auto& b : got) std::fill(b.begin(), b.end(), std::byte{0xee});
        status = tir::Interpret(*f, args);
        ASSERT_TRUE(status.ok()) << what << ": " << status.ToString() << "\n" << tir::ToText(*f);
        for (size_t o = 0; o < got.size(); ++o) {
          ExpectSame(p.tensors[p.outputs[o]], got[o], want[o], what);
        }
      }
    }
  }
}

}  // namespace
}  // namespace temper::lower
