// A kernel: the program that computes a group of nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/halo.h"
#include "compiler/ops/runtime_op.h"
#include "compiler/te/program.h"

namespace temper::partition {

// Nodes that form one kernel, in topological order. What leaves the group is the outputs of its
// last node, or of its only node.
struct Group {
  std::vector<int> nodes;

  friend bool operator==(const Group&, const Group&) = default;
};

struct Kernel {
  // Verified, elementwise stages merged (inline.h). Not in canonical order: te::Canonicalize keeps
  // the order of its inputs and outputs, so the lists below stay valid for the canonical program.
  te::Program program;
  std::vector<int> input_values;     // graph values of program.inputs; constants among them
  std::vector<int> output_values;    // graph values of program.outputs
  std::vector<int> nodes;            // of the graph, in topological order
  std::vector<std::string> sources;  // names of the source model's nodes in it; empty for a
                                     // change of layout that the model does not have
  // The output has the very bytes of the only input (a Reshape): whoever plans memory may let
  // them share it and leave the kernel out.
  bool view = false;
  // A function of the runtime, for a group of one node that is one; the program is then empty.
  std::optional<ops::RuntimeCall> call;
  // The group is an If or Loop, whose graphs are partitioned by themselves; no program either. The
  // lists of values are those of the node that are there.
  bool control = false;
};

// The kernel of a group. A status names the node that cannot be part of one.
Result<Kernel> BuildKernel(const graph::Graph& graph, const ops::Halos& halos, const Group& group);

// Nodes in the bodies of the program's stages once every stage without a reduction is inlined:
// what fusing costs where a value is read more than once. At most `limit`.
int64_t InlinedSize(const te::Program& program, int64_t limit);

}  // namespace temper::partition
