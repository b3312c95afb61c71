#include "compiler/wire/wire_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/verify.h"
#include "compiler/wire/enums.h"

namespace temper::wire {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::ExprNode;

void PutTensor(const te::Tensor& t, proto::Tensor* out) {
  out->set_dtype(ToWire(kDataTypes, t.dtype));
  out->mutable_shape()->Add(t.shape.begin(), t.shape.end());
  out->mutable_halo_before()->Add(t.halo_before.begin(), t.halo_before.end());
  out->mutable_halo_after()->Add(t.halo_after.begin(), t.halo_after.end());
  out->set_constant(t.constant);
  out->set_name(t.name.substr(0, kMaxNameBytes));
}

// Writes a body's nodes, each shared node once.
class BodyWriter {
 public:
  BodyWriter(const te::Stage& stage, proto::Stage* out) : out_(out) {
    for (int i = 0; i < stage.axis_count(); ++i) axes_[stage.axis(i).var->var_id()] = i;
  }

  uint32_t Put(const Expr& e) {
    if (auto at = done_.find(e.get()); at != done_.end()) return at->second;
    std::vector<uint32_t> operands;
    for (const Expr& o : e->operands()) operands.push_back(Put(o));
    proto::ExprNode* n = out_->add_body();
    n->set_kind(ToWire(kExprKinds, e->kind()));
    n->mutable_operands()->Add(operands.begin(), operands.end());
    switch (e->kind()) {
      case ExprKind::kIntImm:
        n->set_dtype(ToWire(kDataTypes, e->type().dtype));
        n->set_integer(e->int_value());
        break;
      case ExprKind::kFloatImm:
        n->set_dtype(ToWire(kDataTypes, e->type().dtype));
        n->set_number(e->float_value());
        break;
      case ExprKind::kVar:
        n->set_integer(axes_[e->var_id()]);
        break;
      case ExprKind::kCast:
        n->set_dtype(ToWire(kDataTypes, e->type().dtype));
        break;
      case ExprKind::kCall:
        n->set_function(ToWire(kFunctions, e->intrinsic()));
        break;
      case ExprKind::kLoad:
        n->set_integer(e->buffer());
        break;
      default:
        break;
    }
    const auto index = static_cast<uint32_t>(out_->body_size() - 1);
    done_.emplace(e.get(), index);
    return index;
  }

 private:
  proto::Stage* out_;
  std::unordered_map<int, int> axes_;
  std::unordered_map<const ExprNode*, uint32_t> done_;
};

Result<std::string> TakeName(const std::string& name) {
  if (name.size() > kMaxNameBytes) {
    return InvalidArgument(
        fmt::format("a name of {} bytes; at most {}", name.size(), kMaxNameBytes));
  }
  return EscapeControl(name);
}

Status TakeExtents(const google::protobuf::RepeatedField<int64_t>& from, std::vector<int64_t>* to) {
  if (from.size() > te::kMaxRank) {
    return InvalidArgument(fmt::format("{} extents; at most {}", from.size(), te::kMaxRank));
  }
  for (int64_t extent : from) {
    if (extent < 0 || extent > te::kMaxElements) {
      return InvalidArgument(fmt::format("extent {} is out of bounds", extent));
    }
  }
  to->assign(from.begin(), from.end());
  return OkStatus();
}

Result<te::Tensor> TakeTensor(const proto::Tensor& m) {
  te::Tensor t;
  auto dtype = FromWire(kDataTypes, m.dtype());
  if (!dtype) {
    return InvalidArgument(fmt::format("unknown element type {}", static_cast<int>(m.dtype())));
  }
  t.dtype = *dtype;
  TEMPER_ASSIGN_OR_RETURN(t.name, TakeName(m.name()));
  TEMPER_RETURN_IF_ERROR(TakeExtents(m.shape(), &t.shape));
  TEMPER_RETURN_IF_ERROR(TakeExtents(m.halo_before(), &t.halo_before).WithContext("halo"));
  TEMPER_RETURN_IF_ERROR(TakeExtents(m.halo_after(), &t.halo_after).WithContext("halo"));
  t.constant = m.constant();
  return t;
}

// Reads a body. Every node is checked before it is built, so that no builder meets nonsense.
class BodyReader {
 public:
  BodyReader(const te::Program& program, const te::Stage& stage)
      : program_(program), stage_(stage) {}

