#include "compiler/driver/module_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "compiler/driver/memory_plan.h"
#include "compiler/driver/module_writer.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "deploy/runtime/pack.h"

namespace temper::driver {
namespace {

using codegen::ModuleArg;
using codegen::Place;

// Longer programs are not kept in the model; the largest of known networks has 6 kB.
constexpr size_t kMaxProgramBytes = 64 << 10;

int64_t BufferBytes(const te::Tensor& tensor) {
  int64_t count = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const int64_t halo =
        tensor.halo_before.empty() ? 0 : tensor.halo_before[d] + tensor.halo_after[d];
    count *= tensor.shape[d] + halo;
  }
  return count * ByteSize(tensor.dtype);
}

// The packing of one argument as the runtime carries it out.
temper_pack PackOf(const graph::Tensor& tensor, const lower::Argument& argument) {
  const std::vector<schedule::PackDim>& dims = argument.pack;
  temper_pack pack{};
  pack.transform_rows = argument.transform.rows;
  pack.element_bytes = ByteSize(tensor.dtype);
  pack.src_rank = static_cast<int32_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), pack.src_shape);
  pack.dst_rank = static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    pack.dst_shape[d] = dims[d].extent;
    pack.axis[d] = dims[d].axis;
    pack.step[d] = dims[d].step;
  }
  return pack;
}

Result<int> RuntimeOpNumber(std::string_view name) {
#define TEMPER_OP_NUMBER(number, text, function) \
  if (name == text) return number;
  TEMPER_RUNTIME_OPS(TEMPER_OP_NUMBER)
#undef TEMPER_OP_NUMBER
  return Internal(fmt::format("the runtime has no operator {}", name));
}

// The bytes of the temper_op_call.
Result<std::shared_ptr<const graph::Tensor>> DescribeCall(const graph::Graph& graph,
                                                          const ops::RuntimeCall& call) {
  temper_op_call c{};
  if (call.operands.size() > TEMPER_OP_MAX_TENSORS || call.ints.size() > TEMPER_OP_MAX_NUMBERS ||
      call.floats.size() > TEMPER_OP_MAX_NUMBERS) {
    return Internal(fmt::format("a call of {} has too many operands or numbers", call.op));
  }
  c.input_count = call.input_count;
  c.tensor_count = static_cast<int32_t>(call.operands.size());
  c.open_shapes = call.open_shapes;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    temper_op_tensor& t = c.tensors[i];
    t.dtype = -1;
    if (call.operands[i] == graph::kNone) continue;
    const graph::Value& value = graph.value(call.operands[i]);
    graph::Shape shape = value.type.LargestShape();
    if (static_cast<int>(i) == call.input_count && call.extents != graph::kNone) {
      shape.resize(static_cast<size_t>(graph.shape(call.extents)[0]), 1);  // the rank counts
    }
    if (shape.size() > TEMPER_MAX_DIMS) {
      return Unimplemented(
          fmt::format("'{}' has more than {} dimensions", value.name, TEMPER_MAX_DIMS));
    }
    t.dtype = static_cast<int32_t>(*value.type.dtype);
    t.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), t.shape);
  }
  std::copy(call.ints.begin(), call.ints.end(), c.ints);
  std::copy(call.floats.begin(), call.floats.end(), c.floats);
  std::byte* bytes = nullptr;
  auto tensor = std::make_shared<graph::Tensor>(
      graph::MakeTensor(DType::kUInt8, {static_cast<int64_t>(sizeof c)}, &bytes));
  std::memcpy(bytes, &c, sizeof c);
  return std::shared_ptr<const graph::Tensor>(std::move(tensor));
}

// Beyond every step.
constexpr int kToTheEnd = std::numeric_limits<int>::max();

// Indices of buffers become offsets.
void Settle(const MemoryPlan& memory, ModuleArg& arg) {
  if (arg.place == Place::kArena || arg.place == Place::kPointer) {
    arg.offset = memory.offsets[arg.offset];
  }
}

