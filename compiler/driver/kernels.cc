#include "compiler/driver/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <unordered_map>

#include "base/text.h"
#include "compiler/driver/model_constants.h"
#include "compiler/graph/control_flow.h"
#include "compiler/graph/pipeline.h"
#include "compiler/graph/verify.h"
#include "compiler/import/import.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/in_place.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/split_transposed.h"
#include "compiler/te/canonical.h"
#include "compiler/te/constants.h"
#include "compiler/te/merge_axes.h"
#include "compiler/te/split_groups.h"

namespace temper::driver {
namespace {

struct Pass {
  std::string name;
  std::function<Status(graph::Graph&)> run;
  bool required;  // what follows does not work without it
};

// All passes in their order: those of the graph, then those that prepare the partition.
std::vector<Pass> Passes() {
  std::vector<Pass> passes;
  for (const graph::Pass& pass : graph::Passes()) {
    const bool required =
        pass.name == "infer_shapes" || pass.name == "decompose" || pass.name == "canonicalize";
    passes.push_back({std::string(pass.name), pass.run, required});
  }
  passes.push_back({"materialize_outputs", partition::MaterializeOutputs, true});
  passes.push_back({"channels_last", partition::ChannelsLast, false});
  passes.push_back({"drop_reduced_dimensions", partition::DropReducedDimensions, false});
  passes.push_back({"split_transposed", partition::SplitTransposed, false});
  passes.push_back({"copy_into_concats", partition::CopyIntoConcats, false});
  return passes;
}

// Puts the passes of outside projects where they ask to be.
Status AddPasses(const std::vector<OutsidePass>& outside, std::vector<Pass>* passes) {
  for (const OutsidePass& pass : outside) {
    const auto named = [](const std::string& name) {
      return [&name](const Pass& p) { return p.name == name; };
    };
    if (pass.name.empty() || pass.name == "import" || !pass.run ||
        std::any_of(passes->begin(), passes->end(), named(pass.name))) {
      return InvalidArgument(fmt::format(
          "the pass {} of the extensions has no function, or a name that is taken or reserved",
          Quoted(pass.name)));
    }
    auto at = passes->begin();
    if (pass.after != "import") {
      at = std::find_if(passes->begin(), passes->end(), named(pass.after));
      if (at == passes->end()) {
        return InvalidArgument(fmt::format("pass {} is to run after {}, which is no pass",
                                           Quoted(pass.name), Quoted(pass.after)));
      }
      ++at;
    }
    passes->insert(at, {pass.name, pass.run, false});
  }
  return OkStatus();
}

// Kernels that no node of the source model is in change a layout for one that is: for the one that
// reads what they write, else for the one that wrote what they read. Where they are alone between
// an input and an output, the output's name has to do.
void NameLayoutKernels(const graph::Graph& graph, std::vector<ModelKernel>& kernels) {
  if (std::none_of(kernels.begin(), kernels.end(),
                   [](const ModelKernel& kernel) { return kernel.nodes.empty(); })) {
    return;
  }
  std::map<int, std::string> reader, writer;  // by value
  for (size_t k = kernels.size(); k-- > 0;) {
    ModelKernel& kernel = kernels[k];
    for (int value : kernel.outputs) {
      const auto found = reader.find(value);
      if (kernel.nodes.empty() && found != reader.end()) kernel.nodes = {found->second};
    }
    if (kernel.nodes.empty()) continue;
    for (int value : kernel.inputs) reader[value] = kernel.nodes.front();
  }
  for (ModelKernel& kernel : kernels) {
    for (int value : kernel.inputs) {
      const auto found = writer.find(value);
      if (kernel.nodes.empty() && found != writer.end()) kernel.nodes = {found->second};
    }
    if (kernel.nodes.empty()) kernel.nodes = {graph.value(kernel.outputs[0]).name};
    for (int value : kernel.outputs) writer[value] = kernel.nodes.back();
  }
}

Status CheckDisabled(const std::vector<Pass>& passes, const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    std::string known;
    bool found = false;
    for (const Pass& pass : passes) {
      if (pass.required) continue;
      found |= pass.name == name;
      known += (known.empty() ? "" : ", ") + std::string(pass.name);
    }
    if (!found) {
      return InvalidArgument(fmt::format("there is no pass {} that can be left out. There are: {}",
                                         Quoted(name), known));
    }
  }
  return OkStatus();
}

// "Conv+Relu 1x56x56x64": what it is and the shape of its result.
std::string NameOf(const te::Program& program) {
  std::string name = program.name;
  if (program.outputs.empty()) return name;
  name += ' ';
  const std::vector<int64_t>& shape = program.tensors[program.outputs[0]].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    name += (d ? "x" : "") + std::to_string(shape[d]);
  }
  return name;
}

