#include "compiler/import/skeleton.h"

#include <fmt/format.h>

#include <cstdint>

namespace temper::importer {
namespace {

enum class Message {
  kNone,  // not a message: a number, or a string or list that is copied
  kModel,
  kGraph,
  kFunction,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTypeTensor,
  kShape,
  kFlat,  // a message of scalars and strings only: copied after a look at its fields
  kDrop,  // a field that is not read
};

// What lies in a field, by the numbers of onnx.proto.
Message FieldOf(Message message, uint64_t field) {
  switch (message) {
    case Message::kModel:
      if (field == 7) return Message::kGraph;
      if (field == 8) return Message::kFlat;
      if (field == 25) return Message::kFunction;
      return field <= 3 ? Message::kNone : Message::kDrop;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 2) return Message::kNone;
      if (field == 5) return Message::kTensor;
      if (field == 11 || field == 12) return Message::kValueInfo;
      return field == 15 ? Message::kSparse : Message::kDrop;
    case Message::kFunction:
      if (field == 7) return Message::kNode;
      if (field == 9) return Message::kFlat;
      if (field == 11) return Message::kAttribute;
      return field == 1 || (field >= 4 && field <= 6) || field == 10 || field == 13
                 ? Message::kNone
                 : Message::kDrop;
    case Message::kNode:
      if (field == 5) return Message::kAttribute;
      return field <= 4 || field == 7 || field == 8 ? Message::kNone : Message::kDrop;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      if (field == 22) return Message::kSparse;
      return field <= 9 || field == 20 || field == 21 ? Message::kNone : Message::kDrop;
    case Message::kTensor:
      if (field == 13) return Message::kFlat;
      return field != 3 && field <= 14 && field != 12 ? Message::kNone : Message::kDrop;
    case Message::kSparse:
      return field == 1 ? Message::kTensor : Message::kDrop;
    case Message::kValueInfo:
      if (field == 2) return Message::kType;
      return field == 1 ? Message::kNone : Message::kDrop;
    case Message::kType:
      if (field == 1) return Message::kTypeTensor;
      // Only that they are there matters.
      return field == 4 || field == 5 || field == 8 || field == 9 ? Message::kFlat : Message::kDrop;
    case Message::kTypeTensor:
      if (field == 2) return Message::kShape;
      return field == 1 ? Message::kNone : Message::kDrop;
    case Message::kShape:
      return field == 1 ? Message::kFlat : Message::kDrop;
    default:
      return Message::kNone;
  }
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

class Walker {
 public:
  Walker(std::span<const std::byte> file, const SkeletonLimits& limits)
      : file_(file), limits_(limits) {}

  // Appends the skeleton of the message in bytes [at, end).
  Status Walk(Message message, size_t at, size_t end, int depth, std::string& out) {
    if (depth > limits_.depth) return Fault(at, "messages are nested too deeply");
    while (at < end) {
      if (++fields_ > limits_.fields) {
        return ResourceExhausted(fmt::format(
            "it has more than {} fields, which is more than this compiler reads", limits_.fields));
      }
      const size_t start = at;
      uint64_t key = 0;
      if (!Varint(at, end, &key)) return Fault(start, "a field is cut off");
      const uint64_t field = key >> 3;
      const int wire = static_cast<int>(key & 7);
      if (field == 0 || field > (1u << 29) - 1) return Fault(start, "a field has a bad number");
      uint64_t length = 0;
      switch (wire) {
        case 0:
          if (!Varint(at, end, &length)) return Fault(start, "a number is cut off");
          length = 0;
          break;
        case 1:
          length = 8;
          break;
        case 2:
          if (!Varint(at, end, &length)) return Fault(start, "a length is cut off");
          break;
        case 5:
          length = 4;
          break;
        default:  // groups are not used by ONNX
          return Fault(start, fmt::format("field {} has the wire type {}", field, wire));
      }
      if (length > end - at) {
        return Fault(start, fmt::format("field {} claims {} bytes but {} are left", field, length,
                                        end - at));
      }
      const size_t next = at + static_cast<size_t>(length);
      TEMPER_RETURN_IF_ERROR(Field(message, field, wire, start, at, next, depth, out));
      if (out.size() > limits_.bytes) {
        return ResourceExhausted("it has too much data outside its weights' raw_data");
      }
      at = next;
    }
    return OkStatus();
  }

 private:
  // One field: its key at `start`, its contents in [at, end).
  Status Field(Message message, uint64_t field, int wire, size_t start, size_t at, size_t end,
               int depth, std::string& out) {
    const Message inner = FieldOf(message, field);
    if (inner == Message::kDrop) return OkStatus();
    if (inner == Message::kNone) {
      if (message == Message::kTensor && wire == 2 && (field == 9 || field == 4)) {
        PutPosition(field == 9 ? 100001 : 100003, at, end - at, out);
        return OkStatus();
      }
      out.append(reinterpret_cast<const char*>(file_.data()) + start, end - start);
      return OkStatus();
    }
    if (wire != 2) return Fault(start, fmt::format("field {} has the wire type {}", field, wire));
    std::string body;
    TEMPER_RETURN_IF_ERROR(Walk(inner, at, end, depth + 1, body));
    PutVarint(out, field << 3 | 2);
    PutVarint(out, body.size());
    out += body;
    return OkStatus();
  }

  static void PutPosition(uint64_t field, size_t at, size_t length, std::string& out) {
    PutVarint(out, field << 3);
    PutVarint(out, at);
    PutVarint(out, (field + 1) << 3);
    PutVarint(out, length);
  }

  bool Varint(size_t& at, size_t end, uint64_t* value) const {
    *value = 0;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(file_[at++]);
      if (shift == 63 && byte > 1) return false;
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }

  Status Fault(size_t at, const std::string& what) const {
    return InvalidArgument(fmt::format(
        "not an ONNX model, or a truncated one: at byte {} of {}, {}", at, file_.size(), what));
  }

  std::span<const std::byte> file_;
  const SkeletonLimits& limits_;
  size_t fields_ = 0;
};

}  // namespace

Result<std::string> MakeSkeleton(std::span<const std::byte> file, const SkeletonLimits& limits) {
  std::string skeleton;
  Walker walker(file, limits);
  TEMPER_RETURN_IF_ERROR(walker.Walk(Message::kModel, 0, file.size(), 0, skeleton));
  return skeleton;
}

}  // namespace temper::importer
