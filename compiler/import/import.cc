#include "compiler/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "compiler/import/graph_builder.h"
#include "compiler/import/inputs.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/skeleton.h"
#include "compiler/import/tensor_reader.h"

namespace temper::importer {
namespace {

using graph::Graph;
using graph::kNone;

// The IR version from which on an initializer that is an input too is only a default.
constexpr int64_t kDefaultsSince = 4;

// Whether a dim_param names a dimension: exporters also write "?", "-1" and "None" for "any".
bool IsName(const std::string& text) {
  return !text.empty() && text != "None" &&
         (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_');
}

// An input's type as the file declares it. A dimension that is absent, named or negative is open:
// exporters write -1 for "any". A size of 0 is what it says, an empty tensor.
Result<graph::ValueType> DeclaredType(const onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) {
    const char* what = info.type().has_sequence_type()   ? "a sequence"
                       : info.type().has_optional_type() ? "an optional"
                                                         : "no tensor";
    return Unimplemented(
        fmt::format("input '{}' is {}; only tensors are supported", info.name(), what));
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

// Whether an input may be fixed at the value: it has the declared type.
Status CheckValue(const std::string& name, const graph::ValueType& declared,
                  const graph::Tensor& value) {
  bool fits = declared.dtype == value.dtype &&
              (!declared.has_rank || declared.dims.size() == value.shape.size());
  for (size_t i = 0; fits && declared.has_rank && i < value.shape.size(); ++i) {
    fits = !declared.dims[i].known() || declared.dims[i].value == value.shape[i];
  }
  if (fits) return OkStatus();
  return InvalidArgument(fmt::format("--value {}: it is {}{}, but the model declares {}", name,
                                     Name(value.dtype), graph::ShapeToString(value.shape),
                                     declared.ToString()));
}

class ModelBuilder {
 public:
  ModelBuilder(const onnx::ModelProto& model, TensorReader& reader, const ImportOptions& options)
      : model_(model),
        proto_(model.graph()),
        reader_(reader),
        options_(options),
        flow_{options.unroll_nodes, options.max_trips},
        builder_(model, reader, graph_, flow_) {}

  Result<Graph> Build() {
    graph_.SetOutsideOps(options_.outside_ops);
    TEMPER_RETURN_IF_ERROR(CheckVersions());
    TEMPER_RETURN_IF_ERROR(builder_.CheckOperators(proto_.node()));
    graph_.name = proto_.name();
    TEMPER_RETURN_IF_ERROR(AddInputsAndConstants());
    std::vector<std::string> outputs;
    for (const onnx::ValueInfoProto& output : proto_.output()) outputs.push_back(output.name());
    TEMPER_RETURN_IF_ERROR(
        builder_.CheckMaxTrips(builder_.AddNodes(proto_.node(), outputs, scope_)));
    if (options_.warnings != nullptr) *options_.warnings = builder_.TakeWarnings();
    return Finish();
  }

 private:
  Status CheckVersions() {
    if (!model_.has_graph()) return InvalidArgument("not an ONNX model: it has no graph");
    scope_.opset = 1;  // what models without the field mean
    for (const onnx::OperatorSetIdProto& import : model_.opset_import()) {
      if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
      if (import.version() < 1 || import.version() > kNewestOpset) {
        return Unimplemented(
            fmt::format("it uses opset {}; this compiler reads opsets 1 to {}: convert the model",
                        import.version(), kNewestOpset));
      }
      scope_.opset = static_cast<int>(import.version());
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
    std::unordered_set<std::string> known;
    for (const auto& [name, value] : options_.values) {
      const auto named = [&name = name](const onnx::ValueInfoProto& i) { return i.name() == name; };
      if (std::any_of(proto_.input().begin(), proto_.input().end(), named)) continue;
      return InvalidArgument(fmt::format("--value names '{}', which is no input", name));
    }
    std::vector<DeclaredInput> inputs;
    std::vector<std::string> with_default;
    for (const onnx::ValueInfoProto& info : proto_.input()) {
      if (initialized.count(info.name()) != 0) {
        // Its default is its value, for good or where the caller gives none.
        if (options_.shapes.count(info.name()) + options_.values.count(info.name()) == 0) {
          with_default.push_back(info.name());
          continue;
        }
        initialized.erase(info.name());
      }
      if (info.name().empty()) return InvalidArgument("an input has no name");
      if (!known.insert(info.name()).second) {
        return InvalidArgument(fmt::format("input '{}' is there twice", info.name()));
      }
      TEMPER_ASSIGN_OR_RETURN(graph::ValueType type, DeclaredType(info));
      if (const auto fixed = options_.values.find(info.name()); fixed != options_.values.end()) {
        TEMPER_RETURN_IF_ERROR(CheckValue(info.name(), type, fixed->second));
        scope_.values[info.name()] = graph_.AddConstant(info.name(), fixed->second);
        continue;
      }
      inputs.push_back({info.name(), std::move(type)});
    }
    TEMPER_ASSIGN_OR_RETURN(std::vector<graph::ValueType> types,
                            ResolveInputs(inputs, options_.shapes, options_.allow_open_dims));
    for (size_t i = 0; i < inputs.size(); ++i) {
      scope_.values[inputs[i].name] = graph_.AddInput(inputs[i].name, std::move(types[i]));
    }
    std::unordered_map<std::string, graph::Tensor> values;
    const std::unordered_set<std::string> named(with_default.begin(), with_default.end());
    for (const onnx::TensorProto& tensor : proto_.initializer()) {
      if (initialized.count(tensor.name()) == 0) continue;
      TEMPER_ASSIGN_OR_RETURN(graph::Tensor contents, reader_.Read(tensor));
      if (named.count(tensor.name()) != 0) {
        values.emplace(tensor.name(), std::move(contents));
        continue;
      }
      scope_.values[tensor.name()] = graph_.AddConstant(tensor.name(), std::move(contents));
    }
    return AddDefaults(with_default, values);
  }

  // The initializers that are inputs too.
  Status AddDefaults(const std::vector<std::string>& names,
                     const std::unordered_map<std::string, graph::Tensor>& values) {
    const auto& wanted = options_.overridable;
    for (const std::string& name : wanted.value_or(std::vector<std::string>())) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return InvalidArgument(fmt::format(
          "--overridable names {}, which is not both an initializer and an input", Quoted(name)));
    }
    std::unordered_set<std::string> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second) {
        return InvalidArgument(fmt::format("input '{}' is there twice", name));
      }
      const graph::Tensor& value = values.at(name);
      const bool overridable =
          wanted ? std::find(wanted->begin(), wanted->end(), name) != wanted->end()
                 : model_.ir_version() >= kDefaultsSince &&
                       !(IsInt(value.dtype) && value.shape.size() <= 1);
      if (overridable && options_.defaults != nullptr) options_.defaults->push_back({name, value});
      scope_.values[name] = overridable && options_.overridable_are_inputs
                                ? graph_.AddInput(name, graph::TensorType(value.dtype, value.shape))
                                : graph_.AddConstant(name, value);
    }
    return OkStatus();
  }

  Result<Graph> Finish() {
    if (proto_.output_size() == 0) return InvalidArgument("the model has no outputs");
    for (const onnx::ValueInfoProto& output : proto_.output()) {
      if (output.name().empty()) return InvalidArgument("an output has no name");
      const int value = scope_.Find(output.name());
      if (scope_.FindSequence(output.name()) != nullptr) {
        return Unimplemented(
            fmt::format("output '{}' is a sequence; only tensors are supported", output.name()));
      }
      if (value == kNone) {
        return InvalidArgument(fmt::format("output '{}' is defined nowhere", output.name()));
      }
      graph_.AddOutput(value, output.name());
      if (options_.declared_outputs == nullptr) continue;
      if (auto type = DeclaredType(output); type.ok()) {
        options_.declared_outputs->insert_or_assign(output.name(), *std::move(type));
      }
    }
    return std::move(graph_);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  TensorReader& reader_;
  const ImportOptions& options_;
  Graph graph_;
  FlowOptions flow_;
  GraphBuilder builder_;
  Scope scope_;
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
    if (error == std::errc() && dim == 0) {
      return InvalidArgument(
          fmt::format("--shape {}: extent {} is 0; extents are 1 or more", flag, shape.size() + 1));
    }
    // A sign, an 'x' at the end, and any other mark are refused here.
    if (error != std::errc() || dim < 0 || (next < end && (*next != 'x' || next + 1 == end))) {
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