// Leaves a view out where the caller's buffers are not in the way.
bool SharesStorage(const graph::Graph& graph, const partition::Kernel& kernel) {
  return kernel.view && !graph.IsOutput(kernel.output_values[0]) &&
         !graph.value(kernel.input_values[0]).IsConstant();
}

// Whether parts of the result would lie where the model's caller has its buffers.
bool HoldsPartsForCaller(const KernelBody& model, const partition::Kernel& view) {
  if (model.part_bytes.count(view.output_values[0]) == 0) return false;
  const graph::Value& owner = model.graph.value(PlaceOf(model, view.input_values[0]).of);
  return owner.is_input || model.graph.IsOutput(owner.id);
}

// Every value in memory of its own, but for the parts of others.
void PlaceValues(const partition::Partition& partition, KernelBody& model) {
  const graph::Graph& graph = model.graph;
  for (int v = 0; v < graph.value_count(); ++v) model.storage.push_back({v, 0});
  for (const auto& [value, place] : partition.places) {
    model.storage[value] = place;
    int64_t& bytes = model.part_bytes[place.of];
    if (bytes != 0) continue;
    const graph::Shape shape = graph.shape(place.of);
    const auto halo = partition.halos.find(place.of);
    bytes = ByteSize(*graph.type(place.of).dtype);
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool wide = halo != partition.halos.end();
      bytes *= shape[d] + (wide ? halo->second.before[d] + halo->second.after[d] : 0);
    }
  }
}

// One warning for each output whose declared type contradicts the inferred one.
std::vector<std::string> WrongDeclarations(
    const graph::Graph& graph, const std::map<std::string, graph::ValueType>& declared) {
  std::vector<std::string> warnings;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = graph.output_names()[i];
    const auto at = declared.find(name);
    const graph::ValueType& type = graph.type(graph.outputs()[i]);
    if (at == declared.end() || !type.has_rank) continue;
    const graph::ValueType& said = at->second;
    bool wrong =
        said.dtype != type.dtype || (said.has_rank && said.dims.size() != type.dims.size());
    for (size_t d = 0; !wrong && said.has_rank && d < type.dims.size(); ++d) {
      wrong =
          said.dims[d].known() && type.dims[d].known() && said.dims[d].value != type.dims[d].value;
    }
    if (!wrong) continue;
    warnings.push_back(fmt::format("output '{}' is declared as {}, but the model computes {}",
                                   EscapeControl(name), said.ToString(), type.ToString()));
  }
  return warnings;
}

}  // namespace

partition::Placement PlaceOf(const KernelBody& model, int value) {
  partition::Placement place = model.storage[value];
  while (model.storage[place.of].of != place.of) {
    place.offset += model.storage[place.of].offset;
    place.of = model.storage[place.of].of;
  }
  return place;
}

