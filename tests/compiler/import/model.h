// Builds small ONNX models in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/verify.h"
#include "compiler/import/import.h"
#include "compiler/import/onnx.pb.h"

namespace temper::importer {

using Ints = std::vector<int64_t>;

class Model {
 public:
  explicit Model(int opset = 21) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  // A dimension is a size, or -1 (open), or -2 (named "N").
  Model& Input(const std::string& name, const Ints& dims, int type = 1) {
    Info(proto.mutable_graph()->add_input(), name, dims, type);
    return *this;
  }
  Model& Output(const std::string& name) {
    Info(proto.mutable_graph()->add_output(), name, {}, 1);
    return *this;
  }
  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto* node = proto.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name("n_" + outputs.at(0));
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *node;
  }
  onnx::TensorProto& Floats(const std::string& name, const Ints& dims,
                            const std::vector<float>& values) {
    onnx::TensorProto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(1);
    for (int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(values.data(), values.size() * sizeof(float));
    return *tensor;
  }
  onnx::TensorProto& IntList(const std::string& name, const Ints& values) {
    onnx::TensorProto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (int64_t value : values) tensor->add_int64_data(value);
    return *tensor;
  }

  std::string Bytes() const { return proto.SerializeAsString(); }

  Result<graph::Graph> Import(const ImportOptions& options = {}) const {
    const auto bytes = std::make_shared<std::string>(Bytes());
    auto graph = ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "test.onnx", options);
    if (graph.ok()) {
      const Status status = graph::Verify(*graph);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return graph;
  }

  onnx::ModelProto proto;

 private:
  static void Info(onnx::ValueInfoProto* info, const std::string& name, const Ints& dims,
                   int type) {
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    auto* shape = tensor->mutable_shape();
    for (int64_t dim : dims) {
      auto* d = shape->add_dim();
      if (dim == -2) {
        d->set_dim_param("N");
      } else if (dim >= 0) {
        d->set_dim_value(dim);
      }
    }
  }
};

inline void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(2);
  a->set_i(value);
}
inline void SetInts(onnx::NodeProto& node, const std::string& name, const Ints& values) {
  onnx::AttributeProto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(7);
  for (int64_t value : values) a->add_ints(value);
}
inline void SetFloat(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(1);
  a->set_f(value);
}

// A nested graph of the node, as its attribute `name`.
inline onnx::GraphProto& Body(onnx::NodeProto& node, const std::string& name,
                              const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  onnx::GraphProto* graph = attribute->mutable_g();
  for (const std::string& input : inputs) graph->add_input()->set_name(input);
  for (const std::string& output : outputs) graph->add_output()->set_name(output);
  return *graph;
}

inline onnx::NodeProto& AddTo(onnx::GraphProto& graph, const std::string& op,
                              const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto* node = graph.add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return *node;
}

constexpr int kBool = 9;

inline void ExpectError(const Status& status, const std::string& part) {
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

// "Shape Flatten": the operators in order.
inline std::string Ops(const graph::Graph& graph) {
  std::string text;
  for (int id : graph.order()) text += (text.empty() ? "" : " ") + graph.node(id).op;
  return text;
}

}  // namespace temper::importer