void Settle(const MemoryPlan& memory, codegen::ModuleStep& step) {
  step.workspace_offset =
      step.workspace_offset >= 0 ? memory.offsets[step.workspace_offset] : int64_t{0};
  for (ModuleArg& arg : step.args) Settle(memory, arg);
  const auto settle_extents = [&](std::vector<codegen::ModuleExtents>& list) {
    for (codegen::ModuleExtents& extents : list) extents.at = memory.offsets[extents.at];
  };
  if (step.branch) {
    Settle(memory, step.branch->condition);
    settle_extents(step.branch->then_extents);
    settle_extents(step.branch->else_extents);
  }
  if (!step.loop) return;
  codegen::ModuleLoop& loop = *step.loop;
  for (auto* arg : {&loop.trips, &loop.condition, &loop.next_condition}) {
    if (*arg) Settle(memory, **arg);
  }
  loop.counter = memory.offsets[loop.counter];
  for (auto& carried : loop.carried) {
    Settle(memory, carried.initial);
    for (ModuleArg& buffer : carried.buffers) Settle(memory, buffer);
    carried.in = memory.offsets[carried.in];
    carried.out = memory.offsets[carried.out];
  }
  for (auto& row : loop.rows) {
    Settle(memory, row.base);
    row.pointer = memory.offsets[row.pointer];
  }
  settle_extents(loop.extents);
  if (loop.wanted >= 0) loop.wanted = memory.offsets[loop.wanted];
}

}  // namespace

int64_t WeightTable::Plain(std::shared_ptr<const graph::Tensor> tensor) {
  Weight weight;
  weight.bytes = tensor->bytes();
  weight.tensor = std::move(tensor);
  return Append(std::move(weight));
}

Result<int64_t> WeightTable::Find(const lower::Argument& argument,
                                  const std::shared_ptr<const graph::Tensor>& constant,
                                  const std::string& name) {
  const graph::Tensor& tensor = *constant;
  std::vector<int64_t> key = {static_cast<int64_t>(tensor.dtype)};
  key.insert(key.end(), tensor.shape.begin(), tensor.shape.end());
  key.push_back(-1);
  for (const schedule::PackDim& d : argument.pack) {
    key.insert(key.end(), {d.axis, d.extent, d.step});
  }
  // The rows of a transform say which one it is.
  key.push_back(argument.transform.rows);
  auto [form, new_form] = forms_.try_emplace(std::move(key));
  if (new_form) {
    form->second.index = static_cast<int>(forms_.size());
    if (!argument.pack.empty()) {
      form->second.packed = std::make_shared<const WeightForm>(
          WeightForm{PackOf(tensor, argument), argument.transform.matrix});
    }
  }
  auto [known, added] = at_.try_emplace({tensor.data, form->second.index}, bytes_);
  if (!added) return known->second;
  Weight weight;
  weight.tensor = constant;
  weight.form = form->second.packed;
  weight.bytes = tensor.bytes();
  if (weight.form != nullptr) {
    const temper_pack pack = weight.form->Pack();
    weight.bytes = temper_pack_dst_bytes(&pack);
    if (weight.bytes < 0 || temper_pack_src_bytes(&pack) != tensor.bytes()) {
      return Internal(fmt::format("constant '{}' cannot be packed as asked", name));
    }
  }
  return Append(std::move(weight));
}

int64_t WeightTable::Append(Weight weight) {
  weight.offset = bytes_;
  bytes_ += (std::max<int64_t>(weight.bytes, 1) + kBufferAlignment - 1) / kBufferAlignment *
            kBufferAlignment;
  weights_.push_back(std::move(weight));
  return weights_.back().offset;
}

Result<codegen::ModuleSpecialization> ModuleWriter::Run() {
  plan_.steps.reserve(AllKernels(model_).size());
  AddValues();
  TEMPER_RETURN_IF_ERROR(AddDefaults());
  TEMPER_RETURN_IF_ERROR(AddSteps());
  TEMPER_ASSIGN_OR_RETURN(const MemoryPlan memory, PlanMemory(lives_));
  plan_.arena_bytes = memory.arena_bytes;
  for (const OpenOutput& open : open_outputs_) {
    plan_.outputs[open.output].shape_at = memory.offsets[open.buffer];
  }
  for (codegen::ModuleStep& step : plan_.steps) Settle(memory, step);
  for (codegen::ModuleFailure& failure : plan_.failures) {
    if (failure.number_at >= 0) failure.number_at = memory.offsets[failure.number_at];
  }
  return std::move(plan_);
}

void ModuleWriter::AddValues() {
  const graph::Graph& g = body_->graph;
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const int value = g.inputs()[i];
    places_[value].arg = {Place::kInput, static_cast<int64_t>(i)};
    plan_.inputs.push_back({g.value(value).name, *g.type(value).dtype, g.shape(value)});
  }
  for (size_t i = 0; i < g.outputs().size(); ++i) {
    const int value = g.outputs()[i];
    places_[value].arg = {Place::kOutput, static_cast<int64_t>(i)};
    codegen::ModuleValue output{g.output_names()[i], *g.type(value).dtype,
                                g.type(value).LargestShape()};
    for (const graph::Dim& dim : g.type(value).dims) output.open.push_back(!dim.known());
    plan_.outputs.push_back(std::move(output));
  }
}

