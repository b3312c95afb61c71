// If and Loop: their graphs know the types of their own outputs.
#include "compiler/graph/control_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

Status OneElement(const InferContext& c, size_t input, DType dtype, const char* what) {
  if (!c.Has(input)) return OkStatus();
  if (c.dtype(input) != dtype || ElementCount(c.shape(input)) != 1) {
    return c.Error(fmt::format("{} is {}{} instead of one {}", what, Name(c.dtype(input)),
                               ShapeToString(c.shape(input)), Name(dtype)));
  }
  return OkStatus();
}

Status StaticInside(const InferContext& c, const Graph& graph, size_t output) {
  const ValueType& type = graph.type(graph.outputs()[output]);
  if (type.IsStatic()) return OkStatus();
  return Unimplemented(fmt::format(
      "{}: output '{}' of its nested graph is {}; only results of known extents can leave one",
      c.node().Describe(), graph.output_names()[output], type.ToString()));
}

Status HasBodies(const InferContext& c) {
  for (const std::string& name : NestedNames(c.node())) {
    const auto at = c.node().attributes.find(name);
    const auto* body = at == c.node().attributes.end()
                           ? nullptr
                           : std::get_if<std::shared_ptr<const Graph>>(&at->second);
    if (body == nullptr || *body == nullptr) return c.Error("its " + name + " is missing");
  }
  return OkStatus();
}

// A result that is memory for several shapes, of which `inside` is one.
Status SetRoom(InferContext& c, size_t output, const ValueType& inside, int64_t elements) {
  if (!inside.IsStatic() || *ElementCount(inside.StaticShape()) > elements) {
    return c.Error(fmt::format("there is no room for {}", inside.ToString()));
  }
  return c.Set(output, *inside.dtype, {elements});
}

}  // namespace

Status InferIf(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(HasBodies(c));
  TEMPER_RETURN_IF_ERROR(OneElement(c, 0, DType::kBool, "its condition"));
  const Node& node = c.node();
  const Graph& yes = Nested(node, node.Has(kThenError) ? kElseBranch : kThenBranch);
  const Graph& no = Nested(node, node.Has(kElseError) ? kThenBranch : kElseBranch);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueType &a = yes.type(yes.outputs()[i]), &b = no.type(no.outputs()[i]);
    if (const int64_t room = RoomOf(node, i); room >= 0) {
      TEMPER_RETURN_IF_ERROR(SetRoom(c, i, a, room));
      TEMPER_RETURN_IF_ERROR(SetRoom(c, i, b, room));
      continue;
    }
    for (const Graph* branch : {&yes, &no}) {
      const ValueType& type = branch->type(branch->outputs()[i]);
      // An If in the branch may leave the extents open too.
      const Node* inner = branch->ProducerOf(branch->outputs()[i]);
      if (type.IsBounded() && inner != nullptr && inner->Is("If")) continue;
      TEMPER_RETURN_IF_ERROR(StaticInside(c, *branch, i));
    }
    if (a.dtype != b.dtype || a.dims.size() != b.dims.size()) {
      return Unimplemented(
          fmt::format("{}: its branches differ in type ({} and {}), which is not supported where "
                      "the condition is only known at run time",
                      c.node().Describe(), a.ToString(), b.ToString()));
    }
    std::vector<Dim> dims;
    for (size_t d = 0; d < a.dims.size(); ++d) {
      dims.push_back(a.dims[d] == b.dims[d]
                         ? a.dims[d]
                         : AtMost(std::max(a.LargestShape()[d], b.LargestShape()[d])));
    }
    TEMPER_RETURN_IF_ERROR(c.SetBounded(i, *a.dtype, std::move(dims)));
  }
  return OkStatus();
}

Status InferLoop(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(HasBodies(c));
  TEMPER_RETURN_IF_ERROR(OneElement(c, LoopLayout::kTrips, DType::kInt64, "its trip count"));
  TEMPER_RETURN_IF_ERROR(OneElement(c, LoopLayout::kCondition, DType::kBool, "its condition"));
  const Node& node = c.node();
  const Graph& body = Nested(node, kBody);
  const LoopLayout layout(node);
  if (layout.conditional) {
    const ValueType& next = body.type(body.outputs()[0]);
    if (!next.IsStatic() || next.dtype != DType::kBool || ElementCount(next.StaticShape()) != 1) {
      return c.Error(fmt::format("its body's condition is {}", next.ToString()));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (layout.counts && i == layout.carried) {
      TEMPER_RETURN_IF_ERROR(c.Set(i, DType::kInt64, {}));
      continue;
    }
    const size_t output = i < layout.carried ? layout.first_carried() + i
                                             : layout.first_row() + i - layout.first_row_result();
    TEMPER_RETURN_IF_ERROR(StaticInside(c, body, output));
    const ValueType& type = body.type(body.outputs()[output]);
    std::vector<Dim> dims = type.dims;
    const int64_t room = RoomOf(node, i);
    if (room >= 0) {
      dims = {Dim(room)};
      const bool fits =
          i >= layout.carried || HasRoom(TensorType(*type.dtype, {room}),
                                         c.graph().type(node.Input(LoopLayout::kInitial + i)));
      if (!fits) return c.Error("there is no room for what it carries");
    } else if (i < layout.carried) {
      const size_t input = LoopLayout::kInitial + i;
      if (c.dtype(input) != *type.dtype || c.shape(input) != type.StaticShape()) {
        return Unimplemented(fmt::format(
            "{}: carried value {} ('{}') is {}{} at first and {} after a trip; what a loop carries "
            "must keep its type where its trips are not written out",
            node.Describe(), i, body.output_names()[output], Name(c.dtype(input)),
            ShapeToString(c.shape(input)), type.ToString()));
      }
    } else if (const auto exact = ExactTrips(c.graph(), node)) {
      dims.insert(dims.begin(), Dim(*exact));
    } else {
      const int64_t most = MostTrips(c.graph(), node);
      if (most < 0) {
        return FailedPrecondition(fmt::format(
            "{}: output {} ('{}') has a row for each trip, and how many trips it takes is only "
            "known at run time; state the most with --max-trips '{}=N'",
            node.Describe(), i, body.output_names()[output],
            node.sources.empty() ? "NAME" : node.sources[0]));
      }
      dims.insert(dims.begin(), AtMost(most));
    }
    TEMPER_RETURN_IF_ERROR(c.SetBounded(i, *type.dtype, std::move(dims)));
  }
  return OkStatus();
}

}  // namespace temper::graph