std::vector<const ModelKernel*> AllKernels(const KernelBody& body) {
  std::vector<const ModelKernel*> all;
  for (const ModelKernel& kernel : body.kernels) {
    all.push_back(&kernel);
    for (const KernelBody& nested : kernel.bodies) {
      const auto inside = AllKernels(nested);
      all.insert(all.end(), inside.begin(), inside.end());
    }
  }
  return all;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

Status CheckDisabledPasses(const std::vector<std::string>& names) {
  return CheckDisabled(Passes(), names);
}

namespace {

// Constants of earlier specializations, so that equal ones share their memory and become one
// weight.
class ConstantPool {
 public:
  void Share(graph::Graph& graph) {
    for (int v = 0; v < graph.value_count(); ++v) {
      const graph::Value& value = graph.value(v);
      if (!value.IsConstant() || value.uses.empty()) continue;
      const graph::Tensor& tensor = *value.constant;
      auto& alike = known_[Fingerprint(tensor)];
      const auto same = std::find_if(alike.begin(), alike.end(), [&](const graph::Tensor& other) {
        return graph::SameBits(tensor, other);
      });
      if (same == alike.end()) {
        alike.push_back(tensor);
      } else if (same->data != tensor.data) {
        graph.MakeConstant(v, *same);
      }
    }
  }

 private:
  // Only to find candidates; what is shared is compared.
  static uint64_t Fingerprint(const graph::Tensor& tensor) {
    uint64_t hash = static_cast<uint64_t>(tensor.dtype) + tensor.shape.size();
    const std::span<const std::byte> bytes = tensor.raw();
    for (size_t i = 0; i < bytes.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
      hash = (hash ^ word) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    }
    return hash;
  }

  std::unordered_map<uint64_t, std::vector<graph::Tensor>> known_;
};

constexpr int kOtherWords = -2;

class Frontend {
 public:
  Frontend(const std::string& model, const FrontendOptions& options)
      : model_(model), options_(options), passes_(Passes()) {}

  Result<ModelKernels> Run() {
    TEMPER_ASSIGN_OR_RETURN(outside_ops_, OutsideOpsOf(options_.extensions));
    TEMPER_RETURN_IF_ERROR(AddPasses(options_.extensions.passes, &passes_));
    TEMPER_RETURN_IF_ERROR(CheckDisabled(passes_, options_.disabled_passes));
    if (options_.shapes.size() > kMaxSpecializations) {
      return InvalidArgument(fmt::format("{} specializations; at most {} are possible",
                                         options_.shapes.size(), kMaxSpecializations));
    }
    Status built = Build(/*overridable=*/true);
    // Where ONNX alone asks for it, what cannot be an input is a constant, as before.
    if (!built.ok() && failed_with_inputs_ && !options_.overridable) {
      result_ = {};
      known_.clear();
      const std::string why = built.message();
      TEMPER_RETURN_IF_ERROR(Build(/*overridable=*/false));
      result_.warnings.push_back(
          "the initializers that are inputs too are constants, since they cannot be inputs: " +
          why +
          ". --overridable NAME, for each that a caller may override, chooses; "
          "--no-overridable says that none is");
      return std::move(result_);
    }
    if (!built.ok()) return built;
    return std::move(result_);
  }

 private:
  Status Build(bool overridable) {
    std::vector<InputShapes> sets = options_.shapes;
    if (sets.empty()) sets.emplace_back();
    result_.specializations.reserve(2 * sets.size());  // moving a graph may copy it
    for (size_t i = 0; i < sets.size(); ++i) {
      Status added = Add(sets[i], overridable);
      if (!added.ok()) {
        return sets.size() > 1 ? added.WithContext(fmt::format("specialization {}", i + 1)) : added;
      }
    }
    return OkStatus();
  }

  // For one set of shapes: with the defaults as constants and, if there are any that a caller may
  // override, with those as inputs.
  Status Add(const InputShapes& shapes, bool overridable) {
    importer::ImportOptions import;
    if (overridable) {
      import.overridable = options_.overridable;
    } else {
      import.overridable.emplace();
    }
    std::vector<importer::InputDefault> defaults;
    import.defaults = &defaults;
    TEMPER_RETURN_IF_ERROR(AddOne(shapes, import));
    Specialization& fixed = result_.specializations.back();
    fixed.optional = defaults;
    fixed.fixed_defaults = !defaults.empty();
    TEMPER_RETURN_IF_ERROR(CheckLast());
    if (defaults.empty()) return OkStatus();
    import.overridable_are_inputs = true;
    import.defaults = nullptr;
    Status added = AddOne(shapes, import);
    failed_with_inputs_ = !added.ok();
    TEMPER_RETURN_IF_ERROR(added);
    result_.specializations.back().optional = std::move(defaults);
    return CheckLast();
  }

  Result<graph::Graph> Import(const InputShapes& shapes, importer::ImportOptions import) {
    import.shapes = shapes;
    import.values = options_.values;
    import.max_trips = options_.max_trips;
    import.unroll_nodes = options_.unroll_nodes;
    import.outside_ops = outside_ops_;
    std::map<std::string, graph::ValueType> declared;
    import.declared_outputs = &declared;
    std::vector<std::string> warnings;
    import.warnings = &warnings;
    TEMPER_ASSIGN_OR_RETURN(graph::Graph graph, importer::ImportFile(model_, import));
    if (options_.after_pass) options_.after_pass("import", graph);
    for (const Pass& pass : passes_) {
      const auto& disabled = options_.disabled_passes;
      if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
      TEMPER_RETURN_IF_ERROR(pass.run(graph).WithContext(model_));
      TEMPER_RETURN_IF_ERROR(graph::ForEachNested(graph, pass.run).WithContext(model_));
      TEMPER_RETURN_IF_ERROR(
          graph::Verify(graph).WithContext(fmt::format("{}: after pass {}", model_, pass.name)));
      if (options_.after_pass) options_.after_pass(pass.name, graph);
    }
    // Where options set other sizes than the file's, what it declares of outputs is out of date.
    if (shapes.empty() && options_.values.empty()) {
      result_.warnings = WrongDeclarations(graph, declared);
    }
    for (std::string& warning : warnings) {
      auto& all = result_.warnings;
      if (std::find(all.begin(), all.end(), warning) == all.end())
        all.push_back(std::move(warning));
    }
    return graph;
  }

  Status AddOne(const InputShapes& shapes, const importer::ImportOptions& import) {
    TEMPER_ASSIGN_OR_RETURN(graph::Graph imported, Import(shapes, import));
    Specialization& s = result_.specializations.emplace_back();
    s.graph = std::move(imported);
    const bool several = options_.shapes.size() > 1 || import.overridable_are_inputs ||
                         (import.defaults != nullptr && !import.defaults->empty());
    if (several) {
      const auto share = [&](graph::Graph& graph) { return constants_.Share(graph), OkStatus(); };
      TEMPER_RETURN_IF_ERROR(share(s.graph));
      TEMPER_RETURN_IF_ERROR(graph::ForEachNested(s.graph, share));
    }
    return AddKernels(s, 1).WithContext(model_);
  }

  // The kernels of the body's graph and of what is nested in it. `runs`: how often a run of the
  // model goes through it.
  Status AddKernels(KernelBody& body, double runs) {
    TEMPER_ASSIGN_OR_RETURN(const partition::Partition partition,
                            partition::PlanPartition(body.graph, {}));
    PlaceValues(partition, body);
    body.kernels.reserve(partition.groups.size());
    for (const partition::Group& group : partition.groups) {
      TEMPER_ASSIGN_OR_RETURN(partition::Kernel kernel,
                              partition::KernelOf(body.graph, partition, group));
      TEMPER_RETURN_IF_ERROR(AddKernel(kernel, body, runs));
    }
    NameLayoutKernels(body.graph, body.kernels);
    std::erase_if(body.kernels, [](const ModelKernel& k) { return k.workload == kOtherWords; });
    return OkStatus();
  }

  // One that is another name for its operand's memory stays in the list, as kOtherWords, for its
  // name's sake.
  Status AddKernel(partition::Kernel& kernel, KernelBody& body, double runs) {
    ModelKernel made;
    made.workload = -1;
    if (SharesStorage(body.graph, kernel) && !HoldsPartsForCaller(body, kernel)) {
      body.storage[kernel.output_values[0]] = {kernel.input_values[0], 0};
      made.workload = kOtherWords;
    }
    made.inputs = std::move(kernel.input_values);
    made.outputs = std::move(kernel.output_values);
    made.nodes = std::move(kernel.sources);
    if (made.workload == kOtherWords) {
      body.kernels.push_back(std::move(made));
      return OkStatus();
    }
    if (kernel.control) {
      TEMPER_RETURN_IF_ERROR(AddNested(body.graph, body.graph.node(kernel.nodes[0]), runs, made));
    } else if (kernel.call) {
      made.call = std::make_shared<const ops::RuntimeCall>(*std::move(kernel.call));
    } else {
      te::Program program = te::Canonicalize(te::SplitGroups(te::MergeAxes(kernel.program)));
      const Hash hash = te::WorkloadHash(program);
      const auto [at, added] = known_.emplace(hash, static_cast<int>(result_.workloads.size()));
      if (added) {
        program.name = kernel.program.name;
        std::string name = NameOf(kernel.program);
        result_.workloads.push_back({hash, std::move(program), std::move(name)});
      }
      made.workload = at->second;
      result_.workloads[made.workload].uses += 1;
      result_.workloads[made.workload].runs += runs;
    }
    body.kernels.push_back(std::move(made));
    return OkStatus();
  }

  Status AddNested(const graph::Graph& graph, const graph::Node& node, double runs,
                   ModelKernel& made) {
    made.control = node.id;
    made.control_op = node.op;
    double inside = runs / 2;
    if (node.Is("Loop")) {
      const int64_t most = graph::MostTrips(graph, node);
      inside = runs * (most < 0 ? kAssumedTrips : static_cast<double>(most));
    }
    const auto names = graph::NestedNames(node);
    made.bodies.reserve(names.size());
    for (const std::string& name : names) {
      KernelBody& nested = made.bodies.emplace_back();
      nested.graph = graph::Nested(node, name);
      TEMPER_RETURN_IF_ERROR(AddKernels(nested, inside));
    }
    return OkStatus();
  }

  // The inputs that a caller must give.
  static std::span<const int> Required(const Specialization& s) {
    const std::vector<int>& inputs = s.graph.inputs();
    return std::span(inputs).first(inputs.size() - (s.fixed_defaults ? 0 : s.optional.size()));
  }

  // The newest specialization against those before it: they differ in shapes, and in nothing else.
  Status CheckLast() const {
    const auto& all = result_.specializations;
    if (all.size() == 1) return OkStatus();
    const Specialization &first = all.front(), &last = all.back();
    const auto same = [&](std::span<const int> a, std::span<const int> b, const char* kind) {
      for (size_t i = 0; i < a.size(); ++i) {
        const graph::ValueType &x = first.graph.type(a[i]), &y = last.graph.type(b[i]);
        if (x.dtype == y.dtype && x.dims.size() == y.dims.size()) continue;
        return Unimplemented(fmt::format(
            "{}: {} '{}' is {} in the first specialization but {} in another; specializations may "
            "differ in sizes alone",
            model_, kind, EscapeControl(first.graph.value(a[i]).name), x.ToString(), y.ToString()));
      }
      return OkStatus();
    };
    const auto names = [](const Specialization& s) {
      std::vector<std::string> list;
      for (int input : Required(s)) list.push_back(Quoted(s.graph.value(input).name));
      for (const importer::InputDefault& d : s.optional) list.push_back(Quoted(d.name));
      return list;
    };
    if (names(first) != names(last)) {
      return InvalidArgument(
          fmt::format("{}: the first specialization has the inputs {}, another one has {}; a "
                      "--shape that makes "
                      "an initializer an input has to be in each",
                      model_, JoinStrings(names(first), ", "), JoinStrings(names(last), ", ")));
    }
    TEMPER_RETURN_IF_ERROR(same(Required(first), Required(last), "input"));
    TEMPER_RETURN_IF_ERROR(same(first.graph.outputs(), last.graph.outputs(), "output"));
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].fixed_defaults != last.fixed_defaults) continue;
      const auto a = Required(all[i]), b = Required(last);
      const bool differs = !std::equal(a.begin(), a.end(), b.begin(), [&](int x, int y) {
        return all[i].graph.shape(x) == last.graph.shape(y);
      });
      if (differs) continue;
      return InvalidArgument(
          model_ + ": this set of shapes is that of an earlier specialization; leave one out");
    }
    return OkStatus();
  }

  const std::string& model_;
  const FrontendOptions& options_;
  std::vector<Pass> passes_;
  std::shared_ptr<const graph::OutsideOps> outside_ops_;
  ModelKernels result_;
  ConstantPool constants_;
  bool failed_with_inputs_ = false;  // the defaults as inputs were at fault
  std::map<Hash, int> known_;        // index of a workload
};

}  // namespace