  Result<Expr> Run(const google::protobuf::RepeatedPtrField<proto::ExprNode>& body) {
    if (body.empty() || body.size() > kMaxBodyNodes) {
      return InvalidArgument(
          fmt::format("a body of {} nodes; 1 to {}", body.size(), kMaxBodyNodes));
    }
    nodes_.reserve(static_cast<size_t>(body.size()));
    for (const proto::ExprNode& n : body) {
      TEMPER_RETURN_IF_ERROR(
          Take(n).WithContext(fmt::format("node {} of the body", nodes_.size())));
    }
    return nodes_.back();
  }

 private:
  Status TakeOperands(const proto::ExprNode& n, std::vector<Expr>* operands) {
    if (n.operands_size() > te::kMaxRank) return InvalidArgument("too many operands");
    int64_t size = 1;
    int depth = 0;
    for (uint32_t o : n.operands()) {
      if (o >= nodes_.size())
        return InvalidArgument(fmt::format("operand {} is no earlier node", o));
      operands->push_back(nodes_[o]);
      size += sizes_[o];  // each is bounded, so the sum is
      depth = std::max(depth, depths_[o] + 1);
    }
    if (size > kMaxBodyTree) return InvalidArgument("a body that is too large");
    if (depth > tir::kMaxExprDepth) return InvalidArgument("a body that nests too deeply");
    sizes_.push_back(size);
    depths_.push_back(depth);
    return OkStatus();
  }

  Status Take(const proto::ExprNode& n) {
    const auto kind = FromWire(kExprKinds, n.kind());
    if (!kind) return InvalidArgument(fmt::format("unknown kind {}", static_cast<int>(n.kind())));
    std::vector<Expr> operands;
    TEMPER_RETURN_IF_ERROR(TakeOperands(n, &operands));
    tir::Type type = tir::kIndex;
    int64_t payload = 0;
    uint8_t sub = 0;
    const bool typed =
        *kind == ExprKind::kIntImm || *kind == ExprKind::kFloatImm || *kind == ExprKind::kCast;
    if (typed) {
      const auto dtype = FromWire(kDataTypes, n.dtype());
      if (!dtype) {
        return InvalidArgument(fmt::format("unknown element type {}", static_cast<int>(n.dtype())));
      }
      type.dtype = *dtype;
    }
    switch (*kind) {
      case ExprKind::kIntImm:
        payload = n.integer();
        break;
      case ExprKind::kFloatImm:
        nodes_.push_back(ExprNode::MakeFloat(type, n.number()));
        return CheckNode(operands.empty());
      case ExprKind::kVar:
        if (n.integer() < 0 || n.integer() >= stage_.axis_count()) {
          return InvalidArgument(fmt::format("axis {} of {}", n.integer(), stage_.axis_count()));
        }
        nodes_.push_back(stage_.axis(static_cast<int>(n.integer())).var);
        return CheckNode(operands.empty());
      case ExprKind::kLoad:
        if (n.integer() < 0 || n.integer() >= static_cast<int64_t>(program_.tensors.size())) {
          return InvalidArgument(fmt::format("tensor {} is not there yet", n.integer()));
        }
        payload = n.integer();
        type.dtype = program_.tensors[n.integer()].dtype;
        break;
      case ExprKind::kCast:
        break;
      default: {
        const size_t first = *kind == ExprKind::kSelect ? 1 : 0;
        if (operands.size() <= first) return InvalidArgument("operands are missing");
        type = operands[first]->type();
      }
    }
    if (*kind >= ExprKind::kEq && *kind <= ExprKind::kLe) type.dtype = DType::kBool;
    if (*kind == ExprKind::kCall) {
      const auto f = FromWire(kFunctions, n.function());
      if (!f) {
        return InvalidArgument(fmt::format("unknown function {}", static_cast<int>(n.function())));
      }
      sub = static_cast<uint8_t>(*f);
      if (*f == tir::Intrinsic::kIsNan || *f == tir::Intrinsic::kIsInf) type.dtype = DType::kBool;
    }
    nodes_.push_back(ExprNode::Make(*kind, type, operands, payload, sub));
    return OkStatus();
  }

