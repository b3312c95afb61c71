// If and Loop in a compiled model: their conditions, the places of what they hand to their graphs,
// and the steps inside.
//
// What a nested graph captures stays where it is, and lives until the last step of the If or Loop:
// a later trip reads it again. What a Loop carries has two buffers that take turns; where the
// current one is says a pointer, which whatever reads the loop's result follows too. Rows are
// written where they belong.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/text.h"
#include "compiler/driver/module_writer.h"
#include "compiler/graph/control_flow.h"

namespace temper::driver {

using codegen::ModuleArg;
using codegen::ModuleExtents;
using codegen::Place;
using graph::LoopLayout;

Status ModuleWriter::AddControl(const ModelKernel& kernel) {
  const int index = NextStep();
  codegen::ModuleStep step;
  step.nodes = JoinNames(kernel.nodes);
  step.source = SourceName(SourceLevel::kPrior);
  step.workspace_offset = -1;
  plan_.steps.push_back(std::move(step));
  TEMPER_RETURN_IF_ERROR(body_->graph.node(kernel.control).Is("If") ? AddIf(kernel, index)
                                                                    : AddLoop(kernel, index));
  plan_.steps[index].nested = NextStep() - index - 1;
  return OkStatus();
}

Status ModuleWriter::AddNested(const KernelBody& body, Places places) {
  const KernelBody* outer = std::exchange(body_, &body);
  std::swap(places_, places);
  Status status = AddSteps();
  std::swap(places_, places);
  body_ = outer;
  return status;
}

Result<ModuleWriter::Spot> ModuleWriter::Operand(int value, int step) {
  const graph::Graph& graph = body_->graph;
  if (!graph.value(value).IsConstant() && !places_.count(PlaceOf(*body_, value).of) &&
      graph::ElementCount(graph.shape(value)) == 0) {
    return ResultSpot(value, step);  // nothing computes a tensor without elements
  }
  Spot spot;
  TEMPER_ASSIGN_OR_RETURN(spot.arg, InputArg({}, value, step));
  if (const auto at = places_.find(PlaceOf(*body_, value).of); at != places_.end()) {
    spot.buffers = at->second.buffers;
  }
  return spot;
}

ModuleWriter::Spot ModuleWriter::ResultSpot(int value, int step) {
  const auto known = places_.find(value);
  if (known != places_.end()) return known->second;
  const int buffer = NewBuffer(BytesOf(value), step);
  return places_.emplace(value, Spot{{Place::kArena, buffer}, {buffer}}).first->second;
}

std::vector<ModuleExtents> ModuleWriter::ExtentsOf(int value, const Spot& spot, int step,
                                                   const std::vector<int64_t>& extents) {
  if (spot.arg.place != Place::kOutput || body_->graph.type(value).IsStatic()) return {};
  auto open = std::find_if(open_outputs_.begin(), open_outputs_.end(),
                           [&](const OpenOutput& o) { return o.output == spot.arg.offset; });
  if (open == open_outputs_.end()) {
    const int buffer = NewBuffer(TEMPER_MAX_DIMS * 8, step);
    lives_[buffer].last = std::numeric_limits<int>::max();
    open = open_outputs_.insert(open, {spot.arg.offset, buffer});
  }
  return {{open->buffer, extents}};
}

Status ModuleWriter::AddIf(const ModelKernel& kernel, int index) {
  const graph::Node& node = body_->graph.node(kernel.control);
  const auto then_inputs = static_cast<size_t>(node.Int("then_inputs", 0));
  codegen::ModuleIf branch;
  std::vector<Spot> used;
  for (int value : node.inputs) {
    TEMPER_ASSIGN_OR_RETURN(Spot spot, Operand(value, index));
    used.push_back(std::move(spot));
  }
  branch.condition = used[0].arg;
  const size_t operands = used.size();
  for (int value : node.outputs) {
    used.push_back(value == graph::kNone ? Spot{} : ResultSpot(value, index));
  }
  for (size_t side = 0; side < 2; ++side) {
    const KernelBody& body = kernel.bodies[side];
    const size_t first = side == 0 ? 1 : 1 + then_inputs;
    Places places;
    for (size_t i = 0; i < body.graph.inputs().size(); ++i) {
      places[body.graph.inputs()[i]] = used[first + i];
    }
    const char* const error = side == 0 ? graph::kThenError : graph::kElseError;
    const bool ends = node.Has(error);
    if (ends) {
      (side == 0 ? branch.then_failure : branch.else_failure) =
          NewFailure({node.String(error, ""), -1, ""});
    }
    for (size_t i = 0; i < node.outputs.size() && !ends; ++i) {
      const int inner = body.graph.outputs()[i];
      if (node.outputs[i] == graph::kNone) continue;
      places[inner] = used[operands + i];
      if (!body.graph.type(inner).IsStatic()) continue;  // an If in it knows its extents
      for (const ModuleExtents& extents :
           ExtentsOf(node.outputs[i], used[operands + i], index, body.graph.shape(inner))) {
        (side == 0 ? branch.then_extents : branch.else_extents).push_back(extents);
      }
    }
    TEMPER_RETURN_IF_ERROR(AddNested(body, std::move(places)));
    if (side == 0) branch.then_steps = NextStep() - index - 1;
  }
  for (const Spot& spot : used) Touch(spot, NextStep() - 1);
  plan_.steps[index].branch = std::make_unique<codegen::ModuleIf>(std::move(branch));
  return OkStatus();
}

int ModuleWriter::NewFailure(codegen::ModuleFailure failure) {
  plan_.failures.push_back(std::move(failure));
  return static_cast<int>(plan_.failures.size()) - 1;
}

void ModuleWriter::AddTripFailure(const graph::Node& node, int step, codegen::ModuleLoop& loop) {
  const std::string name = node.sources.empty() ? std::string("NAME") : node.sources[0];
  codegen::ModuleFailure failure;
  failure.before = fmt::format(
      "Loop '{}' would take more trips than the {} that the model was "
      "compiled for",
      EscapeControl(name), loop.max_trips);
  const std::string advice =
      fmt::format("; compile it with a larger --max-trips '{}=N'", EscapeControl(name));
  if (loop.trips) {
    loop.wanted = NewBuffer(8, step);
    lives_[loop.wanted].last = std::numeric_limits<int>::max();
    failure.before += " (its trip count is ";
    failure.number_at = loop.wanted;
    failure.after = ")" + advice;
  } else {
    failure.before += advice;
  }
  loop.failure = NewFailure(std::move(failure));
}

Status ModuleWriter::AddLoop(const ModelKernel& kernel, int index) {
  const graph::Node& node = body_->graph.node(kernel.control);
  const LoopLayout layout(node);
  const KernelBody& body = kernel.bodies[0];
  codegen::ModuleLoop loop;
  loop.max_trips = graph::ExactTrips(body_->graph, node) ? -1 : layout.max_trips;
  std::vector<Spot> used;  // until the last step inside
  const auto arena = [&](int64_t bytes) {
    const int buffer = NewBuffer(bytes, index);
    used.push_back({{Place::kArena, buffer}, {buffer}});
    return used.back();
  };
  std::vector<Spot> operands;
  for (int value : node.inputs) {
    Spot spot;
    if (value != graph::kNone) {
      TEMPER_ASSIGN_OR_RETURN(spot, Operand(value, index));
    }
    operands.push_back(spot);
    used.push_back(std::move(spot));
  }
  if (node.HasInput(LoopLayout::kTrips)) loop.trips = operands[LoopLayout::kTrips].arg;
  if (node.HasInput(LoopLayout::kCondition)) loop.condition = operands[LoopLayout::kCondition].arg;
  if (loop.max_trips >= 0) AddTripFailure(node, index, loop);
  Places inner;
  const std::vector<int>&inputs = body.graph.inputs(), &outputs = body.graph.outputs();
  const Spot counter = arena(8);
  if (layout.counts && node.outputs[layout.carried] != graph::kNone) {
    places_[node.outputs[layout.carried]] = counter;
  }
  loop.counter = counter.arg.offset;
  inner[inputs[0]] = counter;
  if (layout.conditional) {
    inner[outputs[0]] = arena(1);
    loop.next_condition = inner[outputs[0]].arg;
  }
  for (size_t i = 0; i < layout.carried; ++i) {
    const Spot& initial = operands[LoopLayout::kInitial + i];
    // Of what is carried, for which the initial value may be smaller.
    const graph::ValueType& type = body.graph.type(inputs[1 + i]);
    const int64_t bytes = std::max<int64_t>(1, *graph::ByteCount(*type.dtype, type.StaticShape()));
    const Spot in = arena(8), out = arena(8), a = arena(bytes), b = arena(bytes);
    Spot current{{Place::kPointer, in.arg.offset}, {in.buffers[0], a.buffers[0], b.buffers[0]}};
    Spot next{{Place::kPointer, out.arg.offset}, {out.buffers[0], a.buffers[0], b.buffers[0]}};
    current.buffers.insert(current.buffers.end(), initial.buffers.begin(), initial.buffers.end());
    inner[inputs[1 + i]] = current;
    inner[outputs[layout.first_carried() + i]] = next;
    if (node.outputs[i] != graph::kNone) places_[node.outputs[i]] = current;
    loop.carried.push_back({initial.arg, in.arg.offset, out.arg.offset, {a.arg, b.arg}});
  }
  for (size_t i = layout.first_row_result(); i < node.outputs.size(); ++i) {
    const int row = outputs[layout.first_row() + i - layout.first_row_result()];
    if (node.outputs[i] == graph::kNone) continue;
    const Spot pointer = arena(8);
    Spot base = ResultSpot(node.outputs[i], index);
    const graph::Shape shape = body.graph.shape(row);
    loop.rows.push_back(
        {base.arg, pointer.arg.offset, *graph::ByteCount(*body.graph.type(row).dtype, shape)});
    std::vector<int64_t> extents = shape;
    extents.insert(extents.begin(), -1);
    for (ModuleExtents& e : ExtentsOf(node.outputs[i], base, index, extents)) {
      loop.extents.push_back(std::move(e));
    }
    Spot at{{Place::kPointer, pointer.arg.offset}, base.buffers};
    at.buffers.push_back(pointer.buffers[0]);
    inner[row] = at;
    used.push_back(std::move(base));
  }
  for (size_t i = layout.captured(); i < node.inputs.size(); ++i) {
    inner[inputs[1 + i - LoopLayout::kInitial]] = operands[i];
  }
  TEMPER_RETURN_IF_ERROR(AddNested(body, std::move(inner)));
  for (const Spot& spot : used) Touch(spot, NextStep() - 1);
  plan_.steps[index].loop = std::make_unique<codegen::ModuleLoop>(std::move(loop));
  return OkStatus();
}

}  // namespace temper::driver
