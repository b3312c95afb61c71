#include "compiler/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "compiler/graph/op_list.h"
#include "compiler/import/attributes.h"
#include "compiler/import/inputs.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/node_order.h"
#include "compiler/import/skeleton.h"
#include "compiler/import/tensor_reader.h"
#include "compiler/import/upgrade.h"

namespace temper::importer {
namespace {

using graph::Graph;
using graph::kNone;

// Of a model or a node: none that is real comes near, and some work is quadratic in it.
constexpr int kMaxOperands = 1 << 14;

// Whether a dim_param names a dimension: exporters also write "?", "-1" and "None" for "any".
bool IsName(const std::string& text) {
  return !text.empty() && text != "None" &&
         (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_');
}

// An input's type as the file declares it. A dimension that is absent, named or negative is open:
// exporters write -1 for "any". A size of 0 is what it says, an empty tensor.
Result<graph::ValueType> DeclaredType(const onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) {
    return Unimplemented(fmt::format("input '{}' is no tensor", info.name()));
  }
  const onnx::TypeProto::Tensor& tensor = info.type().tensor_type();
  graph::ValueType type;
  type.dtype = DTypeOfOnnx(tensor.elem_type());
  if (!type.dtype) {
    return Unimplemented(fmt::format("input '{}' has the element type {}, which is not supported",
                                     info.name(), OnnxTypeName(tensor.elem_type())));
  }
  type.has_rank = tensor.has_shape();
  if (tensor.shape().dim_size() > 64) {
    return InvalidArgument(
        fmt::format("input '{}' has {} dimensions", info.name(), tensor.shape().dim_size()));
  }
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      type.dims.emplace_back(static_cast<int64_t>(dim.dim_value()));
    } else {
      type.dims.emplace_back(IsName(dim.dim_param()) ? dim.dim_param() : std::string());
    }
  }
  return type;
}

class ModelBuilder {
 public:
  ModelBuilder(const onnx::ModelProto& model, TensorReader& reader, const ImportOptions& options)
      : model_(model), proto_(model.graph()), reader_(reader), options_(options) {}

  Result<Graph> Build() {
    TEMPER_RETURN_IF_ERROR(CheckVersions());
    TEMPER_RETURN_IF_ERROR(CheckOperators(proto_));
    graph_.name = proto_.name();
    TEMPER_RETURN_IF_ERROR(AddInputsAndConstants());
    TEMPER_ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(proto_, known_));
    CollectReadNames();
    for (int n : order) {
      const onnx::NodeProto& node = proto_.node(n);
      const std::string name = NodeName(node, n);
      auto status =
          node.op_type() == "Constant" ? AddConstantNode(node, name) : AddNode(node, name);
      if (!status.ok()) return status;
    }
    return Finish();
  }

 private:
  Status CheckVersions() {
    if (!model_.has_graph()) return InvalidArgument("not an ONNX model: it has no graph");
    opset_ = 1;  // what models without the field mean
    for (const onnx::OperatorSetIdProto& import : model_.opset_import()) {
      if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
      if (import.version() < 1 || import.version() > kNewestOpset) {
        return Unimplemented(
            fmt::format("it uses opset {}; this compiler reads opsets 1 to {}: convert the model",
                        import.version(), kNewestOpset));
      }
      opset_ = static_cast<int>(import.version());
    }
    if (model_.opset_import_size() == 0 && model_.ir_version() >= 3) {
      return InvalidArgument(
          "not an ONNX model, or a truncated one: it does not say which opset it uses");
    }
    if (std::max(proto_.input_size(), proto_.output_size()) > kMaxOperands) {
      return ResourceExhausted(fmt::format("it has more than {} inputs or outputs", kMaxOperands));
    }
    if (proto_.sparse_initializer_size() > 0) {
      return Unimplemented("sparse initializers are not supported");
    }
    return OkStatus();
  }

  Status AddInputsAndConstants() {
    std::unordered_set<std::string> initialized;
    for (const onnx::TensorProto& tensor : proto_.initializer()) {
      if (!initialized.insert(tensor.name()).second) {
        return InvalidArgument(fmt::format("initializer '{}' is there twice", tensor.name()));
      }
    }
    std::vector<DeclaredInput> inputs;
    for (const onnx::ValueInfoProto& info : proto_.input()) {
      if (initialized.count(info.name()) != 0) {
        if (options_.shapes.count(info.name()) == 0) continue;  // its default is its value
        initialized.erase(info.name());
      }
      if (!known_.insert(info.name()).second) {
        return InvalidArgument(fmt::format("input '{}' is there twice", info.name()));
      }
      TEMPER_ASSIGN_OR_RETURN(graph::ValueType type, DeclaredType(info));
      inputs.push_back({info.name(), std::move(type)});
    }
    TEMPER_ASSIGN_OR_RETURN(std::vector<graph::ValueType> types,
                            ResolveInputs(inputs, options_.shapes, options_.allow_open_dims));
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_[inputs[i].name] = graph_.AddInput(inputs[i].name, std::move(types[i]));
    }
    for (const onnx::TensorProto& tensor : proto_.initializer()) {
      if (initialized.count(tensor.name()) == 0) continue;
      known_.insert(tensor.name());
      TEMPER_ASSIGN_OR_RETURN(graph::Tensor contents, reader_.Read(tensor));
      values_[tensor.name()] = graph_.AddConstant(tensor.name(), std::move(contents));
    }
    return OkStatus();
  }

  void CollectReadNames() {
    for (const onnx::NodeProto& node : proto_.node()) {
      read_.insert(node.input().begin(), node.input().end());
    }
    for (const onnx::ValueInfoProto& output : proto_.output()) read_.insert(output.name());
  }

  Status AddConstantNode(const onnx::NodeProto& node, const std::string& name) {
    auto tensor = ReadConstant(node, reader_);
    if (!tensor.ok()) return tensor.status().WithContext(fmt::format("Constant '{}'", name));
    if (node.output_size() != 1) {
      return InvalidArgument(fmt::format("Constant '{}': it needs one output", name));
    }
    if (!node.output(0).empty()) {
      values_[node.output(0)] = graph_.AddConstant(node.output(0), std::move(tensor).value());
    }
    return OkStatus();
  }

  Status AddNode(const onnx::NodeProto& node, const std::string& name) {
    if (std::max(node.input_size(), node.output_size()) > kMaxOperands) {
      return ResourceExhausted(fmt::format("{} '{}' has more than {} inputs or outputs",
                                           node.op_type(), name, kMaxOperands));
    }
    SourceNode source;
    source.op = node.op_type();
    source.name = name;
    auto attributes = ReadAttributes(node, reader_);
    if (!attributes.ok()) {
      return attributes.status().WithContext(fmt::format("{} '{}'", node.op_type(), name));
    }
    source.attributes = std::move(attributes).value();
    for (const std::string& input : node.input()) {
      source.inputs.push_back(input.empty() ? kNone : values_.at(input));
    }
    // Trailing absent inputs are as good as none.
    while (!source.inputs.empty() && source.inputs.back() == kNone) source.inputs.pop_back();
    for (const std::string& output : node.output()) {
      source.outputs.push_back(output);
      source.used.push_back(read_.count(output) != 0 && !output.empty());
    }
    const std::vector<std::string> outputs = source.outputs;
    TEMPER_ASSIGN_OR_RETURN(const std::vector<int> ids, Upgrade(graph_, opset_, std::move(source)));
    for (size_t i = 0; i < outputs.size() && i < ids.size(); ++i) {
      if (!outputs[i].empty()) values_[outputs[i]] = ids[i];
    }
    return OkStatus();
  }

  Result<Graph> Finish() {
    if (proto_.output_size() == 0) return InvalidArgument("the model has no outputs");
    for (const onnx::ValueInfoProto& output : proto_.output()) {
      const auto it = values_.find(output.name());
      if (it == values_.end()) {
        return InvalidArgument(fmt::format("output '{}' is defined nowhere", output.name()));
      }
      graph_.AddOutput(it->second, output.name());
    }
    return std::move(graph_);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  TensorReader& reader_;
  const ImportOptions& options_;
  int opset_ = 1;
  Graph graph_;
  std::unordered_map<std::string, int> values_;  // name -> value
  std::unordered_set<std::string> known_;        // names of inputs and initializers
  std::unordered_set<std::string> read_;         // names that something reads
};

