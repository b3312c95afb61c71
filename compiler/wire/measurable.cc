#include "compiler/wire/measurable.h"

#include <fmt/format.h>

namespace temper::wire {

Status CheckMeasurable(const te::Program& program) {
  double bytes =
      0;  // of at most kMaxTensors of kMaxElements each: no number of 64 bits need hold it
  for (const std::vector<int>* ids : {&program.inputs, &program.outputs}) {
    for (const int id : *ids) {
      const te::Tensor& tensor = program.tensors[static_cast<size_t>(id)];
      double elements = 1;
      for (const int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
      bytes += elements * static_cast<double>(ByteSize(tensor.dtype));
    }
  }
  if (bytes <= static_cast<double>(kMaxWorkloadBytes)) return OkStatus();
  return ResourceExhausted(fmt::format(
      "its inputs and outputs take {:.1f} GB, more than the {:.1f} GB that can be measured",
      bytes * 1e-9, static_cast<double>(kMaxWorkloadBytes) * 1e-9));
}

}  // namespace temper::wire
