// A compiled model opened with the runtime library, for the verbs that run one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/tools/npy.h"
#include "deploy/runtime/temper.h"

namespace temper::tools {

struct CloseModel {
  void operator()(temper_model* model) const { temper_close(model); }
};
using ModelPtr = std::unique_ptr<temper_model, CloseModel>;

// threads: 0 for those that the schedules were chosen for. The message is the runtime's.
Result<ModelPtr> OpenModel(const std::string& path, int threads);

// The element type of a tensor of the model.
Result<DType> TypeOf(const temper_tensor_info& info);

// "x float32[1,3,48,192]"
std::string Describe(const temper_tensor_info& info);

// Seeded values in the shape of the tensor.
Result<Array> SeededArray(const temper_tensor_info& info, uint64_t seed, int argument);

// Seeded values for all inputs of a specialization that must be given.
Result<std::vector<Array>> SeededInputs(const temper_model* model, int specialization);

// The specializations that runs without optional inputs can use.
std::vector<int> PlainSpecializations(const temper_model* model);

// "x float32[1,3,48,192], y int64[4]": its inputs.
std::string DescribeInputs(const temper_model* model, int specialization);

// Runs with arrays: `outputs` are allocated by Create in the largest shapes of the specialization
// that the inputs choose, and are given their actual shapes by Run. Inputs are borrowed; `optional`
// has the optional inputs that are given, by their number.
class Runner {
 public:
  static Result<Runner> Create(temper_model* model, const std::vector<Array>* inputs,
                               const std::map<int, Array>* optional = nullptr);

  // What the inputs chose.
  const temper_specialization_info& chosen() const { return *chosen_; }

  Status Run();
  // Run that also gives the time of each step, in microseconds.
  Status RunTimed(std::vector<double>* step_us);

  std::vector<Array>& outputs() { return outputs_; }

 private:
  Status Finish(int code);

  temper_model* model_ = nullptr;
  const temper_specialization_info* chosen_ = nullptr;
  std::vector<Array> outputs_;
  std::vector<std::vector<int64_t>> output_shapes_;
  std::vector<DLTensor> tensors_;  // inputs, optional inputs, outputs
  std::vector<const DLTensor*> input_pointers_, optional_pointers_;
  std::vector<DLTensor*> output_pointers_;
};

}  // namespace temper::tools
