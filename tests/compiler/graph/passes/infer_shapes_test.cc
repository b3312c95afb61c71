#include "compiler/graph/passes/infer_shapes.h"

#include "compiler/graph/passes/dead_code.h"
#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

TEST(InferShapesTest, FoldsShapeComputations) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3, 4});
  const int s = graph.node(graph.AddNode("Shape", {x}, {"s"})).outputs[0];
  const int zero = graph.AddConstant("zero", MakeInts({1}, std::vector<int64_t>{0}));
  const int n = graph.node(graph.AddNode("Gather", {s, zero}, {"n"})).outputs[0];
  const int c = graph
                    .node(graph.AddNode("Concat", {n, IntsConstant(graph, "r", {-1})}, {"c"},
                                        {{"axis", int64_t{0}}}))
                    .outputs[0];
  const int y = graph.node(graph.AddNode("Reshape", {x, c}, {"y"})).outputs[0];
  graph.AddOutput(y, "y");
  ExpectOk(RunInferShapes(graph));
  EXPECT_EQ(graph.type(y).ToString(), "float32[2,12]");
  ExpectOk(RunDeadCode(graph));
  EXPECT_EQ(Ops(graph), "Reshape");
}

TEST(InferShapesTest, NamesWhatDependsOnData) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3});
  const int s = Input(graph, "wanted", {2}, DType::kInt64);
  graph.AddNode("Reshape", {x, s}, {"y"}, {}, {"reshape_1"});
  ExpectError(RunInferShapes(graph),
              "Reshape 'reshape_1': the shape of its result depends on the values of 'wanted'");
}

TEST(InferShapesTest, OpenInputsAreRefused) {
  Graph graph;
  ValueType type = TensorType(DType::kFloat32, {2});
  type.dims[0] = Dim("batch");
  graph.AddInput("x", type);
  ExpectError(RunInferShapes(graph), "input 'x' is float32[batch]");
}

}  // namespace
}  // namespace temper::graph
