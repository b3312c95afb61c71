#include "tests/fuzz/wire_mutator.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace temper::fuzz {
namespace {

enum WireType : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint64_t number = 0;
  int type = kVarint;
  uint64_t value = 0;  // of all but kBytes
  std::string bytes;
};
using Fields = std::vector<Field>;

constexpr int kMaxDepth = 12;

std::optional<uint64_t> ReadVarint(std::string_view& in) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadFixed(std::string_view& in, size_t size) {
  if (in.size() < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(in[i])) << (8 * i);
  }
  in.remove_prefix(size);
  return value;
}

std::optional<Fields> Read(std::string_view in) {
  Fields fields;
  while (!in.empty()) {
    const auto tag = ReadVarint(in);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 1000) return std::nullopt;
    Field field{*tag >> 3, static_cast<int>(*tag & 7), 0, {}};
    std::optional<uint64_t> value;
    switch (field.type) {
      case kVarint:
      case kBytes:
        value = ReadVarint(in);
        break;
      case kFixed64:
        value = ReadFixed(in, 8);
        break;
      case kFixed32:
        value = ReadFixed(in, 4);
        break;
      default:
        return std::nullopt;
    }
    if (!value) return std::nullopt;
    if (field.type == kBytes) {
      if (*value > in.size()) return std::nullopt;
      field.bytes = in.substr(0, *value);
      in.remove_prefix(*value);
    } else {
      field.value = *value;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

void WriteVarint(uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

std::string Write(const Fields& fields) {
  std::string out;
  for (const Field& field : fields) {
    WriteVarint(field.number << 3 | static_cast<unsigned>(field.type), out);
    if (field.type == kVarint) {
      WriteVarint(field.value, out);
    } else if (field.type == kBytes) {
      WriteVarint(field.bytes.size(), out);
      out += field.bytes;
    } else {
      for (int i = 0; i < (field.type == kFixed64 ? 8 : 4); ++i) {
        out += static_cast<char>(field.value >> (8 * i));
      }
    }
  }
  return out;
}

// All short strings of a message, names among them: replacing one by another makes references.
void CollectStrings(const Fields& fields, int depth, std::vector<std::string>& strings) {
  for (const Field& field : fields) {
    if (field.type != kBytes) continue;
    if (field.bytes.size() <= 40) strings.push_back(field.bytes);
    if (depth == kMaxDepth || field.bytes.empty()) continue;
    if (const auto inner = Read(field.bytes)) CollectStrings(*inner, depth + 1, strings);
  }
}

void CollectFields(const Fields& fields, int depth, Fields& all) {
  for (const Field& field : fields) {
    all.push_back(field);
    if (field.type != kBytes || depth == kMaxDepth || field.bytes.empty()) continue;
    if (const auto inner = Read(field.bytes)) CollectFields(*inner, depth + 1, all);
  }
}

class Mutator {
 public:
  Mutator(std::mt19937_64& random, MutateBytes bytes, const std::vector<std::string>& strings)
      : random_(random), bytes_(bytes), strings_(strings) {}

  void Change(Fields& fields, int depth) {
    if (fields.empty()) return;
    const size_t at = Below(fields.size());
    Field& field = fields[at];
    if (field.type == kBytes && !field.bytes.empty() && depth < kMaxDepth && Below(8) != 0) {
      if (auto inner = Read(field.bytes)) {
        Change(*inner, depth + 1);
        field.bytes = Write(*inner);
        return;
      }
    }
    switch (Below(8)) {
      case 0:
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), Field(field));
        break;
      case 2:
        std::swap(field, fields[Below(fields.size())]);
        break;
      case 3:
        field.number = Below(4) == 0 ? 1 + Below(26) : fields[Below(fields.size())].number;
        break;
      default:
        ChangeValue(field);
    }
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }

  uint64_t Number(uint64_t old) {
    static constexpr int64_t kSpecial[] = {0,
                                           1,
                                           2,
                                           3,
                                           7,
                                           8,
                                           16,
                                           -1,
                                           -2,
                                           127,
                                           255,
                                           65536,
                                           2147483647,
                                           -2147483648LL,
                                           int64_t{1} << 32,
                                           int64_t{1} << 48,
                                           INT64_MAX,
                                           INT64_MIN};
    switch (Below(4)) {
      case 0:
        return old + 1;
      case 1:
        return old - 1;
      case 2:
        return Below(24);
      default:
        return static_cast<uint64_t>(kSpecial[Below(std::size(kSpecial))]);
    }
  }

  void ChangeValue(Field& field) {
    static constexpr uint32_t kFloats[] = {0,          0x3f800000, 0xbf800000, 0x7f800000,
                                           0xff800000, 0x7fc00000, 0x7f7fffff, 1};
    if (field.type == kVarint) {
      field.value = Number(field.value);
    } else if (field.type == kBytes) {
      if (!strings_.empty() && Below(2) == 0) {
        field.bytes = strings_[Below(strings_.size())];
      } else {
        bytes_(field.bytes, random_);
      }
    } else {
      field.value = Below(2) == 0 ? kFloats[Below(std::size(kFloats))] : random_();
    }
  }

  std::mt19937_64& random_;
  MutateBytes bytes_;
  const std::vector<std::string>& strings_;
};

// Puts `field` into a list of fields somewhere below `fields`, among others of its number if any.
void Put(Fields& fields, const Field& field, int depth, std::mt19937_64& random) {
  for (int tries = 0; tries < 4 && depth < kMaxDepth && !fields.empty(); ++tries) {
    Field& into = fields[random() % fields.size()];
    if (into.type != kBytes || into.bytes.empty()) continue;
    if (into.number == field.number && field.type == kBytes) break;
    auto inner = Read(into.bytes);
    if (!inner) continue;
    Put(*inner, field, depth + 1, random);
    into.bytes = Write(*inner);
    return;
  }
  const size_t at = random() % (fields.size() + 1);
  if (at < fields.size() && random() % 2 == 0) {
    fields[at] = field;
  } else {
    fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), field);
  }
}

}  // namespace

std::string MutateMessage(std::string_view message, std::mt19937_64& random, MutateBytes bytes) {
  auto fields = Read(message);
  if (!fields || fields->empty()) {
    std::string changed(message);
    bytes(changed, random);
    return changed;
  }
  std::vector<std::string> strings;
  CollectStrings(*fields, 0, strings);
  Mutator mutator(random, bytes, strings);
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) mutator.Change(*fields, 0);
  return Write(*fields);
}

std::string CrossMessages(std::string_view a, std::string_view b, std::mt19937_64& random) {
  auto into = Read(a);
  const auto from = Read(b);
  if (!into || !from || from->empty()) return std::string(b);
  Fields all;
  CollectFields(*from, 0, all);
  Put(*into, all[random() % all.size()], 0, random);
  return Write(*into);
}

}  // namespace temper::fuzz
