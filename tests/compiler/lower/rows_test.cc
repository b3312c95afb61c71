// Softmax by rows: sums joined with the exponentials, long rows in the result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/lower/join.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/interpreter.h"
#include "compiler/tir/printer.h"
#include "compiler/tir/verify.h"
#include "tests/compiler/lower/statements.h"
#include "tests/support/small_programs.h"

namespace temper::lower {
namespace {

using tir::Stmt;
using tir::StmtKind;

Target Avx512() {
  Target target;
  target.vector_bits = 512;
  target.masked_vectors = true;
  target.l1_bytes = 32 << 10;
  return target;
}

// Softmax, four rows at a time, by two vectors of 16.
struct Rows {
  te::Program program;
  Lowered lowered;
  tir::Function finished;

  Rows(int64_t rows, int64_t columns) : program(Softmax(rows, columns)) {
    program = te::Canonicalize(program);
    const char* mask = columns % 32 ? " mask" : "";
    const std::string text = fmt::format(
        "temper-schedule 1 workload={} alternative=0 threads=1; split-reduction s2 a1 into 32;"
        " split-reduction s3 a1 into 16;"
        " stage 0 at 5.0 stack groups [0] [1] order 0.0 1.0;"
        " stage 1 at 5.0 stack groups [0] [1/2,16{}] order 0.0 1.0 1.1u 1.2v;"
        " stage 2 at 4.1 register groups [0] [1/2,16] [2] order 0.0 1.0 2.0 1.1u 1.2v;"
        " stage 3 at 4.1 register groups [0] [1/16] [2] order 0.0 1.0 2.0u 1.1v;"
        " stage 4 at 5.0 stack groups [0] [1/16] order 0.0 1.0 1.1v;"
        " stage 5 root param groups [0/4{}] [1/2,16{}] order 0.0 0.1 1.0 1.1u 1.2v;",
        te::WorkloadHash(program).Hex(), mask, rows % 4 ? " clip" : "", mask);
    auto schedule = schedule::ParseText(text);
    EXPECT_TRUE(schedule.ok()) << schedule.status().ToString();
    auto made = LowerToLoops(program, *schedule, Avx512());
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    lowered = *std::move(made);
    auto code = Finish(lowered.function, Avx512());
    EXPECT_TRUE(code.ok()) << code.status().ToString();
    finished = *std::move(code);
    EXPECT_TRUE(tir::Verify(finished).ok()) << tir::ToText(finished);
    Check(rows, columns);
  }

  void Check(int64_t rows, int64_t columns) const {
    std::vector<float> x(rows * columns), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 16;
    void* args[] = {x.data(), y.data()};
    ASSERT_TRUE(tir::Interpret(finished, args).ok()) << tir::ToText(finished);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t k = 0; k < columns; ++k) sum += std::exp(x[r * columns + k]);
      for (int64_t k = 0; k < columns; ++k) {
        EXPECT_NEAR(y[r * columns + k], std::exp(x[r * columns + k]) / sum, 1e-6);
      }
    }
  }

  bool RowsOnStack() const {  // whether the exponentials have a buffer of their own
    const int before = Count(JoinLoops(lowered.function).body, StmtKind::kAllocate);
    return Count(finished.body, StmtKind::kAllocate) == before;
  }
};

TEST(RowsTest, SumsAreTakenWhereTheExponentialsAre) {
  for (int64_t columns : {64, 197}) {
    const tir::Function loops = Rows(8, columns).lowered.function;
    const Stmt joined = JoinLoops(loops).body;
    // The loops over rows, over tiles of a row, and over the vectors of a tile; a vector more for
    // what goes through registers.
    EXPECT_EQ(Count(loops.body, StmtKind::kFor) - Count(joined, StmtKind::kFor), 2);
  }
}

TEST(RowsTest, LongRowsLieInTheResult) {
  EXPECT_FALSE(Rows(8, 1024).RowsOnStack());
  EXPECT_FALSE(Rows(4, 1187).RowsOnStack());  // not aligned, but long
  EXPECT_FALSE(Rows(8, 64).RowsOnStack());
}

TEST(RowsTest, RowsAcrossLinesAndTilesMovedBackStayOnTheStack) {
  EXPECT_TRUE(Rows(8, 197).RowsOnStack());
  EXPECT_TRUE(Rows(6, 1024).RowsOnStack());
}

// 30522 exponentials one after the other are off by 4e-6 of their sum.
TEST(RowsTest, TheReferenceSumsLongRowsByParts) {
  for (int64_t columns : {1000, 30522}) {
    const te::Program program = te::Canonicalize(Softmax(2, columns));
    const schedule::Schedule s = ReferenceSchedule(program, Avx512());
    EXPECT_EQ(s.steps.size(), columns < 4096 ? 0u : 1u);
    auto lowered = LowerToLoops(program, s, Avx512());
    ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
    std::vector<float> x(2 * columns), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 16;
    void* args[] = {x.data(), y.data()};
    ASSERT_TRUE(tir::Interpret(lowered->function, args).ok());
    double sum = 0;
    for (int64_t k = 0; k < columns; ++k) sum += std::exp(static_cast<double>(x[k]));
    EXPECT_NEAR(y[0] * sum / std::exp(static_cast<double>(x[0])), 1, 1e-6);
  }
}

}  // namespace
}  // namespace temper::lower
