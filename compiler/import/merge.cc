#include "compiler/import/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/graph/infer/infer.h"

namespace temper::importer {
namespace {

using graph::kNone;

// Of a constant that decides shapes.
constexpr int64_t kFewElements = 64;
constexpr size_t kFormsShown = 3;

Result<int> Emit(graph::Graph& graph, const std::string& op, std::vector<int> inputs,
                 const std::string& source) {
  const int id = graph.AddNode(op, std::move(inputs), {"variant"}, {}, {source});
  TEMPER_RETURN_IF_ERROR(graph::InferAndFoldSmall(graph, id));
  return graph.node(id).outputs[0];
}

int Number(graph::Graph& graph, int64_t value) {
  return graph.AddConstant("variant", graph::MakeInts({}, {&value, 1}));
}

int64_t Elements(const Form& form) {
  return graph::ElementCount(form.type.StaticShape()).value_or(0);
}

int64_t RoomFor(const std::vector<Form>& forms) {
  int64_t room = 0;
  for (const Form& form : forms) room = std::max(room, Elements(form));
  return room;
}

bool SameTypes(const std::vector<Form>& forms) {
  return std::all_of(forms.begin(), forms.end(),
                     [&](const Form& f) { return f.type == forms[0].type; });
}

}  // namespace

std::string Form::Key() const {
  std::string key = type.ToString();
  if (constant != nullptr) {
    const auto bytes = constant->raw();
    key += "=";
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return key;
}

Form FormOf(const graph::Graph& graph, int value) {
  const graph::Value& v = graph.value(value);
  Form form{v.type, nullptr};
  if (v.IsConstant() && v.constant->size() <= kFewElements &&
      (IsInt(v.constant->dtype) || v.constant->dtype == DType::kBool)) {
    form.constant = v.constant;
  }
  return form;
}

Form FormOf(const graph::Graph& graph, int condition, bool holds) {
  const graph::ValueType& type = graph.type(condition);
  const std::vector<double> values(
      static_cast<size_t>(graph::ElementCount(type.StaticShape()).value_or(0)), holds ? 1.0 : 0.0);
  return {type, std::make_shared<const graph::Tensor>(
                    graph::MakeFromDoubles(DType::kBool, type.StaticShape(), values))};
}

std::string ListForms(const std::vector<Form>& forms) {
  std::vector<std::string> texts;
  for (const Form& form : forms) {
    std::string text = form.type.ToString();
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  std::string list;
  for (size_t i = 0; i < texts.size() && i < kFormsShown; ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", texts[i]);
  }
  if (texts.size() > kFormsShown) {
    list += fmt::format(" ... {}, {} in all", texts.back(), texts.size());
  }
  return list;
}

int64_t Combinations::VariantOf(int64_t combination, int family) const {
  for (size_t f = families.size(); f-- > 0;) {
    if (families[f] == family) return combination % counts[f];
    combination /= counts[f];
  }
  return -1;
}

Result<Combinations> Combine(const Region& region, const std::vector<int>& values,
                             const std::string& what) {
  Combinations c;
  for (int value : values) {
    const auto at = region.varying.find(value);
    if (at == region.varying.end()) continue;
    const Varying& v = at->second;
    if (std::find(c.families.begin(), c.families.end(), v.family) != c.families.end()) continue;
    c.families.push_back(v.family);
    c.counts.push_back(static_cast<int64_t>(v.forms.size()));
    c.count *= c.counts.back();
    if (c.count > kMaxVariants) {
      return ResourceExhausted(fmt::format(
          "{}: what it reads has more than {} possible shapes ('{}': {}); a lower --max-trips, or "
          "results of one shape, would do",
          what, kMaxVariants, region.graph->value(value).name, ListForms(v.forms)));
    }
  }
  for (int64_t i = 0; i < c.count; ++i) {
    std::vector<Form>& forms = c.forms.emplace_back();
    for (int value : values) {
      const auto at = region.varying.find(value);
      forms.push_back(
          at == region.varying.end()
              ? FormOf(*region.graph, value)
              : at->second.forms[static_cast<size_t>(c.VariantOf(i, at->second.family))]);
    }
  }
  return c;
}

Result<int> CombinationId(GraphBuilder& builder, const Combinations& combinations,
                          const std::string& source) {
  TEMPER_CHECK(!combinations.families.empty());
  graph::Graph& graph = builder.graph();
  int id = combinations.families[0];
  for (size_t f = 1; f < combinations.families.size(); ++f) {
    TEMPER_ASSIGN_OR_RETURN(
        id, Emit(graph, "Mul", {id, Number(graph, combinations.counts[f])}, source));
    TEMPER_ASSIGN_OR_RETURN(id, Emit(graph, "Add", {id, combinations.families[f]}, source));
  }
  return id;
}

std::string KeyOf(const std::vector<Form>& forms, const std::vector<bool>& varies, bool constants) {
  std::string key;
  for (size_t k = 0; k < varies.size(); ++k) {
    if (!varies[k]) continue;
    const std::string part = constants ? forms[k].Key() : forms[k].type.ToString();
    key += fmt::format("{}:{};", part.size(), part);
  }
  return key;
}

Status Merger::Enumerate(const std::vector<Live>& live) {
  for (int i = 0; i < tree_.size(); ++i) {
    Combinations& combinations = combinations_.emplace_back();
    if (!tree_.error(i).empty()) continue;
    std::vector<int> values;
    for (const Live& l : live) values.push_back(l.values[static_cast<size_t>(i)]);
    TEMPER_ASSIGN_OR_RETURN(combinations, Combine(tree_.leaf(i), values, what_));
    for (int64_t c = 0; c < combinations.count; ++c) {
      Row row{i, c, combinations.forms[static_cast<size_t>(c)]};
      for (const auto& [value, forms] : kept_) row.forms.push_back(forms[static_cast<size_t>(i)]);
      rows_.push_back(std::move(row));
    }
  }
  return OkStatus();
}

// A value that varies in the leaf is memory with room for the largest of its shapes, but what a
// loop carried lies where its last trip left it, or before the first, where there may be less; and
// constants are nowhere.
Result<int> Merger::Settle(Region& leaf, int value, const std::string& name) {
  const auto at = leaf.varying.find(value);
  if (at == leaf.varying.end()) return value;
  const Varying varying = at->second;
  const graph::Node* producer = leaf.graph->ProducerOf(value);
  if (producer != nullptr && producer->Is("If") && varying.forms[0].constant == nullptr) {
    return value;
  }
  Region* before = builder_.Enter(&leaf);
  SwitchTree tree =
      SwitchTree::ById(builder_, varying.family, static_cast<int>(varying.forms.size()), source_);
  SwitchTree::Output output{name, SameTypes(varying.forms) ? -1 : RoomFor(varying.forms), {}};
  for (int i = 0; i < tree.size(); ++i) {
    Region& inner = tree.leaf(i);
    inner.views_of = &leaf;
    inner.views[value] = {varying.forms[static_cast<size_t>(i)], kNone};
    output.values.push_back(builder_.Capture(value, &leaf, &inner));
  }
  auto closed = tree.Close({output});
  builder_.Enter(before);
  if (!closed.ok()) return closed.status();
  return (*closed)[0];
}

Result<int> Merger::NumberIn(int leaf, const std::vector<int>& numbers) {
  Region& region = tree_.leaf(leaf);
  const bool one =
      std::all_of(numbers.begin(), numbers.end(), [&](int number) { return number == numbers[0]; });
  if (one) return Number(*region.graph, numbers[0]);
  Region* before = builder_.Enter(&region);
  const Combinations& combinations = combinations_[static_cast<size_t>(leaf)];
  auto id = CombinationId(builder_, combinations, source_);
  if (id.ok()) {
    const std::vector<int64_t> table(numbers.begin(), numbers.end());
    const int list = region.graph->AddConstant(
        "variants", graph::MakeInts({static_cast<int64_t>(table.size())}, table));
    id = Emit(*region.graph, "Gather", {list, *id}, source_);
  }
  builder_.Enter(before);
  return id;
}

Result<std::vector<SwitchTree::Output>> Merger::Leave(const std::vector<Live>& leaving,
                                                      const std::vector<int64_t>& room) {
  std::vector<SwitchTree::Output> outputs;
  for (size_t k = 0; k < leaving.size(); ++k) {
    SwitchTree::Output& output = outputs.emplace_back();
    output.name = leaving[k].name;
    output.room = room[k];
    for (int i = 0; i < tree_.size(); ++i) {
      int value = leaving[k].values[static_cast<size_t>(i)];
      if (tree_.error(i).empty()) {
        TEMPER_ASSIGN_OR_RETURN(value, Settle(tree_.leaf(i), value, leaving[k].name));
      }
      output.values.push_back(value);
    }
  }
  return outputs;
}

Result<std::vector<int>> Merger::MergeInto(const std::vector<Live>& leaving,
                                           const std::vector<int64_t>& room,
                                           const std::vector<bool>& varies,
                                           const std::map<std::string, int>& table,
                                           bool constants) {
  TEMPER_ASSIGN_OR_RETURN(std::vector<SwitchTree::Output> outputs, Leave(leaving, room));
  SwitchTree::Output& number = outputs.emplace_back();
  number.name = "variant";
  for (int i = 0; i < tree_.size(); ++i) {
    std::vector<int> numbers;
    for (const Row& row : rows_) {
      if (row.leaf != i) continue;
      const auto at = table.find(KeyOf(row.forms, varies, constants));
      if (at == table.end()) return Internal(what_ + ": a shape was not foreseen");
      numbers.push_back(at->second);
    }
    int value = kNone;
    if (!numbers.empty()) {
      TEMPER_ASSIGN_OR_RETURN(value, NumberIn(i, numbers));
    }
    number.values.push_back(value);
  }
  return tree_.Close(outputs);
}

Result<std::vector<int>> Merger::Merge(const std::vector<Live>& live) {
  TEMPER_RETURN_IF_ERROR(Enumerate(live));
  const size_t count = live.size() + kept_.size();
  std::vector<bool> varies(count, false), constant(count, true), open(count, false);
  const auto forms_of = [&](size_t k) {
    std::vector<Form> forms;
    for (const Row& row : rows_) forms.push_back(row.forms[k]);
    return forms;
  };
  bool any = false;
  for (size_t k = 0; k < count; ++k) {
    const std::vector<Form> forms = forms_of(k);
    for (const Form& form : forms) constant[k] = constant[k] && form.constant != nullptr;
    if (SameTypes(forms)) continue;
    const auto nested = [&](const Row& row) {
      return tree_.leaf(row.leaf).varying.count(live[k].values[static_cast<size_t>(row.leaf)]) > 0;
    };
    open[k] =
        k < live.size() && live[k].gives_out && !std::any_of(rows_.begin(), rows_.end(), nested);
    varies[k] = !open[k];
    any = any || varies[k];
    for (const Form& form : forms) {
      if (!varies[k] || form.type.IsStatic()) continue;
      return Unimplemented(fmt::format(
          "{}: the shape of '{}' is not known before the model runs ({})", what_,
          k < live.size() ? live[k].name : std::string("what it reads"), form.type.ToString()));
    }
    for (const Form& form : forms) {
      if (!varies[k] || form.type.dtype == forms[0].type.dtype) continue;
      return InvalidArgument(fmt::format("{}: '{}' is of different types ({})", what_, live[k].name,
                                         ListForms(forms)));
    }
  }
  // Constants of one type that differ count where they go with something else that varies.
  std::vector<bool> fixed(count, false);
  for (size_t k = 0; k < count; ++k) {
    const std::vector<Form> forms = forms_of(k);
    const std::string first = forms[0].Key();
    const bool same =
        std::all_of(forms.begin(), forms.end(), [&](const Form& f) { return f.Key() == first; });
    fixed[k] = constant[k] && same;
    if (constant[k] && !same && any && !open[k]) varies[k] = true;
    if (constant[k]) continue;
    for (Row& row : rows_) row.forms[k].constant = nullptr;
  }
  // The tuples of what varies.
  std::map<std::string, int> table;
  std::vector<std::vector<Form>> tuples;
  std::map<int, std::vector<Truth>> truths;  // by condition, then by tuple
  for (const Row& row : rows_) {
    if (!any) break;
    const auto [at, added] =
        table.emplace(KeyOf(row.forms, varies, true), static_cast<int>(tuples.size()));
    for (const auto& [condition, of_leaf] : known_) {
      std::vector<Truth>& list = truths[condition];
      const Truth truth = of_leaf[static_cast<size_t>(row.leaf)];
      if (added) list.push_back(truth);
      Truth& known = list[static_cast<size_t>(at->second)];
      if (known != truth) known = Truth::kEither;
    }
    if (!added) continue;
    tuples.push_back(row.forms);
    if (static_cast<int64_t>(tuples.size()) > kMaxVariants) {
      const size_t k = std::find(varies.begin(), varies.end(), true) - varies.begin();
      return ResourceExhausted(fmt::format(
          "{}: '{}' and what goes with it have more than {} possible shapes ({}); a lower "
          "--max-trips, or results of one shape, would do",
          what_, k < live.size() ? live[k].name : std::string("what it reads"), kMaxVariants,
          ListForms(forms_of(k))));
    }
  }
  graph::Graph& around = builder_.graph();
  std::vector<int> results(live.size(), kNone);
  std::vector<Live> leaving;
  std::vector<int64_t> room;
  std::vector<size_t> from;
  for (size_t k = 0; k < live.size(); ++k) {
    if (fixed[k] || (varies[k] && constant[k])) {
      results[k] = around.AddConstant(live[k].name, *rows_[0].forms[k].constant);
      continue;
    }
    from.push_back(k);
    leaving.push_back(live[k]);
    room.push_back(varies[k] && !SameTypes(forms_of(k)) ? RoomFor(forms_of(k)) : -1);
  }
  std::vector<int> values;
  int id = kNone;
  if (any) {
    TEMPER_ASSIGN_OR_RETURN(values, MergeInto(leaving, room, varies, table, true));
    id = values.back();
    builder_.region()->truths[id] = std::move(truths);
  } else {
    TEMPER_ASSIGN_OR_RETURN(const std::vector<SwitchTree::Output> outputs, Leave(leaving, room));
    TEMPER_ASSIGN_OR_RETURN(values, tree_.Close(outputs));
  }
  for (size_t i = 0; i < from.size(); ++i) results[from[i]] = values[i];
  const auto forms_by_tuple = [&](size_t k) {
    std::vector<Form> forms;
    for (const std::vector<Form>& tuple : tuples) forms.push_back(tuple[k]);
    return forms;
  };
  for (size_t k = 0; k < live.size(); ++k) {
    if (varies[k]) builder_.region()->varying[results[k]] = {id, forms_by_tuple(k)};
  }
  for (size_t k = live.size(); k < count && any; ++k) {
    const int value = kept_[k - live.size()].first;
    builder_.region()->varying[value] = {id, forms_by_tuple(k)};
  }
  return results;
}

}  // namespace temper::importer
