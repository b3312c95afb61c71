// ONNX's TensorProto as a graph constant that shares the model file's memory where it can.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/graph/tensor.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/onnx.pb.h"

namespace temper::importer {

// ONNX's TensorProto.DataType as an element type; nothing for strings, complex and 4-bit types.
std::optional<DType> DTypeOfOnnx(int number);
// "STRING", "INT4", ... for messages; the number where it has no name.
std::string OnnxTypeName(int number);

class TensorReader {
 public:
  // `bytes`: the model file, kept alive by `holder`. `directory`: where external data may lie;
  // empty: the model came from memory, and external data is refused.
  TensorReader(std::span<const std::byte> bytes, std::shared_ptr<const void> holder,
               std::optional<std::string> directory)
      : bytes_(bytes), holder_(std::move(holder)), directory_(std::move(directory)) {}

  // Checks dims and type against the bytes that are there before anything is allocated. Errors
  // name the tensor.
  Result<graph::Tensor> Read(const onnx::TensorProto& proto);

 private:
  Result<graph::Tensor> ReadContents(const onnx::TensorProto& proto);
  Result<graph::Tensor> ReadExternal(const onnx::TensorProto& proto, graph::Tensor tensor,
                                     int64_t size);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> holder_;
  std::optional<std::string> directory_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;
  uint64_t external_size_ = 0;     // of the files
  uint64_t external_claimed_ = 0;  // by tensors
};

}  // namespace temper::importer
