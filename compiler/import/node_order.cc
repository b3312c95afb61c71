#include "compiler/import/node_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_map>

namespace temper::importer {

std::string NodeName(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return fmt::format("{}_{}", node.op_type(), index);
}

namespace {

// What a nested graph reads and does not define. Its depth is bounded by the skeleton's.
void ForEachCapture(const onnx::GraphProto& graph,
                    const std::function<void(const std::string&)>& f) {
  std::unordered_set<std::string> own;
  for (const onnx::ValueInfoProto& input : graph.input()) own.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    own.insert(node.output().begin(), node.output().end());
  }
  const auto captured = [&](const std::string& name) {
    if (own.count(name) == 0) f(name);
  };
  for (const onnx::NodeProto& node : graph.node()) ForEachRead(node, captured);
  for (const onnx::ValueInfoProto& output : graph.output()) captured(output.name());
}

}  // namespace

void ForEachRead(const onnx::NodeProto& node, const std::function<void(const std::string&)>& f) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) f(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) ForEachCapture(attribute.g(), f);
  }
}

Result<std::vector<int>> OrderNodes(const NodeList& nodes,
                                    const std::unordered_set<std::string>& known,
                                    const std::function<bool(const std::string&)>& captured) {
  std::unordered_map<std::string_view, int> producer;
  for (int n = 0; n < nodes.size(); ++n) {
    for (const std::string& output : nodes.Get(n).output()) {
      if (output.empty()) continue;
      if (known.count(output) != 0 || !producer.emplace(output, n).second) {
        return InvalidArgument(fmt::format("{} '{}': its output '{}' is defined elsewhere too",
                                           nodes.Get(n).op_type(), NodeName(nodes.Get(n), n),
                                           output));
      }
    }
  }
  std::vector<int> waiting(static_cast<size_t>(nodes.size()), 0);
  std::vector<std::vector<int>> consumers(waiting.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < nodes.size(); ++n) {
    const std::string* undefined = nullptr;
    ForEachRead(nodes.Get(n), [&](const std::string& input) {
      if (known.count(input) != 0) return;
      const auto it = producer.find(input);
      if (it == producer.end()) {
        if (undefined == nullptr && !captured(input)) undefined = &input;
        return;
      }
      ++waiting[n];
      consumers[it->second].push_back(n);
    });
    if (undefined != nullptr) {
      return InvalidArgument(fmt::format("{} '{}': its input '{}' is defined nowhere",
                                         nodes.Get(n).op_type(), NodeName(nodes.Get(n), n),
                                         *undefined));
    }
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order.push_back(n);
    for (int consumer : consumers[n]) {
      if (--waiting[consumer] == 0) ready.push(consumer);
    }
  }
  if (order.size() != waiting.size()) {
    const int n =
        static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int w) { return w > 0; }) -
                         waiting.begin());
    return InvalidArgument(fmt::format("{} '{}' depends on itself, through a cycle of nodes",
                                       nodes.Get(n).op_type(), NodeName(nodes.Get(n), n)));
  }
  return order;
}

}  // namespace temper::importer