Result<Graph> ImportModel(std::span<const std::byte> bytes, TensorReader& reader,
                          const ImportOptions& options) {
  if (bytes.empty()) return InvalidArgument("the file is empty");
  TEMPER_ASSIGN_OR_RETURN(const std::string skeleton, MakeSkeleton(bytes));
  if (skeleton.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return ResourceExhausted("the model is too large");
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(skeleton.data(), static_cast<int>(skeleton.size()))) {
    return InvalidArgument("not an ONNX model: its contents have other types than ONNX's");
  }
  return ModelBuilder(model, reader, options).Build();
}

}  // namespace

Result<Graph> ImportFile(const std::string& path, const ImportOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const size_t slash = path.rfind('/');
  TensorReader reader(file->bytes(), file,
                      slash == std::string::npos ? "." : path.substr(0, slash + 1));
  auto graph = ImportModel(file->bytes(), reader, options);
  if (!graph.ok()) return graph.status().WithContext(path);
  return graph;
}

Result<Graph> ImportBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> holder,
                          const std::string& shown, const ImportOptions& options) {
  TensorReader reader(bytes, std::move(holder), std::nullopt);
  auto graph = ImportModel(bytes, reader, options);
  if (!graph.ok()) return graph.status().WithContext(shown);
  return graph;
}

Status ParseShapeFlag(const std::string& flag, ImportOptions* options) {
  const size_t equals = flag.rfind('=');
  const auto refuse = [&] {
    return InvalidArgument(
        fmt::format("--shape {}: expected NAME=SIZES, such as input=1x3x224x224", flag));
  };
  if (equals == std::string::npos || equals == 0) return refuse();
  graph::Shape shape;
  const char* at = flag.data() + equals + 1;
  const char* const end = flag.data() + flag.size();
  while (at < end) {
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    // A sign, an 'x' at the end, and any other mark are refused here.
    if (error != std::errc() || dim < 1 || (next < end && (*next != 'x' || next + 1 == end))) {
      return refuse();
    }
    shape.push_back(dim);
    at = next < end ? next + 1 : next;
  }
  if (!options->shapes.emplace(flag.substr(0, equals), std::move(shape)).second) {
    return InvalidArgument(fmt::format("--shape names '{}' twice", flag.substr(0, equals)));
  }
  return OkStatus();
}

}  // namespace temper::importer
