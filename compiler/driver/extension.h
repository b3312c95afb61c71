// What an outside project adds to the compiler without changing it: operators and graph passes,
// given in FrontendOptions. docs/add-an-operator.md explains it with a project that does both
// (tests/outside_project).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/outside_op.h"

namespace temper::driver {

struct OutsidePass {
  std::string name;  // as --disable-pass and --print-after would call it
  // The pass behind which it runs (PassNames; of an outside pass too, if it stands before this
  // one), or "import": before all.
  std::string after;
  // As compiler/graph/passes/README.md says of passes. Called with each graph of the model; the
  // verifier runs behind it.
  std::function<Status(graph::Graph&)> run;
};

struct Extensions {
  std::vector<std::shared_ptr<const ops::OutsideOp>> operators;
  std::vector<OutsidePass> passes;
};

// By domain and name. INVALID_ARGUMENT says which operator is incomplete, there twice, or of a
// domain that is not the outside's.
Result<std::shared_ptr<const graph::OutsideOps>> OutsideOpsOf(const Extensions& extensions);

}  // namespace temper::driver
