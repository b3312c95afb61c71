// Rows that are hard to normalize in one pass, by many schedules.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "tests/compiler/ops/case_file.h"
#include "tuner/space/space.h"

namespace temper::testing {
namespace {

constexpr float kEpsilon = 1e-5f;

// What two passes in float32 may be off by, whose mean is rounded, and a little.
struct Row {
  std::vector<float> x;
  double mean = 0, deviation = 0;

  double Of(int64_t column) const { return (x[column] - mean) / deviation; }
  double Tolerance(int64_t column) const {
    return 0x1p-22 * (std::abs(mean) / deviation + 4 * std::abs(Of(column)) + 1);
  }
};

Row MakeRow(int kind, int64_t columns, Rng& rng) {
  Row row;
  for (int64_t i = 0; i < columns; ++i) {
    double v = rng.Normal();
    if (kind == 1) v += 1000;
    if (kind == 2) v *= 1e-4;
    if (kind == 3) v = 3.7;                       // no variance
    if (kind == 4 && i == 0) v = 40;              // an outlier that is sampled
    if (kind == 5 && i == columns / 3) v = -200;  // and one that is not
    row.x.push_back(static_cast<float>(v));
  }
  for (float v : row.x) row.mean += v / static_cast<double>(columns);
  for (float v : row.x) {
    row.deviation += (v - row.mean) * (v - row.mean) / static_cast<double>(columns);
  }
  row.deviation = std::sqrt(row.deviation + kEpsilon);
  return row;
}

// LayerNormalization of a, or of a + b, by `rounds` random schedules.
void Check(int64_t rows, int64_t columns, bool residual, int rounds) {
  SCOPED_TRACE(columns);
  Rng rng(5);
  std::vector<Row> expected;
  Bytes a, b;
  for (int64_t r = 0; r < rows; ++r) {
    expected.push_back(MakeRow(static_cast<int>(r % 6), columns, rng));
    for (float v : expected.back().x) {
      const float half = residual ? v / 2 : v;
      const auto* bytes = reinterpret_cast<const std::byte*>(&half);
      a.insert(a.end(), bytes, bytes + sizeof(half));
    }
  }
  graph::Graph graph;
  const graph::ValueType type = graph::TensorType(DType::kFloat32, {rows, columns});
  std::map<int, Bytes> inputs;
  int x = graph.AddInput("a", type);
  inputs[x] = a;
  auto node = [&](const char* op, std::vector<int> operands, const char* name,
                  graph::Attributes attributes) {
    const int id = graph.AddNode(op, std::move(operands), {name}, std::move(attributes), {name});
    const int value = graph.node(id).outputs[0];
    graph.SetType(value, type);
    return value;
  };
  if (residual) {
    const int other = graph.AddInput("b", type);
    inputs[other] = a;
    x = node("Add", {x, other}, "sum", {});
  }
  const std::vector<double> ones(static_cast<size_t>(columns), 1);
  const std::vector<double> zeros(static_cast<size_t>(columns), 0);
  const int scale =
      graph.AddConstant("w", graph::MakeFromDoubles(DType::kFloat32, {columns}, ones));
  const int bias =
      graph.AddConstant("c", graph::MakeFromDoubles(DType::kFloat32, {columns}, zeros));
  const int y = node("LayerNormalization", {x, scale, bias}, "y", {{"epsilon", kEpsilon}});
  graph.AddOutput(y, "y");
  auto partition = partition::PartitionGraph(graph, {});
  ASSERT_TRUE(partition.ok()) << partition.status().ToString();
  for (int round = 0; round < rounds; ++round) {
    RunOptions options;
    options.target = *ParseTarget("x86-64-v4");
    options.finish = true;
    std::string shown;
    options.schedule = [&](const te::Program& program) {
      const auto space = tuner::Space::Create(program, options.target, 1);
      const schedule::Schedule s = space.Emit(space.Sample(rng));
      shown = schedule::ToText(s);
      return s;
    };
    auto values = RunKernels(graph, *partition, inputs, options);
    ASSERT_TRUE(values.ok()) << values.status().ToString() << "\n" << shown;
    const auto got = ToDoubles(DType::kFloat32, values->at(y));
    for (int64_t i = 0; i < rows * columns; ++i) {
      const Row& row = expected[static_cast<size_t>(i / columns)];
      ASSERT_NEAR(got[static_cast<size_t>(i)], row.Of(i % columns), row.Tolerance(i % columns))
          << "row " << i / columns << " column " << i % columns << "\n"
          << shown;
    }
  }
}

TEST(LayerNormTest, HardRowsAreAsRightAsInTwoPasses) {
  for (int64_t columns : {27, 75, 192, 768}) Check(12, columns, false, 6);
}

TEST(LayerNormTest, OfASum) {
  for (int64_t columns : {64, 197}) Check(6, columns, true, 6);
}

TEST(LayerNormTest, OneRowAndOneColumn) {
  Check(1, 1000, false, 4);
  Check(3, 1, false, 2);
  Check(6, 3, false, 2);
}

}  // namespace
}  // namespace temper::testing
