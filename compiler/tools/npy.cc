#include "compiler/tools/npy.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "compiler/graph/tensor.h"
#include "compiler/graph/type.h"

namespace temper::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 16;
constexpr size_t kMaxRank = 32;

struct Code {
  std::string_view text;
  DType dtype;
};
constexpr Code kCodes[] = {
    {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16},
    {"|i1", DType::kInt8},    {"<i2", DType::kInt16},   {"<i4", DType::kInt32},
    {"<i8", DType::kInt64},   {"|u1", DType::kUInt8},   {"<u2", DType::kUInt16},
    {"<u4", DType::kUInt32},  {"<u8", DType::kUInt64},  {"|b1", DType::kBool},
};

bool IsNarrow(DType dtype) { return IsFloat(dtype) && ByteSize(dtype) <= 2; }

std::optional<DType> TypeOf(std::string_view code, DType expected) {
  const int width = ByteSize(expected);
  if (IsNarrow(expected) && expected != DType::kFloat16) {
    if (width == 2 && (code == "|V2" || code == "<u2")) return expected;
    if (width == 1 && (code == "|V1" || code == "|u1")) return expected;
  }
  for (const Code& known : kCodes) {
    if (known.text == code) return known.dtype;
  }
  return std::nullopt;
}

// Reads the Python dictionary of a header: three keys, strings, a boolean and a tuple of integers.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  bool Read() {
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!String(&key) || !Take(':')) return false;
      if (key == "descr") {
        if (!String(&descr)) return false;
      } else if (key == "fortran_order") {
        if (TakeWord("True")) {
          fortran = true;
        } else if (!TakeWord("False")) {
          return false;
        }
      } else if (key == "shape") {
        if (!Tuple()) return false;
        has_shape = true;
      } else {
        return false;
      }
      Take(',');
    }
    return has_shape && !descr.empty();
  }

  std::string descr;
  std::vector<int64_t> shape;
  bool fortran = false;
  bool has_shape = false;

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool String(std::string* out) {
    SkipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  bool Tuple() {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      size_t end = at_;
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
      auto value = ParseInt64(text_.substr(at_, end - at_));
      if (!value.ok() || shape.size() >= kMaxRank) return false;
      shape.push_back(*value);
      at_ = end;
      Take(',');
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

void FromFortran(Array* array) {
  const size_t width = ByteSize(array->dtype);
  const int64_t count = array->size();
  std::vector<std::byte> dense(array->data.size());
  std::vector<int64_t> index(array->shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = 0;
    for (size_t d = array->shape.size(); d-- > 0;) from = from * array->shape[d] + index[d];
    std::memcpy(dense.data() + i * width, array->data.data() + from * width, width);
    for (size_t d = array->shape.size(); d-- > 0;) {
      if (++index[d] < array->shape[d]) break;
      index[d] = 0;
    }
  }
  array->data = std::move(dense);
}

}  // namespace

int64_t Array::size() const { return graph::ElementCount(shape).value_or(0); }

Result<Array> ParseNpy(std::string_view bytes, const std::string& shown, DType expected) {
  const auto bad = [&](std::string_view why) {
    return InvalidArgument(fmt::format("{}: {}. Write it with numpy.save.", shown, why));
  };
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) return bad("not an .npy file");
  const int version = bytes[6];
  if (version < 1 || version > 3) return bad(fmt::format("unknown .npy version {}", version));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (version > 1) {
    if (bytes.size() < 12) return bad("it is cut short");
    start = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > kMaxHeader || bytes.size() < start + length) return bad("it is cut short");
  HeaderReader header(bytes.substr(start, length));
  if (!header.Read()) return bad("its header is not one");
  auto dtype = TypeOf(header.descr, expected);
  if (!dtype)
    return bad(fmt::format("elements of type {} are not supported", Quoted(header.descr)));
  Array array{*dtype, header.shape, {}};
  const auto size = graph::ByteCount(*dtype, header.shape);
  const std::string_view data = bytes.substr(start + length);
  if (!size || static_cast<uint64_t>(*size) != data.size()) {
    return bad(fmt::format("its shape {} does not fit its {} bytes of data",
                           graph::ShapeToString(header.shape), data.size()));
  }
  array.data.resize(data.size());
  if (!data.empty()) std::memcpy(array.data.data(), data.data(), data.size());
  if (header.fortran) FromFortran(&array);
  return array;
}

Result<Array> ReadNpy(const std::string& path, DType expected) {
  TEMPER_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return ParseNpy(bytes, path, expected);
}

Status WriteNpy(const std::string& path, const Array& array) {
  std::string descr = fmt::format("|V{}", ByteSize(array.dtype));
  for (const Code& known : kCodes) {
    if (known.dtype == array.dtype) descr = known.text;
  }
  std::string shape;
  for (int64_t extent : array.shape) shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  return WriteFileAtomic(path, file);
}

double ElementAsDouble(const Array& array, int64_t i) {
  const std::byte* at = array.data.data() + i * ByteSize(array.dtype);
  const auto load = [&]<typename T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  switch (array.dtype) {
    case DType::kFloat32:
      return load(float{});
    case DType::kFloat64:
      return load(double{});
    case DType::kInt8:
      return load(int8_t{});
    case DType::kInt16:
      return load(int16_t{});
    case DType::kInt32:
      return load(int32_t{});
    case DType::kInt64:
      return load(int64_t{});
    case DType::kUInt8:
    case DType::kBool:
      return load(uint8_t{});
    case DType::kUInt16:
      return load(uint16_t{});
    case DType::kUInt32:
      return load(uint32_t{});
    case DType::kUInt64:
      return load(uint64_t{});
    default:
      return graph::LoadFloat(array.dtype, at);
  }
}

}  // namespace temper::tools
