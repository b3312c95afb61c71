// Sequences of tensors, resolved when the model is imported: which tensors they hold, and where, is
// known then, so that they are lists of values and nothing behind the importer meets them.
//
//   s = SequenceConstruct(a, b, c); t = SequenceErase(s, 1); y = SequenceAt(t, -1)   ->  y = c
//
// A position that is only known at run time is refused, and so is a sequence that goes in or out of
// the model, of a function, or of a nested graph.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::importer {

// The longest one, of values of the graph.
inline constexpr int64_t kMaxSequence = 1 << 14;
using Sequence = std::vector<int>;
// A tensor (kNone where it is absent), or a sequence.
using TensorOrSequence = std::variant<int, Sequence>;

// Whether the operator makes or reads sequences and is resolved.
bool IsSequenceOperator(std::string_view op);

struct SequenceNode {
  std::string op;
  std::string name;
  std::vector<TensorOrSequence> inputs;
  std::string output;
  graph::Attributes attributes;
};

// Adds what the node's result needs (Split, Concat, a constant) to the graph. REQUIRES:
// IsSequenceOperator(node.op), or an Identity.
Result<TensorOrSequence> AddSequenceNode(graph::Graph& graph, const SequenceNode& node);

}  // namespace temper::importer