Result<ModelKernels> BuildKernels(const std::string& model, const FrontendOptions& options,
                                  const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(ModelKernels kernels, Frontend(model, options).Run());
  kernels.constants = options.constants.value_or(PlaceOfConstants(ConstantBytes(kernels), target));
  for (KernelWorkload& workload : kernels.workloads) {
    workload.constants = te::ConstantsOf(workload.program, kernels.constants);
  }
  return kernels;
}

Result<std::vector<TuningTask>> ExtractTasks(const std::string& model,
                                             const FrontendOptions& options, const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(ModelKernels kernels, BuildKernels(model, options, target));
  std::vector<TuningTask> tasks;
  for (KernelWorkload& workload : kernels.workloads) {
    TuningTask& task = tasks.emplace_back();
    task.name = std::move(workload.name);
    task.program = std::move(workload.program);
    task.hash = workload.hash;
    task.weight = workload.runs;
    task.constants = workload.constants;
  }
  const bool several = kernels.specializations.size() > 1;
  std::set<std::pair<int, std::string>> seen;  // a node is in a kernel of each specialization
  for (const Specialization& s : kernels.specializations) {
    for (const ModelKernel* kernel : AllKernels(s)) {
      if (kernel->workload < 0) continue;
      for (const std::string& node : kernel->nodes) {
        if (several && !seen.emplace(kernel->workload, node).second) continue;
        tasks[kernel->workload].nodes.push_back(node);
      }
    }
  }
  return tasks;
}

}  // namespace temper::driver
