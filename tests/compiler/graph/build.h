// Short ways to build graphs in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/infer/infer.h"
#include "compiler/graph/verify.h"

namespace temper::graph {

// Adds a node of one result, named as the source node too, infers its type and returns the result.
inline int Op(Graph& graph, const std::string& op, std::vector<int> inputs, const std::string& name,
              Attributes attributes = {}) {
  const int id = graph.AddNode(op, std::move(inputs), {name}, std::move(attributes), {name});
  const int result = graph.node(id).outputs[0];
  const Status status = InferNode(graph, id);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

inline int Input(Graph& graph, const std::string& name, Shape shape,
                 DType dtype = DType::kFloat32) {
  return graph.AddInput(name, TensorType(dtype, shape));
}

inline int IntsConstant(Graph& graph, const std::string& name, std::vector<int64_t> values) {
  return graph.AddConstant(name, MakeInts({static_cast<int64_t>(values.size())}, values));
}

// float32 of the given shape: first, first + step, ...
inline int Ramp(Graph& graph, const std::string& name, Shape shape, float first = 1,
                float step = 1) {
  std::vector<float> values(static_cast<size_t>(*ElementCount(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + step * static_cast<float>(i);
  return graph.AddConstant(name, MakeFloats(std::move(shape), values));
}

// "Conv Relu Add": the operators in order.
inline std::string Ops(const Graph& graph) {
  std::string text;
  for (int id : graph.order()) text += (text.empty() ? "" : " ") + graph.node(id).op;
  return text;
}

inline const Node& OnlyNode(const Graph& graph) {
  EXPECT_EQ(graph.order().size(), 1u) << Ops(graph);
  return graph.node(graph.order().at(0));
}

inline void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

inline void ExpectError(const Status& status, const std::string& part) {
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

}  // namespace temper::graph
