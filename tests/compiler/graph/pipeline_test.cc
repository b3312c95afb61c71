#include "compiler/graph/pipeline.h"

#include <gtest/gtest.h>

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

Graph Model() {
  Graph graph;
  const int x = Input(graph, "x", {1, 2, 4, 4});
  const int conv = Op(graph, "Conv", {x, Ramp(graph, "w", {2, 2, 1, 1})}, "conv");
  const int bn = Op(graph, "BatchNormalization",
                    {conv, Ramp(graph, "a", {2}), Ramp(graph, "b", {2}), Ramp(graph, "c", {2}),
                     Ramp(graph, "d", {2})},
                    "bn");
  const int id = Op(graph, "Identity", {bn}, "id");
  Op(graph, "Neg", {x}, "dead");
  graph.AddOutput(Op(graph, "Relu", {id}, "relu"), "y");
  return graph;
}

TEST(PipelineTest, RunsAllPassesInOrder) {
  Graph graph = Model();
  std::vector<std::string_view> ran;
  PipelineOptions options;
  options.after = [&](const Pass& pass, const Graph&) { ran.push_back(pass.name); };
  ExpectOk(RunPipeline(graph, options));
  EXPECT_EQ(Ops(graph), "Conv Relu");
  ASSERT_EQ(ran.size(), Passes().size());
  EXPECT_EQ(ran.front(), "infer_shapes");
  EXPECT_EQ(ran.back(), "dead_code");
}

TEST(PipelineTest, AnyPassCanBeLeftOut) {
  for (const Pass& pass : Passes()) {
    Graph graph = Model();
    PipelineOptions options;
    options.disabled = {std::string(pass.name)};
    options.after = [&](const Pass& ran, const Graph&) { EXPECT_NE(ran.name, pass.name); };
    ExpectOk(RunPipeline(graph, options));
    if (pass.name == "fold_batch_norm") {
      EXPECT_EQ(Ops(graph), "Conv BatchNormalization Relu");
    }
    if (pass.name == "dead_code") {
      EXPECT_EQ(Ops(graph), "Conv Neg Relu");
    }
  }
}

TEST(PipelineTest, UnknownNamesAreRefused) {
  Graph graph = Model();
  PipelineOptions options;
  options.disabled = {"fold_everything"};
  ExpectError(RunPipeline(graph, options),
              "no graph pass is called 'fold_everything'; there are infer_shapes, ");
}

}  // namespace
}  // namespace temper::graph
