// From chosen kernels to the list of calls that a compiled model makes: where each value, weight
// and workspace lies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/module_plan.h"
#include "compiler/driver/choose.h"
#include "compiler/driver/kernels.h"
#include "deploy/runtime/abi.h"

namespace temper::driver {

// How a kernel reads a constant that is packed; many constants may share one.
struct WeightForm {
  temper_pack pack{};  // without the transform's matrix
  std::vector<double> transform;

  // `pack` with the matrix; valid as long as this object.
  temper_pack Pack() const;
};

// One constant in the form that some kernel reads it. Used by several kernels, it is there once.
struct Weight {
  std::shared_ptr<const graph::Tensor> tensor;
  std::shared_ptr<const WeightForm> form;  // null: as it is
  int64_t offset = 0;                      // bytes into the model's weights, a multiple of 64
  int64_t bytes = 0;
};

struct ModuleParts {
  codegen::ModulePlan plan;
  std::vector<Weight> weights;  // by ascending offset
};

// `chosen` and `workspace_bytes` have one entry a workload, and the kernel of workload i has the
// symbol KernelSymbol(i). Inputs and outputs are read and written where the caller has them.
Result<ModuleParts> BuildModule(const ModelKernels& model, const std::vector<ChosenKernel>& chosen,
                                const std::vector<int64_t>& workspace_bytes, int threads,
                                const std::string& producer);

std::string KernelSymbol(int workload);

}  // namespace temper::driver
