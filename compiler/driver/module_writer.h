// Inside of module_builder.h: the steps of a model's graph and of the graphs nested in it. Values,
// kernels and weights are in module_builder.cc, If and Loop in module_control.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/memory_plan.h"
#include "compiler/driver/module_builder.h"

namespace temper::driver {

// The weights of all specializations: each constant once in each form that a kernel reads.
class WeightTable {
 public:
  // The offset of a tensor as it is.
  int64_t Plain(std::shared_ptr<const graph::Tensor> tensor);
  // The offset of a constant in the form that `argument` wants.
  Result<int64_t> Find(const lower::Argument& argument,
                       const std::shared_ptr<const graph::Tensor>& constant,
                       const std::string& name);

  int64_t bytes() const { return bytes_; }
  std::vector<Weight> Take() { return std::move(weights_); }

 private:
  int64_t Append(Weight weight);

  struct Form {
    int index = 0;                             // of this form
    std::shared_ptr<const WeightForm> packed;  // null: as it is
  };

  std::vector<Weight> weights_;
  // By the constant's type, shape and packing.
  std::map<std::vector<int64_t>, Form> forms_;
  std::map<std::pair<const std::byte*, int>, int64_t> at_;  // offset by constant and form
  int64_t bytes_ = 0;
};

// Lists the steps of one specialization.
class ModuleWriter {
 public:
  ModuleWriter(const Specialization& model, const std::vector<KernelWorkload>& workloads,
               const std::vector<ChosenKernel>& chosen, const std::vector<int64_t>& workspace_bytes,
               WeightTable& weights)
      : model_(model),
        workloads_(workloads),
        chosen_(chosen),
        workspace_bytes_(workspace_bytes),
        weights_(weights),
        body_(&model) {}

  Result<codegen::ModuleSpecialization> Run();

 private:
  using Arg = codegen::ModuleArg;
  // Where a value is. Until memory is planned, offsets into the arena are indices into lives_.
  struct Spot {
    Arg arg;
    std::vector<int> buffers;  // that must live as long as the value is read
  };
  using Places = std::map<int, Spot>;  // by graph value

  void AddValues();
  // The inputs that a caller may leave out: the last of the graph, or constants of it.
  Status AddDefaults();
  Status AddSteps();  // of body_
  Status AddKernel(const ModelKernel& kernel);
  Status AddCall(const ModelKernel& kernel);

  // module_control.cc
  Status AddControl(const ModelKernel& kernel);
  Status AddIf(const ModelKernel& kernel, int index);
  Status AddLoop(const ModelKernel& kernel, int index);
  // What ends the run where the loop would take more trips than it may.
  void AddTripFailure(const graph::Node& node, int step, codegen::ModuleLoop& loop);
  int NewFailure(codegen::ModuleFailure failure);
  // Adds the steps of a nested graph whose inputs and outputs lie there.
  Status AddNested(const KernelBody& body, Places places);
  // Where the control flow node's operand is, and where its result goes.
  Result<Spot> Operand(int value, int step);
  Spot ResultSpot(int value, int step);
  // A place for the extents of the value, if it is an output of the model whose extents only the
  // run knows.
  std::vector<codegen::ModuleExtents> ExtentsOf(int value, const Spot& spot, int step,
                                                const std::vector<int64_t>& extents);

  int NewBuffer(int64_t bytes, int step);
  void Touch(const Spot& spot, int step);
  int NextStep() const { return static_cast<int>(plan_.steps.size()); }
  int64_t BytesOf(int value) const;  // of its largest extents, at least 1

  // `seen`: the operand's shape in the kernel's program; a constant's packing is of that shape.
  Result<Arg> InputArg(const lower::Argument& argument, int value, int step,
                       const graph::Shape& seen = {});
  Result<Arg> OutputArg(const te::Program& program, size_t output, int value, int step);

  const Specialization& model_;
  const std::vector<KernelWorkload>& workloads_;
  const std::vector<ChosenKernel>& chosen_;
  const std::vector<int64_t>& workspace_bytes_;
  WeightTable& weights_;
  codegen::ModuleSpecialization plan_;
  std::vector<BufferLife> lives_;
  const KernelBody* body_;  // whose steps are being added
  Places places_;           // of its values
  // Outputs of the model whose extents the run gives, and the buffers for these.
  struct OpenOutput {
    int64_t output;
    int buffer;
  };
  std::vector<OpenOutput> open_outputs_;
};

}  // namespace temper::driver
