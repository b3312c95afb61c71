// Operators that op_list.inc does not have: an outside project gives them to the driver in its
// options (driver/extension.h), and every graph of a model carries them to whoever meets a node.
//
// A node of such an operator has its definition beside it (Node::outside). Operators are taken to
// be pure: two nodes of equal inputs and attributes may become one.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/attribute.h"

namespace temper::graph {

class Composer;      // compose/composer.h
class InferContext;  // infer/context.h
struct EvalContext;  // eval/context.h
struct Node;

struct OutsideAttribute {
  std::string name;
  // Its type, and what it is where a node leaves it out.
  Attribute value;
  bool required = false;  // a node that leaves it out is refused
};

struct OutsideOp {
  virtual ~OutsideOp() = default;

  std::string domain;  // neither ONNX's ("", "ai.onnx") nor "temper"
  std::string name;
  int min_inputs = 1;
  int max_inputs = 1;  // -1: no limit
  int min_outputs = 1;
  int max_outputs = 1;
  // Versions of the domain, as models state them, in which the operator is what is said here.
  int oldest_version = 1;
  int newest_version = std::numeric_limits<int>::max();
  // All attributes that a node may have. The importer fills in those that are left out.
  std::vector<OutsideAttribute> attributes;

  // Sets the types of the outputs, with every check of the inputs. Required.
  Status (*infer)(InferContext&) = nullptr;
  // Computes a node of constant inputs (eval/eval.h); false: not this one. May be null.
  Result<bool> (*eval)(EvalContext&) = nullptr;
  // Writes the node as others (compose/composer.h), once all types are known. May be null, where
  // there is a kernel (ops/outside_op.h).
  void (*compose)(Composer&) = nullptr;
};

// By domain and name.
using OutsideOps = std::map<std::pair<std::string, std::string>, std::shared_ptr<const OutsideOp>>;

// Null if there is none. `ops` may be null.
const OutsideOp* FindOutsideOp(const OutsideOps* ops, const std::string& domain,
                               const std::string& name);

// Checks a node's attributes against the table and adds those that it leaves out. The error does
// not name the node.
Status FillAttributes(const OutsideOp& op, Attributes* attributes);

}  // namespace temper::graph
