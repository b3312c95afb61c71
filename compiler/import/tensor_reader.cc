#include "compiler/import/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/graph/type.h"

namespace temper::importer {
namespace {

using graph::Tensor;

// Values of a repeated field, narrowed to the element type: ONNX keeps small integers, bool and
// the bits of 16- and 8-bit floats in int32_data.
template <typename Field>
Result<Tensor> FromField(const Tensor& type, const Field& field) {
  const int64_t count = type.size();
  if (field.size() != count) {
    return InvalidArgument(fmt::format("{} elements are needed for {}{}, {} are there", count,
                                       Name(type.dtype), graph::ShapeToString(type.shape),
                                       field.size()));
  }
  std::byte* data = nullptr;
  Tensor tensor = graph::MakeTensor(type.dtype, type.shape, &data);
  const size_t size = static_cast<size_t>(ByteSize(type.dtype));
  for (int i = 0; i < field.size(); ++i) {
    const auto value = field.Get(i);
    // Little-endian: the low bytes.
    std::memcpy(data + static_cast<size_t>(i) * size, &value, std::min(size, sizeof(value)));
  }
  return tensor;
}

// bool must be 0 or 1; anything else in a file counts as true.
Tensor CleanBool(Tensor tensor) {
  if (tensor.dtype != DType::kBool) return tensor;
  const auto raw = tensor.raw();
  if (std::none_of(raw.begin(), raw.end(), [](std::byte b) { return b > std::byte{1}; })) {
    return tensor;
  }
  std::byte* data = nullptr;
  Tensor clean = graph::MakeTensor(tensor.dtype, tensor.shape, &data);
  for (size_t i = 0; i < raw.size(); ++i) data[i] = std::byte{raw[i] != std::byte{0}};
  return clean;
}

std::optional<uint64_t> ParseNumber(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<DType> DTypeOfOnnx(int number) {
  switch (number) {
    case 1:
      return DType::kFloat32;
    case 2:
      return DType::kUInt8;
    case 3:
      return DType::kInt8;
    case 4:
      return DType::kUInt16;
    case 5:
      return DType::kInt16;
    case 6:
      return DType::kInt32;
    case 7:
      return DType::kInt64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kFloat16;
    case 11:
      return DType::kFloat64;
    case 12:
      return DType::kUInt32;
    case 13:
      return DType::kUInt64;
    case 16:
      return DType::kBFloat16;
    case 17:
      return DType::kFloat8E4M3FN;
    case 18:
      return DType::kFloat8E4M3FNUZ;
    case 19:
      return DType::kFloat8E5M2;
    case 20:
      return DType::kFloat8E5M2FNUZ;
    default:
      return std::nullopt;
  }
}

std::string OnnxTypeName(int number) {
  if (const std::optional<DType> dtype = DTypeOfOnnx(number)) return std::string(Name(*dtype));
  switch (number) {
    case 8:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    case 21:
      return "uint4";
    case 22:
      return "int4";
    case 23:
      return "float4e2m1";
    default:
      return fmt::format("number {}", number);
  }
}

Result<Tensor> TensorReader::Read(const onnx::TensorProto& proto) {
  auto result = ReadContents(proto);
  if (result.ok()) return CleanBool(std::move(result).value());
  return result.status().WithContext(fmt::format("tensor '{}'", proto.name()));
}

Result<Tensor> TensorReader::ReadContents(const onnx::TensorProto& proto) {
  Tensor tensor;
  const std::optional<DType> dtype = DTypeOfOnnx(proto.data_type());
  if (!dtype) {
    return Unimplemented(
        fmt::format("the element type {} is not supported", OnnxTypeName(proto.data_type())));
  }
  tensor.dtype = *dtype;
  if (proto.dims_size() > 64) {
    return InvalidArgument(fmt::format("it has {} dimensions", proto.dims_size()));
  }
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::optional<int64_t> bytes = graph::ByteCount(tensor.dtype, tensor.shape);
  if (!bytes) {
    return InvalidArgument(fmt::format("its shape is {}", graph::ShapeToString(tensor.shape)));
  }
  if (proto.data_location() == 1) return ReadExternal(proto, std::move(tensor), *bytes);

  const auto share = [&](uint64_t offset, uint64_t length) -> Result<Tensor> {
    if (length != static_cast<uint64_t>(*bytes)) {
      return InvalidArgument(fmt::format("{}{} needs {} bytes, but {} are there",
                                         Name(tensor.dtype), graph::ShapeToString(tensor.shape),
                                         *bytes, length));
    }
    tensor.data = bytes_.data() + offset;
    tensor.holder = holder_;
    return std::move(tensor);
  };
  if (proto.has_raw_offset()) return share(proto.raw_offset(), proto.raw_length());
  if (tensor.dtype == DType::kFloat32) {
    if (proto.float_offset_size() == 0) return FromField(tensor, proto.float_data());
    if (proto.float_offset_size() == 1 && proto.float_data_size() == 0) {
      return share(proto.float_offset(0), proto.float_length(0));
    }
    return Unimplemented("its float_data comes in several parts; save the model anew");
  }
  if (tensor.dtype == DType::kInt64) return FromField(tensor, proto.int64_data());
  if (tensor.dtype == DType::kFloat64) return FromField(tensor, proto.double_data());
  if (tensor.dtype == DType::kUInt64 || tensor.dtype == DType::kUInt32) {
    return FromField(tensor, proto.uint64_data());
  }
  return FromField(tensor, proto.int32_data());
}

Result<Tensor> TensorReader::ReadExternal(const onnx::TensorProto& proto, Tensor tensor,
                                          int64_t size) {
  std::string location;
  std::optional<uint64_t> offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = ParseNumber(entry.value());
    if (entry.key() == "length") {
      length = ParseNumber(entry.value());
      if (!length) return InvalidArgument(fmt::format("its length is '{}'", entry.value()));
    }
  }
  if (!offset) return InvalidArgument("the offset of its external data is not a number");
  if (length.value_or(size) != static_cast<uint64_t>(size)) {
    return InvalidArgument(fmt::format("{}{} needs {} bytes, but its external data has {}",
                                       Name(tensor.dtype), graph::ShapeToString(tensor.shape), size,
                                       *length));
  }
  if (!directory_) {
    return InvalidArgument("its data is outside the model, which was not read from a file");
  }
  std::shared_ptr<const MappedFile>& file = external_[location];
  if (file == nullptr) {
    TEMPER_ASSIGN_OR_RETURN(file, MappedFile::OpenBeneath(*directory_, location));
    external_size_ += file->bytes().size();
  }
  const uint64_t available = file->bytes().size();
  if (*offset > available || static_cast<uint64_t>(size) > available - *offset) {
    return InvalidArgument(fmt::format("external data '{}' has {} bytes; {} at {} are needed",
                                       location, available, size, *offset));
  }
  // Tied weights may share bytes; a small file that is claimed over and over would fill the memory
  // once weights are rewritten.
  external_claimed_ += static_cast<uint64_t>(size);
  if (external_claimed_ / 8 > external_size_) {
    return ResourceExhausted("the model's tensors claim its external data more than 8 times over");
  }
  tensor.data = file->bytes().data() + *offset;
  tensor.holder = file;
  return tensor;
}

}  // namespace temper::importer
