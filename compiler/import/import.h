// ONNX model -> graph IR. The only place that sees ONNX.
//
// The graph's operators are in canonical form (graph/graph.h) whatever opset from 1 to
// kNewestOpset the model uses, its nodes in topological order, the types of values inferred as far
// as they follow from the inputs. Constants share the mapped file's memory. Every byte of the file
// counts as hostile: sizes are checked before they are used, depth and counts are bounded. Errors
// start with the file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::importer {

inline constexpr int kNewestOpset = 23;

inline constexpr int64_t kUnrollNodes = 64;
// The largest --max-trips: far more rows than memory has room for.
inline constexpr int64_t kMostDeclaredTrips = int64_t{1} << 24;

// An initializer that is also an input: what the input is where a caller does not give it.
struct InputDefault {
  std::string name;
  graph::Tensor value;
};

struct ImportOptions {
  // Shapes for inputs by name, as --shape gives them. An initializer that is also an input and
  // named here is an input without a default.
  std::map<std::string, graph::Shape> shapes;
  // Values for inputs by name, as --value gives them: such an input is a constant of the compiled
  // model, which no longer takes it. What decides a shape (Reshape's second input) must be
  // constant.
  std::map<std::string, graph::Tensor> values;
  // Which initializers that are inputs too a caller may override. Nothing: from IR version 4 on, as
  // ONNX has it, all but integers of at most one dimension, which decide shapes and axes; before
  // that none. Else those that are named, whatever the version.
  std::optional<std::vector<std::string>> overridable;
  // Whether those are inputs of the graph, behind its others; else they are constants as all other
  // initializers.
  bool overridable_are_inputs = false;
  // If not null: takes those that a caller may override, in the model's order.
  std::vector<InputDefault>* defaults = nullptr;
  // Operators of outside projects that the model may have; may be null.
  std::shared_ptr<const graph::OutsideOps> outside_ops;
  // The most trips that a Loop takes whose number of trips only the run knows, by the node's name,
  // as --max-trips gives them. To take more is an error of the run.
  std::map<std::string, int64_t> max_trips;
  // Loops of a known number of trips are written out where that gives so many nodes at most.
  int64_t unroll_nodes = kUnrollNodes;
  // If not null: takes what the user should know.
  std::vector<std::string>* warnings = nullptr;
  // Lets dimensions stay open, for looking at a model; the passes need static shapes.
  bool allow_open_dims = false;
  // If not null: takes the outputs' types as the file declares them, by name. Nothing relies on
  // them, for exporters get them wrong; an output without a readable one is left out.
  std::map<std::string, graph::ValueType>* declared_outputs = nullptr;
};

Result<graph::Graph> ImportFile(const std::string& path, const ImportOptions& options = {});

// The same from memory, which `holder` keeps alive; `shown` names it in errors. External data is
// refused.
Result<graph::Graph> ImportBytes(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> holder, const std::string& shown,
                                 const ImportOptions& options = {});

// Parses "x=1x3x48x192" into options.shapes ("x=" alone: a scalar). The name may contain '='.
Status ParseShapeFlag(const std::string& flag, ImportOptions* options);

}  // namespace temper::importer
