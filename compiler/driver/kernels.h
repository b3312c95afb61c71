// From a model file to the kernels that it consists of: import, graph passes, layout, partition.
// Tuning and compiling both start here, so that what is tuned is what is compiled.
//
// A model may be specialized for several sets of input shapes. Each is imported and partitioned on
// its own; equal kernels and equal constants are shared among them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/constants.h"
#include "base/hash.h"
#include "base/status.h"
#include "compiler/driver/extension.h"
#include "compiler/graph/graph.h"
#include "compiler/import/import.h"
#include "compiler/ops/runtime_op.h"
#include "compiler/partition/in_place.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"

namespace temper::driver {

using InputShapes = std::map<std::string, graph::Shape>;  // of a model's inputs, by name

inline constexpr size_t kMaxSpecializations = 64;

struct FrontendOptions {
  // One a specialization, in the order in which they are tried; none: one, with the shapes that the
  // model declares.
  std::vector<InputShapes> shapes;
  std::map<std::string, graph::Tensor> values;    // inputs fixed when compiling (import/import.h)
  std::map<std::string, int64_t> max_trips;       // of loops, by the node's name (import/import.h)
  int64_t unroll_nodes = importer::kUnrollNodes;  // import/import.h
  // Initializers that are inputs too and stay optional inputs of the compiled model. Nothing: from
  // IR version 4 on those that can; else those named (import/import.h says more).
  std::optional<std::vector<std::string>> overridable;
  // Where large constants are when a run comes to them. Nothing: model_constants.h decides.
  std::optional<Constants> constants;
  Extensions extensions;                     // operators and passes of outside projects
  std::vector<std::string> disabled_passes;  // by name; an unknown one is an error
  // Called with the graph after import ("import") and after each pass, by its name. May be empty.
  std::function<void(std::string_view pass, const graph::Graph& graph)> after_pass;
};

struct KernelBody;

// One kernel call of a graph, in the order of execution; or an If or Loop with the calls in it.
struct ModelKernel {
  int workload = 0;  // index into ModelKernels::workloads; -1 for a `call` and for control flow
  std::shared_ptr<const ops::RuntimeCall> call;  // a function of the runtime
  std::vector<int> inputs;         // graph values, one an input of the workload's program
  std::vector<int> outputs;        // graph values, one an output of it
  std::vector<std::string> nodes;  // names of the source model's nodes in it; of a kernel that
                                   // only changes a layout, that of the node it does so for
  // Of an If or Loop: its node, and for each of its graphs the kernels, as graph::NestedNames has
  // them. Its inputs and outputs are those of the node that are there.
  int control = graph::kNone;
  std::string control_op;  // "If" or "Loop"
  std::vector<KernelBody> bodies;
};

// A distinct computation: kernels with the same one share their code and their records.
struct KernelWorkload {
  Hash hash;
  te::Program program;  // canonical
  std::string name;     // for people: "Conv+Relu 1x56x56x64"
  int uses = 0;         // kernels of the model with it, in all specializations
  double runs = 0;      // how often a run of each calls them; where only the run knows, loops count
                        // as kAssumedTrips trips and a branch as half a call
  Constants constants = Constants::kCold;  // te::ConstantsOf the program in this model
};
inline constexpr double kAssumedTrips = 16;

// The kernels of the model's graph or of a nested one.
struct KernelBody {
  graph::Graph graph;
  std::vector<ModelKernel> kernels;
  // By graph value: the value whose memory it shares, itself for most, and how many bytes into it.
  // A Reshape between kernels is no kernel: its result is its operand in other words. So are parts
  // of a value that lie in it (partition/in_place.h). PlaceOf() follows them to the end.
  std::vector<partition::Placement> storage;
  // Bytes of the memory of a value that only kernels of its parts write.
  std::map<int, int64_t> part_bytes;
};

// The model for one set of shapes, and with its defaults as they are or as inputs.
struct Specialization : KernelBody {
  // Inputs with a default, the same in all specializations. Where `fixed_defaults`, the graph has
  // them as constants, else as its last inputs.
  std::vector<importer::InputDefault> optional;
  bool fixed_defaults = false;
};

// The value in whose memory this one lies, and where in it.
partition::Placement PlaceOf(const KernelBody& body, int value);

// All kernels, those of nested graphs right behind the If or Loop: the order of a model's steps.
std::vector<const ModelKernel*> AllKernels(const KernelBody& body);

struct ModelKernels {
  // At least one. All have inputs and outputs of the same names, types and ranks.
  std::vector<Specialization> specializations;
  std::vector<KernelWorkload> workloads;   // of all, in the order of their first use
  Constants constants = Constants::kCold;  // of the model (model_constants.h), or as was asked for
  std::vector<std::string> warnings;       // of the model, for people
};

Result<ModelKernels> BuildKernels(const std::string& model, const FrontendOptions& options,
                                  const Target& target);

// The names of the graph passes in their order, for --disable-pass and --print-after.
std::vector<std::string> PassNames();

// OK where each is a pass that may be left out; else INVALID_ARGUMENT lists those that may.
Status CheckDisabledPasses(const std::vector<std::string>& names);

// One tuning task: a workload with how often the model runs it.
struct TuningTask {
  std::string name;
  te::Program program;  // canonical
  Hash hash;
  double weight = 1;                       // how often, in all specializations together
  Constants constants = Constants::kCold;  // to be timed with
  std::vector<std::string> nodes;          // of the source model, of all kernels with this workload
};
Result<std::vector<TuningTask>> ExtractTasks(const std::string& model,
                                             const FrontendOptions& options, const Target& target);

}  // namespace temper::driver
