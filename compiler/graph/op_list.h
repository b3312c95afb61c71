// The operators that the compiler knows, in their canonical form (opset kCanonicalOpset).
//
// The list is op_list.inc; the importer refuses models with other operators, naming all of them.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

struct OpInfo {
  std::string_view name;
  int min_inputs = 0;
  int max_inputs = 0;  // -1: no limit
  int min_outputs = 1;
  int max_outputs = 1;  // -1: no limit
};

// Sorted by name. All of domain "".
std::span<const OpInfo> OpList();
// Null if unknown.
const OpInfo* FindOp(std::string_view domain, std::string_view name);
// An error that names the node if it lacks a required operand or has too many operands or
// results. REQUIRES: FindOp knows the operator, or an outside project gave it.
Status CheckArity(const Node& node);

}  // namespace temper::graph