  static Status CheckNode(bool no_operands) {
    return no_operands ? OkStatus() : InvalidArgument("a leaf with operands");
  }

  const te::Program& program_;
  const te::Stage& stage_;
  std::vector<Expr> nodes_;
  std::vector<int64_t> sizes_;  // of the tree that each node stands for
  std::vector<int> depths_;
};

Status TakeStage(const proto::Stage& m, te::Program* program) {
  te::Stage s;
  TEMPER_ASSIGN_OR_RETURN(te::Tensor t, TakeTensor(m.result()));
  TEMPER_ASSIGN_OR_RETURN(s.name, TakeName(m.name()));
  const auto combiner = FromWire(kCombiners, m.combiner());
  if (!combiner) {
    return InvalidArgument(fmt::format("unknown combiner {}", static_cast<int>(m.combiner())));
  }
  s.combiner = *combiner;
  std::vector<int64_t> reduce;
  TEMPER_RETURN_IF_ERROR(TakeExtents(m.reduce(), &reduce));
  for (int64_t extent : t.shape) {
    s.spatial.push_back({program->NewVar(fmt::format("i{}", s.axis_count())), extent});
  }
  for (int64_t extent : reduce) {
    s.reduce.push_back({program->NewVar(fmt::format("r{}", s.axis_count())), extent});
  }
  TEMPER_ASSIGN_OR_RETURN(s.body, BodyReader(*program, s).Run(m.body()));
  TEMPER_RETURN_IF_ERROR(tir::VerifyExpr(s.body));
  s.tensor = static_cast<int>(program->tensors.size());
  t.producer = static_cast<int>(program->stages.size());
  program->tensors.push_back(std::move(t));
  program->stages.push_back(std::move(s));
  return OkStatus();
}

}  // namespace

proto::Workload ToProto(const te::Program& program) {
  const te::Program p = te::Canonicalize(program);
  proto::Workload out;
  out.set_name(p.name.substr(0, kMaxNameBytes));
  for (int id : p.inputs) PutTensor(p.tensors[id], out.add_inputs());
  for (const te::Stage& s : p.stages) {
    proto::Stage* m = out.add_stages();
    PutTensor(p.tensors[s.tensor], m->mutable_result());
    for (const te::Axis& a : s.reduce) m->add_reduce(a.extent);
    m->set_combiner(ToWire(kCombiners, s.combiner));
    BodyWriter(s, m).Put(s.body);
    m->set_name(s.name.substr(0, kMaxNameBytes));
  }
  for (int id : p.outputs) out.add_outputs(static_cast<uint32_t>(id));
  return out;
}

Result<te::Program> FromProto(const proto::Workload& message) {
  if (message.inputs_size() + message.stages_size() > te::kMaxTensors ||
      message.stages_size() > te::kMaxStages || message.outputs_size() > te::kMaxTensors) {
    return InvalidArgument(fmt::format("a workload of {} inputs, {} stages and {} outputs",
                                       message.inputs_size(), message.stages_size(),
                                       message.outputs_size()));
  }
  te::Program p;
  TEMPER_ASSIGN_OR_RETURN(p.name, TakeName(message.name()));
  for (int i = 0; i < message.inputs_size(); ++i) {
    auto tensor = TakeTensor(message.inputs(i));
    if (!tensor.ok()) return tensor.status().WithContext(fmt::format("workload, input {}", i));
    p.inputs.push_back(static_cast<int>(p.tensors.size()));
    p.tensors.push_back(std::move(*tensor));
  }
  for (int i = 0; i < message.stages_size(); ++i) {
    TEMPER_RETURN_IF_ERROR(
        TakeStage(message.stages(i), &p).WithContext(fmt::format("workload, stage {}", i)));
  }
  for (uint32_t id : message.outputs()) {
    if (id >= p.tensors.size()) {
      return InvalidArgument(
          fmt::format("workload: output {} of {} tensors", id, p.tensors.size()));
    }
    p.outputs.push_back(static_cast<int>(id));
  }
  TEMPER_RETURN_IF_ERROR(te::Verify(p).WithContext("workload"));
  return te::Canonicalize(p);
}

}  // namespace temper::wire
