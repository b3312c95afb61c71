#include "compiler/import/switch_tree.h"

#include <utility>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"

namespace temper::importer {

using graph::kNone;
using GraphAttribute = std::shared_ptr<const graph::Graph>;

std::unique_ptr<SwitchTree::Branch> SwitchTree::NewBranch(Region* outer, const std::string& name) {
  auto branch = std::make_unique<Branch>();
  branch->graph = std::make_shared<graph::Graph>();
  branch->graph->name = name;
  branch->graph->SetOutsideOps(outer->graph->outside_ops());
  branch->region.graph = branch->graph.get();
  branch->region.outer = outer;
  return branch;
}

std::unique_ptr<SwitchTree::Branch> SwitchTree::Divide(Region* outer, int id, int begin, int end) {
  std::string name = std::to_string(begin);
  if (end - begin > 1) name += "-" + std::to_string(end - 1);
  auto branch = NewBranch(outer, name);
  if (end - begin == 1) {
    branch->leaf = begin;
    leaves_[static_cast<size_t>(begin)].region = &branch->region;
    return branch;
  }
  const int middle = begin + (end - begin) / 2;
  branch->condition = middle;  // until Close: the number to compare with
  branch->yes = Divide(&branch->region, id, begin, middle);
  branch->no = Divide(&branch->region, id, middle, end);
  return branch;
}

SwitchTree SwitchTree::ById(GraphBuilder& builder, int id, int leaves, const std::string& source) {
  TEMPER_CHECK(leaves > 1);
  SwitchTree tree(builder, source);
  tree.id_ = id;
  tree.leaves_.resize(static_cast<size_t>(leaves));
  tree.middle_ = leaves / 2;
  tree.yes_ = tree.Divide(tree.around_, id, 0, tree.middle_);
  tree.no_ = tree.Divide(tree.around_, id, tree.middle_, leaves);
  return tree;
}

SwitchTree SwitchTree::ByCondition(GraphBuilder& builder, int condition, const std::string& source,
                                   const std::string& then_name, const std::string& else_name) {
  SwitchTree tree(builder, source);
  tree.condition_ = condition;
  tree.leaves_.resize(2);
  tree.yes_ = tree.NewBranch(tree.around_, then_name);
  tree.no_ = tree.NewBranch(tree.around_, else_name);
  tree.yes_->leaf = 0;
  tree.no_->leaf = 1;
  tree.leaves_[0].region = &tree.yes_->region;
  tree.leaves_[1].region = &tree.no_->region;
  return tree;
}

Result<int> SwitchTree::Below(graph::Graph& graph, int id, int64_t limit,
                              const std::string& source) {
  const int bound = graph.AddConstant("variant", graph::MakeInts({}, {&limit, 1}));
  const int node = graph.AddNode("Less", {id, bound}, {"below"}, {}, {source});
  TEMPER_RETURN_IF_ERROR(graph::InferNode(graph, node));
  return graph.node(node).outputs[0];
}

const std::string* SwitchTree::Error(const Branch& branch) const {
  if (branch.leaf >= 0) {
    const std::string& error = leaves_[static_cast<size_t>(branch.leaf)].error;
    return error.empty() ? nullptr : &error;
  }
  const std::string *yes = Error(*branch.yes), *no = Error(*branch.no);
  return yes != nullptr && no != nullptr ? yes : nullptr;
}

Status SwitchTree::CloseOne(Branch& branch, const std::vector<Output>& outputs) {
  if (branch.leaf >= 0) {
    for (const Output& output : outputs) {
      branch.graph->AddOutput(output.values[static_cast<size_t>(branch.leaf)], output.name);
    }
    return GraphBuilder::FinishNested(*branch.graph);
  }
  const int id = builder_->Capture(id_, around_, &branch.region);
  TEMPER_ASSIGN_OR_RETURN(const int condition, Below(*branch.graph, id, branch.condition, source_));
  TEMPER_ASSIGN_OR_RETURN(const std::vector<int> results,
                          CloseBoth(branch.region, condition, *branch.yes, *branch.no, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) branch.graph->AddOutput(results[i], outputs[i].name);
  return OkStatus();
}

Result<std::vector<int>> SwitchTree::CloseBoth(Region& region, int condition, Branch& yes,
                                               Branch& no, const std::vector<Output>& outputs) {
  graph::Graph& graph = *region.graph;
  graph::Attributes attributes;
  std::vector<int> inputs = {condition};
  for (const auto& [branch, name, error] :
       {std::tuple(&yes, graph::kThenBranch, graph::kThenError),
        std::tuple(&no, graph::kElseBranch, graph::kElseError)}) {
    if (const std::string* message = Error(*branch)) {
      attributes[error] = *message;
      branch->graph = std::make_shared<graph::Graph>();
      branch->region.captured.clear();
    } else {
      TEMPER_RETURN_IF_ERROR(CloseOne(*branch, outputs));
    }
    const std::vector<int>& captured = branch->region.captured;
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    attributes[name] = GraphAttribute(std::move(branch->graph));
  }
  attributes["then_inputs"] = static_cast<int64_t>(yes.region.captured.size());
  std::vector<std::string> names;
  std::vector<int64_t> room;
  bool any = false;
  for (const Output& output : outputs) {
    names.push_back(output.name);
    room.push_back(output.room);
    any = any || output.room >= 0;
  }
  if (any) attributes[graph::kRoom] = room;
  const int id =
      graph.AddNode("If", std::move(inputs), std::move(names), std::move(attributes), {source_});
  const Status inferred = graph::InferNode(graph, id);
  if (!inferred.ok()) {
    graph.RemoveNode(id);
    return inferred;
  }
  return graph.node(id).outputs;
}

Result<std::vector<int>> SwitchTree::Close(const std::vector<Output>& outputs) {
  if (outputs.empty()) return std::vector<int>();
  int condition = condition_;
  if (id_ != kNone) {
    TEMPER_ASSIGN_OR_RETURN(condition, Below(*around_->graph, id_, middle_, source_));
  }
  return CloseBoth(*around_, condition, *yes_, *no_, outputs);
}

}  // namespace temper::importer
