#include "compiler/import/node_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "compiler/graph/op_list.h"

namespace temper::importer {

std::string NodeName(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return fmt::format("{}_{}", node.op_type(), index);
}

Result<std::vector<int>> OrderNodes(const onnx::GraphProto& graph,
                                    const std::unordered_set<std::string>& known) {
  std::unordered_map<std::string_view, int> producer;
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& output : graph.node(n).output()) {
      if (output.empty()) continue;
      if (known.count(output) != 0 || !producer.emplace(output, n).second) {
        return InvalidArgument(fmt::format("{} '{}': its output '{}' is defined elsewhere too",
                                           graph.node(n).op_type(), NodeName(graph.node(n), n),
                                           output));
      }
    }
  }
  std::vector<int> waiting(static_cast<size_t>(graph.node_size()), 0);
  std::vector<std::vector<int>> consumers(waiting.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& input : graph.node(n).input()) {
      if (input.empty() || known.count(input) != 0) continue;
      const auto it = producer.find(input);
      if (it == producer.end()) {
        return InvalidArgument(fmt::format("{} '{}': its input '{}' is defined nowhere",
                                           graph.node(n).op_type(), NodeName(graph.node(n), n),
                                           input));
      }
      ++waiting[n];
      consumers[it->second].push_back(n);
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
                                       graph.node(n).op_type(), NodeName(graph.node(n), n)));
  }
  return order;
}

Status CheckOperators(const onnx::GraphProto& graph) {
  constexpr int kNamesShown = 3;
  std::map<std::string, std::pair<int, std::string>> unknown;  // operator -> count, names
  for (int n = 0; n < graph.node_size(); ++n) {
    const onnx::NodeProto& node = graph.node(n);
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (graph::FindOp(domain, node.op_type()) != nullptr) continue;
    auto& [count, names] = unknown[domain.empty() ? node.op_type() : domain + "." + node.op_type()];
    if (++count <= kNamesShown) {
      names += fmt::format("{}'{}'", count == 1 ? "" : ", ", NodeName(node, n));
    }
  }
  if (unknown.empty()) return OkStatus();
  std::string text;
  for (const auto& [op, nodes] : unknown) {
    text += fmt::format(
        "{}{} (node {}{})", text.empty() ? "" : ", ", op, nodes.second,
        nodes.first > kNamesShown ? fmt::format(" and {} more", nodes.first - kNamesShown) : "");
  }
  return Unimplemented(fmt::format(
      "{} not supported: {}", unknown.size() == 1 ? "an operator is" : "some operators are", text));
}

}  // namespace temper::importer