Status ModuleWriter::AddDefaults() {
  plan_.optional_count = static_cast<int>(model_.optional.size());
  plan_.fixed_defaults = model_.fixed_defaults;
  for (const importer::InputDefault& d : model_.optional) {
    if (model_.fixed_defaults) {
      plan_.inputs.push_back({d.name, d.value.dtype, d.value.shape});
      continue;
    }
    TEMPER_ASSIGN_OR_RETURN(
        const int64_t offset,
        weights_.Find({}, std::make_shared<const graph::Tensor>(d.value), d.name));
    plan_.defaults.push_back(offset);
  }
  return OkStatus();
}

Status ModuleWriter::AddSteps() {
  for (const ModelKernel& kernel : body_->kernels) {
    if (kernel.control != graph::kNone) {
      TEMPER_RETURN_IF_ERROR(AddControl(kernel));
    } else if (kernel.call) {
      TEMPER_RETURN_IF_ERROR(AddCall(kernel));
    } else {
      TEMPER_RETURN_IF_ERROR(AddKernel(kernel));
    }
  }
  return OkStatus();
}

int ModuleWriter::NewBuffer(int64_t bytes, int step) {
  lives_.push_back({bytes, step, step});
  return static_cast<int>(lives_.size()) - 1;
}

void ModuleWriter::Touch(const Spot& spot, int step) {
  for (int buffer : spot.buffers) lives_[buffer].last = std::max(lives_[buffer].last, step);
}

int64_t ModuleWriter::BytesOf(int value) const {
  const graph::ValueType& type = body_->graph.type(value);
  return std::max<int64_t>(1, *graph::ByteCount(*type.dtype, type.LargestShape()));
}

Status ModuleWriter::AddKernel(const ModelKernel& kernel) {
  const int index = NextStep();
  const KernelWorkload& workload = workloads_[kernel.workload];
  const ChosenKernel& chosen = chosen_[kernel.workload];
  codegen::ModuleStep step;
  step.kernel = kernel.workload;
  step.nodes = JoinNames(kernel.nodes);
  const std::vector<lower::Argument>& arguments = chosen.lowered.arguments;
  if (arguments.size() != kernel.inputs.size() + kernel.outputs.size()) {
    return Internal(fmt::format("kernel {} has {} arguments for {} values", workload.name,
                                arguments.size(), kernel.inputs.size() + kernel.outputs.size()));
  }
  for (size_t a = 0; a < arguments.size(); ++a) {
    const bool input = a < kernel.inputs.size();
    const int value = input ? kernel.inputs[a] : kernel.outputs[a - kernel.inputs.size()];
    TEMPER_ASSIGN_OR_RETURN(
        ModuleArg arg, input ? InputArg(arguments[a], value, index,
                                        workload.program.tensors[workload.program.inputs[a]].shape)
                             : OutputArg(workload.program, a - kernel.inputs.size(), value, index));
    step.args.push_back(arg);
  }
  const int64_t workspace = workspace_bytes_[kernel.workload];
  step.workspace_offset = workspace > 0 ? NewBuffer(workspace, index) : -1;
  plan_.steps.push_back(std::move(step));
  return OkStatus();
}

// A function of the runtime: what it is called for lies among the weights.
Status ModuleWriter::AddCall(const ModelKernel& kernel) {
  const int index = NextStep();
  const graph::Graph& graph = body_->graph;
  const ops::RuntimeCall& call = *kernel.call;
  codegen::ModuleStep step;
  step.nodes = JoinNames(kernel.nodes);
  step.source = SourceName(SourceLevel::kPrior);
  TEMPER_ASSIGN_OR_RETURN(step.runtime_op, RuntimeOpNumber(call.op));
  TEMPER_ASSIGN_OR_RETURN(auto described, DescribeCall(graph, call));
  const ModuleArg description{Place::kWeights, weights_.Plain(std::move(described))};
  step.args.push_back(description);
  std::vector<ModuleArg> extents;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const int value = call.operands[i];
    const bool input = static_cast<int>(i) < call.input_count;
    int extents_buffer = graph::kNone;
    if (static_cast<int>(i) == call.input_count && call.extents != graph::kNone) {
      extents.push_back(ResultSpot(call.extents, index).arg);
    } else if (!input && call.open_shapes) {
      extents_buffer = NewBuffer(TEMPER_MAX_DIMS * 8, index);
      lives_[extents_buffer].last = kToTheEnd;
      extents.push_back({Place::kArena, extents_buffer});
    }
    if (value == graph::kNone) {
      step.args.push_back(description);  // not looked at
      continue;
    }
    step.bytes += *graph::ByteCount(*graph.type(value).dtype, graph.type(value).LargestShape());
    if (input) {
      TEMPER_ASSIGN_OR_RETURN(ModuleArg arg, InputArg({}, value, index));
      step.args.push_back(arg);
      continue;
    }
    const Spot spot = ResultSpot(value, index);
    step.args.push_back(spot.arg);
    if (spot.arg.place == Place::kOutput && !graph.type(value).IsStatic()) {
      open_outputs_.push_back({spot.arg.offset, extents_buffer});
    }
  }
  step.args.insert(step.args.end(), extents.begin(), extents.end());
  step.workspace_offset = call.workspace_bytes > 0 ? NewBuffer(call.workspace_bytes, index) : -1;
  plan_.steps.push_back(std::move(step));
  return OkStatus();
}

