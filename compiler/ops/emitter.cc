#include "compiler/ops/emitter.h"

#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

DType AccumulatorType(DType dtype) {
  return IsFloat(dtype) && ByteSize(dtype) < 4 ? DType::kFloat32 : dtype;
}

Status Emitter::Refuse(const std::string& message) const {
  return Unimplemented(node_->Describe() + ": " + message);
}

Status Emitter::CheckTypes() const {
  auto check = [&](int value) {
    if (value == graph::kNone) return OkStatus();
    const graph::ValueType& type = graph_.type(value);
    if (!type.IsStatic()) {
      return FailedPrecondition(node_->Describe() + ": the shape of '" + graph_.value(value).name +
                                "' is not known (" + type.ToString() +
                                "); state every dimension of the inputs with --shape");
    }
    const auto count = graph::ElementCount(type.StaticShape());
    if (!count) return Refuse("'" + graph_.value(value).name + "' is too large");
    // An empty optional such as Pad's axes is fine; an empty result has nothing to compute.
    if (*count == 0 && value == node_->Output(0)) {
      return Refuse("its result '" + graph_.value(value).name + "' has no elements");
    }
    if (type.dims.size() > static_cast<size_t>(te::kMaxRank)) {
      return Refuse("'" + graph_.value(value).name + "' has more than " +
                    std::to_string(te::kMaxRank) + " dimensions");
    }
    return OkStatus();
  };
  for (int value : node_->inputs) TEMPER_RETURN_IF_ERROR(check(value));
  for (int value : node_->outputs) TEMPER_RETURN_IF_ERROR(check(value));
  return OkStatus();
}

Status Emitter::Add(int node_id) {
  node_ = &graph_.node(node_id);
  const OpEntry* entry = FindBuilder(*node_);
  if (entry == nullptr || entry->build == nullptr)
    return Refuse("no kernel is known for this operator");
  TEMPER_RETURN_IF_ERROR(CheckTypes());
  // Builders start from the first result; Split alone treats all its results the same.
  if (Output(0) == graph::kNone && node_->op != "Split") {
    return Refuse("its first result has no elements, but another one is used");
  }
  TEMPER_RETURN_IF_ERROR(entry->build(*this));
  for (int value : node_->outputs) {
    if (value == graph::kNone) continue;
    auto found = tensors_.find(value);
    if (found == tensors_.end()) return Refuse("an output that is not supported is used");
    const te::Tensor& tensor = program_.tensors[found->second];
    if (tensor.shape != shape(value) || tensor.dtype != dtype(value)) {
      return Internal(node_->Describe() + ": its kernel computes " +
                      std::string(Name(tensor.dtype)) + graph::ShapeToString(tensor.shape) +
                      " where the graph has " + graph_.type(value).ToString());
    }
  }
  return OkStatus();
}

void Emitter::AddOutput(int value) {
  auto found = tensors_.find(value);
  TEMPER_CHECK(found != tensors_.end());
  te::Tensor& tensor = program_.tensors[found->second];
  TEMPER_CHECK(tensor.producer >= 0);
  if (auto halo = halos_.find(value); halo != halos_.end()) {
    tensor.halo_before = halo->second.before;
    tensor.halo_after = halo->second.after;
  }
  program_.outputs.push_back(found->second);
}

int Emitter::TensorOf(int value) {
  if (auto found = tensors_.find(value); found != tensors_.end()) return found->second;
  const graph::Value& v = graph_.value(value);
  const int tensor = program_.AddInput(v.name, dtype(value), shape(value), v.IsConstant());
  if (auto halo = halos_.find(value); halo != halos_.end()) {
    program_.tensors[tensor].halo_before = halo->second.before;
    program_.tensors[tensor].halo_after = halo->second.after;
  }
  tensors_[value] = tensor;
  input_values_.push_back(value);
  return tensor;
}

Expr Emitter::Read(int value, std::span<const Expr> indices) {
  const graph::Value& v = graph_.value(value);
  if (v.IsConstant() && v.constant->size() == 1) {
    const DType type = v.constant->dtype;
    if (IsFloat(type)) return tir::FloatImm(type, v.constant->AsDoubles()[0]);
    return tir::IntImm({type, 1}, v.constant->AsInts()[0]);
  }
  return ReadTensor(TensorOf(value), indices);
}

Expr Emitter::ReadBroadcast(int value, std::span<const Expr> point) {
  const graph::Shape dims = shape(value);
  TEMPER_CHECK(dims.size() <= point.size());
  Indices indices;
  for (size_t i = 0; i < dims.size(); ++i) {
    indices.push_back(dims[i] == 1 ? Expr(0) : point[point.size() - dims.size() + i]);
  }
  return Read(value, indices);
}

namespace {

Indices AddAxes(te::Program& program, const graph::Shape& shape, const char* prefix,
                std::vector<te::Axis>& axes) {
  Indices vars;
  for (size_t i = 0; i < shape.size(); ++i) {
    vars.push_back(program.NewVar(prefix + std::to_string(i)));
    axes.push_back({vars.back(), shape[i]});
  }
  return vars;
}

}  // namespace

std::string Emitter::StageName() const {
  for (int output : node_->outputs) {
    if (output != graph::kNone) return graph_.value(output).name;
  }
  return node_->op;
}

int Emitter::AddPoints(const graph::Shape& shape, const std::string& suffix,
                       const PointBody& body) {
  te::Stage stage;
  stage.name = StageName() + suffix;
  const Indices point = AddAxes(program_, shape, "i", stage.spatial);
  stage.body = body(point);
  return program_.AddStage(std::move(stage));
}

int Emitter::AddReduction(const graph::Shape& shape, const graph::Shape& reduced,
                          te::Combiner combiner, const std::string& suffix,
                          const ReduceBody& body) {
  te::Stage stage;
  stage.name = StageName() + suffix;
  stage.combiner = combiner;
  const Indices point = AddAxes(program_, shape, "i", stage.spatial);
  const Indices inner = AddAxes(program_, reduced, "r", stage.reduce);
  stage.body = body(point, inner);
  return program_.AddStage(std::move(stage));
}

void Emitter::Define(int value, int tensor) {
  if (value != graph::kNone) tensors_[value] = tensor;
}

void Emitter::DefinePoints(size_t i, const PointBody& body) {
  Define(Output(i), AddPoints(shape(Output(i)), "", body));
}

Result<std::vector<int64_t>> Emitter::ConstantInts(size_t i, const std::string& what) const {
  const graph::Tensor* tensor = graph_.ConstantInput(*node_, i);
  if (tensor == nullptr) {
    return FailedPrecondition(node_->Describe() + ": its " + what +
                              " is computed while the model runs, which is not supported");
  }
  return tensor->AsInts();
}

}  // namespace temper::ops
