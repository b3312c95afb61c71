#include "compiler/graph/passes/common_subexpressions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

namespace temper::graph {
namespace {

// Constants that are equal at both ends are compared in full, up to this in all.
constexpr int64_t kMaxComparedBytes = int64_t{8} << 30;

uint64_t Mix(uint64_t hash, uint64_t value) {
  // The multiplier of splitmix64; equal hashes are compared, so quality only costs time.
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// Of the type and of the first and last bytes: enough to tell weights apart, and cheap where many
// constants share one file.
uint64_t HashTensor(const Tensor& tensor) {
  constexpr size_t kEnd = 4096;
  uint64_t hash = Mix(1, static_cast<uint64_t>(tensor.dtype));
  for (int64_t dim : tensor.shape) hash = Mix(hash, static_cast<uint64_t>(dim));
  const auto raw = tensor.raw();
  const auto add = [&](std::span<const std::byte> bytes) {
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, 8);
      hash = Mix(hash, word);
    }
    for (; i < bytes.size(); ++i) hash = Mix(hash, static_cast<uint64_t>(bytes[i]));
  };
  add(raw.first(std::min(raw.size(), kEnd)));
  if (raw.size() > kEnd) add(raw.last(std::min(raw.size() - kEnd, kEnd)));
  return hash;
}

void MergeConstants(Graph& graph) {
  // Only constants with a twin in dtype and shape are read at all.
  std::map<std::pair<DType, Shape>, std::vector<int>> alike;
  for (int id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.IsConstant() || (value.uses.empty() && !graph.IsOutput(id))) continue;
    alike[{value.constant->dtype, value.constant->shape}].push_back(id);
  }
  int64_t work_left = kMaxComparedBytes;
  for (const auto& [type, ids] : alike) {
    if (ids.size() < 2) continue;
    std::unordered_multimap<uint64_t, int> seen;
    for (int id : ids) {
      const Tensor& tensor = *graph.value(id).constant;
      const uint64_t hash = HashTensor(tensor);
      bool merged = false;
      for (auto [it, end] = seen.equal_range(hash); it != end && !merged; ++it) {
        const Tensor& other = *graph.value(it->second).constant;
        if (other.data != tensor.data) work_left -= tensor.bytes();
        if (work_left < 0) return;
        if (!SameBits(other, tensor)) continue;
        graph.ReplaceUses(id, it->second);
        merged = true;
      }
      if (!merged) seen.emplace(hash, id);
    }
  }
}

// What two nodes must share to be one; attributes are compared apart, for tensors among them.
std::string Key(const Node& node) {
  std::string key = node.domain + ":" + node.op;
  for (int input : node.inputs) key += "," + std::to_string(input);
  key += ";" + std::to_string(node.outputs.size());
  for (const auto& [name, value] : node.attributes) {
    key += ";" + name + "=" + AttributeToString(value);
  }
  return key;
}

bool SameAttributes(const Attributes& a, const Attributes& b) {
  if (a.size() != b.size()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (x->first != y->first || !SameAttribute(x->second, y->second)) return false;
  }
  return true;
}

// A value that is an output of the graph may be replaced too: the outputs keep their names.
bool CanReplace(const Node& node, const Node& other) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone && other.outputs[i] == kNone) return false;
  }
  return SameAttributes(node.attributes, other.attributes);
}

}  // namespace

Status RunCommonSubexpressions(Graph& graph) {
  MergeConstants(graph);
  std::unordered_map<std::string, int> first;
  const std::vector<int> order = graph.order();
  for (int id : order) {
    const auto [it, added] = first.emplace(Key(graph.node(id)), id);
    if (added) continue;
    const Node& node = graph.node(id);
    const Node& other = graph.node(it->second);
    if (!CanReplace(node, other)) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNone) graph.ReplaceUses(node.outputs[i], other.outputs[i]);
    }
    graph.AddSources(other.id, node.sources);
    graph.RemoveNode(id);
  }
  return OkStatus();
}

}  // namespace temper::graph