Result<ModuleArg> ModuleWriter::InputArg(const lower::Argument& argument, int value, int step,
                                         const graph::Shape& seen) {
  const graph::Value& v = body_->graph.value(value);
  if (v.IsConstant()) {
    std::shared_ptr<const graph::Tensor> constant = v.constant;
    // Packing names dimensions as the kernel sees them: axes may have been merged or cut.
    if (!argument.pack.empty() && seen != constant->shape &&
        graph::ElementCount(seen) == constant->size()) {
      graph::Tensor other = *constant;
      other.shape = seen;
      constant = std::make_shared<const graph::Tensor>(std::move(other));
    }
    TEMPER_ASSIGN_OR_RETURN(const int64_t offset, weights_.Find(argument, constant, v.name));
    return ModuleArg{Place::kWeights, offset};
  }
  const partition::Placement at = PlaceOf(*body_, value);
  const auto place = places_.find(at.of);
  if (place == places_.end()) {
    return Internal(fmt::format("value '{}' is read before a kernel writes it", v.name));
  }
  Touch(place->second, step);
  ModuleArg arg = place->second.arg;
  arg.within += at.offset;
  return arg;
}

Result<ModuleArg> ModuleWriter::OutputArg(const te::Program& program, size_t output, int value,
                                          int step) {
  const te::Tensor& tensor = program.tensors[program.outputs[output]];
  const partition::Placement at = PlaceOf(*body_, value);
  auto known = places_.find(at.of);
  if (known == places_.end()) {
    const int64_t bytes = at.of == value ? BufferBytes(tensor) : body_->part_bytes.at(at.of);
    const int buffer = NewBuffer(bytes, step);
    known = places_.emplace(at.of, Spot{{Place::kArena, buffer}, {buffer}}).first;
  } else if (at.of == value && !tensor.halo_before.empty()) {
    return Internal(
        fmt::format("value '{}' cannot be written there", body_->graph.value(value).name));
  }
  Touch(known->second, step);
  ModuleArg arg = known->second.arg;
  arg.within += at.offset;
  return arg;
}

temper_pack WeightForm::Pack() const {
  temper_pack full = pack;
  full.transform = transform.data();
  return full;
}

std::string KernelSymbol(int workload) { return fmt::format("temper_kernel_{}", workload); }

Result<ModuleParts> BuildModule(const ModelKernels& model, const std::vector<ChosenKernel>& chosen,
                                const std::vector<int64_t>& workspace_bytes, int threads,
                                const std::string& producer) {
  ModuleParts parts;
  codegen::ModulePlan& plan = parts.plan;
  plan.threads = threads;
  plan.producer = producer;
  for (size_t i = 0; i < model.workloads.size(); ++i) {
    const KernelWorkload& w = model.workloads[i];
    std::string text = te::CanonicalText(w.program);
    if (text.size() > kMaxProgramBytes) text.clear();
    plan.workloads.push_back({w.hash.Hex(), w.name, std::move(text)});
    plan.kernels.push_back({KernelSymbol(static_cast<int>(i)), w.hash.Hex(),
                            std::string(SourceName(chosen[i].level)),
                            schedule::ToText(chosen[i].schedule), chosen[i].expected_us,
                            te::FlopCount(w.program), te::ByteCount(w.program)});
  }
  WeightTable weights;
  for (const Specialization& s : model.specializations) {
    TEMPER_ASSIGN_OR_RETURN(
        codegen::ModuleSpecialization planned,
        ModuleWriter(s, model.workloads, chosen, workspace_bytes, weights).Run());
    plan.specializations.push_back(std::move(planned));
  }
  plan.weight_bytes = weights.bytes();
  parts.weights = weights.Take();
  return parts;
}

}  // namespace temper::driver
