// The shapes of a model's inputs: what the file declares and what the user asked for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/type.h"

namespace temper::importer {

struct DeclaredInput {
  std::string name;
  graph::ValueType type;  // as the file says; unset dimensions are unknown or named
};

// The types to compile for. `shapes` gives some inputs a shape, each dimension at least 1; it may
// fill open dimensions, and must agree with the others. A name that several dimensions share has
// one size. Errors, all of which name the input and list what is there: a name that is no input; a
// wrong rank; a contradiction; and, unless `allow_open`, dimensions that stay open (with the
// flag --shape that would set them).
Result<std::vector<graph::ValueType>> ResolveInputs(
    const std::vector<DeclaredInput>& inputs, const std::map<std::string, graph::Shape>& shapes,
    bool allow_open);

}  // namespace temper::importer
