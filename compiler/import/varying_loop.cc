#include "compiler/import/varying_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "compiler/graph/control_flow.h"
#include "compiler/import/switch_tree.h"

namespace temper::importer {
namespace {

using graph::kNone;

// A limit, or what a flag would mend: no matter of one shape.
bool IsForUser(const Status& status) {
  return status.code() == Code::kResourceExhausted || status.code() == Code::kFailedPrecondition;
}

int Int64(graph::Graph& graph, const std::string& name, int64_t value) {
  return graph.AddConstant(name, graph::MakeInts({}, {&value, 1}));
}

}  // namespace

std::string VaryingLoopBuilder::What() const {
  return fmt::format("Loop '{}'", EscapeControl(u_.node.name));
}

std::string VaryingLoopBuilder::Change() const {
  for (size_t i = 0; i < parts_.initial.size(); ++i) {
    std::vector<Form> forms;
    for (const Tuple& tuple : tuples_) forms.push_back(tuple.forms[i]);
    for (const Form& form : forms) {
      if (form.type == forms[0].type) continue;
      return fmt::format("carried value {} ('{}') is {} at first and {} after a trip", i,
                         EscapeControl(body_.output(static_cast<int>(i) + 1).name()),
                         forms[0].type.ToString(), form.type.ToString());
    }
  }
  return "shapes in its body follow from the number of the trip";
}

// The number of the tuple, which joins the list where it is new.
int VaryingLoopBuilder::Known(std::vector<Form> forms, int64_t depth) {
  if (!by_trip_) {
    for (Form& form : forms) form.constant = nullptr;
  }
  const std::string key = KeyOf(forms, std::vector<bool>(forms.size(), true), by_trip_);
  const auto [at, added] = numbers_.emplace(key, static_cast<int>(tuples_.size()));
  if (added) tuples_.push_back({std::move(forms), depth, ""});
  return at->second;
}

Result<VaryingLoopBuilder::Body> VaryingLoopBuilder::AddBody(const std::vector<int>& carried,
                                                             int trip, const Tuple& tuple) {
  std::vector<int> arguments = {trip, flow_.Holds(parts_)};
  arguments.insert(arguments.end(), carried.begin(), carried.end());
  TEMPER_ASSIGN_OR_RETURN(const GraphBuilder::Outputs outputs,
                          flow_.AddBody(body_, arguments, "body/"));
  Body made;
  made.condition = outputs[0].second;
  for (size_t i = 0; i < parts_.initial.size(); ++i) made.carried.push_back(outputs[1 + i].second);
  for (size_t row : rows_) made.rows.push_back(outputs[1 + row].second);
  if (by_trip_) made.carried.push_back(Int64(builder_.graph(), "trips", tuple.depth + 1));
  return made;
}

Status VaryingLoopBuilder::ExploreFrom(int tuple, int64_t* nodes) {
  const Tuple from = tuples_[static_cast<size_t>(tuple)];
  const GraphBuilder::Count before = builder_.count();
  std::vector<std::vector<Form>> next;
  auto scratch = builder_.BuildNested("body", [&]() -> Result<GraphBuilder::Outputs> {
    graph::Graph& graph = builder_.graph();
    const int trip = by_trip_ ? Int64(graph, "trip", from.depth)
                              : graph.AddInput("trip", graph::TensorType(DType::kInt64, {}));
    std::vector<int> carried;
    for (size_t i = 0; i < parts_.initial.size(); ++i) {
      const Form& form = from.forms[i];
      carried.push_back(form.constant != nullptr ? graph.AddConstant("carried", *form.constant)
                                                 : graph.AddInput("carried", form.type));
    }
    TEMPER_ASSIGN_OR_RETURN(const Body body, AddBody(carried, trip, from));
    GraphBuilder::Outputs outputs = {{"condition", body.condition}};
    for (int value : body.carried) outputs.emplace_back("carried", value);
    for (int value : body.rows) {
      if (builder_.FindVarying(value) != nullptr) {
        return u_.Refuse("the rows of an output differ in shape");
      }
      outputs.emplace_back("row", value);
    }
    for (size_t r = 0; r < rows_.size(); ++r) {
      const graph::ValueType& type = graph.type(body.rows[r]);
      if (tuple == 0) row_types_.push_back(type);
      if (type == row_types_[r]) continue;
      return u_.Refuse(fmt::format("the rows of output {} differ in shape ({} and {})", rows_[r],
                                   row_types_[r].ToString(), type.ToString()));
    }
    TEMPER_ASSIGN_OR_RETURN(Combinations all, Combine(*builder_.region(), body.carried, What()));
    next = std::move(all.forms);
    return outputs;
  });
  *nodes += builder_.count().nodes - before.nodes;
  builder_.Forget(before);  // until the body is built
  TEMPER_RETURN_IF_ERROR(scratch.status());
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (row_types_[r].IsStatic()) continue;
    return u_.Refuse(fmt::format("the shape of the rows of output {} is not known ({})", rows_[r],
                                 row_types_[r].ToString()));
  }
  for (std::vector<Form>& forms : next) {
    for (size_t i = 0; i < parts_.initial.size(); ++i) {
      if (forms[i].type.IsStatic() && forms[i].type.dtype == from.forms[i].type.dtype) continue;
      return u_.Refuse(fmt::format("carried value {} is {} at first and {} after a trip", i,
                                   from.forms[i].type.ToString(), forms[i].type.ToString()));
    }
    Known(std::move(forms), from.depth + 1);
  }
  return OkStatus();
}

Status VaryingLoopBuilder::Explore(bool by_trip) {
  by_trip_ = by_trip;
  tuples_.clear();
  numbers_.clear();
  row_types_.clear();
  std::vector<Form> initial;
  for (int value : parts_.initial) initial.push_back(FormOf(u_.graph, value));
  if (by_trip_) {
    const int64_t none = 0;
    initial.push_back({graph::TensorType(DType::kInt64, {}),
                       std::make_shared<const graph::Tensor>(graph::MakeInts({}, {&none, 1}))});
  }
  Known(std::move(initial), 0);
  int64_t nodes = 0;
  int ended = 0;
  Status why;
  for (size_t t = 0; t < tuples_.size(); ++t) {
    if (!Tries(tuples_[t])) continue;
    Status status = ExploreFrom(static_cast<int>(t), &nodes);
    if (!status.ok()) {
      if (t == 0 || IsForUser(status)) return status;
      // Shapes that may never come do not stop the model from being compiled.
      ++ended;
      tuples_[t].error = status.message();
      if (why.ok()) why = std::move(status);
    }
    if (static_cast<int64_t>(tuples_.size()) <= kMaxVariants && nodes <= kMaxCopies) continue;
    if (most_ < 0) {
      return FailedPrecondition(fmt::format(
          "{}: {}, and how many trips it takes is only known at run time; state the most with "
          "--max-trips '{}=N'",
          What(), Change(), u_.node.name));
    }
    return ResourceExhausted(
        fmt::format("{}: {}, and with up to {} trips its body would be compiled for more than {} "
                    "shapes or into "
                    "more than {} nodes; state fewer trips with --max-trips '{}=N'",
                    What(), Change(), most_, kMaxVariants, kMaxCopies, u_.node.name));
  }
  if (tuples_.size() < 2) return NotFound("nothing in it varies");
  if (ended > 0) {
    builder_.Warn(fmt::format(
        "for {} of the {} shapes of what {} carries, another trip ends the model with an error: {}",
        ended, tuples_.size(), What(), why.message()));
  }
  return OkStatus();
}

Status VaryingLoopBuilder::MakePlans() {
  for (size_t i = 0; i < parts_.initial.size(); ++i) {
    Plan plan;
    plan.constant = true;
    bool same = true;
    int64_t room = 0;
    for (const Tuple& tuple : tuples_) {
      const Form& form = tuple.forms[i];
      plan.constant = plan.constant && form.constant != nullptr;
      same = same && form.type == tuples_[0].forms[i].type;
      room = std::max(room, graph::ElementCount(form.type.StaticShape()).value_or(0));
    }
    if (!same) plan.room = room;
    if (!plan.constant) {
      plan.place = places_.size();
      places_.push_back(i);
    }
    plans_.push_back(plan);
  }
  return OkStatus();
}

Result<GraphBuilder::Outputs> VaryingLoopBuilder::FillBody(const std::vector<int>& carried,
                                                           int trip, int id) {
  Region& around = *builder_.region();
  SwitchTree tree = SwitchTree::ById(builder_, id, static_cast<int>(tuples_.size()), u_.node.name);
  std::vector<Live> all(plans_.size() + (by_trip_ ? 1 : 0)), rows(rows_.size());
  Live condition;
  condition.name = "condition";
  for (size_t i = 0; i < plans_.size(); ++i) {
    all[i].name = body_.output(static_cast<int>(i) + 1).name();
  }
  for (size_t r = 0; r < rows_.size(); ++r) rows[r].name = u_.OutputName(rows_[r]);
  parts_.conditional = false;
  for (int t = 0; t < tree.size(); ++t) {
    const Tuple& tuple = tuples_[static_cast<size_t>(t)];
    Body body;
    if (!tuple.error.empty()) {
      tree.End(t, tuple.error);
    } else if (!Tries(tuple)) {
      tree.End(t, What() + ": it takes more trips than it was compiled for");
    } else {
      Region& leaf = tree.leaf(t);
      leaf.views_of = &around;
      std::vector<int> values;
      for (size_t i = 0; i < plans_.size(); ++i) {
        const Form& form = tuple.forms[i];
        if (plans_[i].constant) {
          values.push_back(leaf.graph->AddConstant("carried", *form.constant));
          continue;
        }
        const int value = carried[plans_[i].place];
        if (plans_[i].room >= 0 || form.constant != nullptr) leaf.views[value] = {form, kNone};
        values.push_back(builder_.Capture(value, &around, &leaf));
      }
      const int at = by_trip_ ? Int64(*leaf.graph, "trip", tuple.depth)
                              : builder_.Capture(trip, &around, &leaf);
      const GraphBuilder::Count before = builder_.count();
      builder_.Enter(&leaf);
      auto made = AddBody(values, at, tuple);
      builder_.Enter(&around);
      if (!made.ok()) return made.status();
      if (t > 0) {
        TEMPER_RETURN_IF_ERROR(builder_.CountCopies(builder_.PlainSince(before),
                                                    fmt::format("{}: {}", What(), Change())));
      }
      body = *std::move(made);
      const Form holds = FormOf(*leaf.graph, body.condition);
      if (holds.constant == nullptr || holds.constant->size() != 1 ||
          holds.constant->DoubleAt(0) == 0 || leaf.varying.count(body.condition) != 0) {
        parts_.conditional = true;
      }
    }
    body.carried.resize(all.size(), kNone);
    body.rows.resize(rows_.size(), kNone);
    for (size_t i = 0; i < all.size(); ++i) all[i].values.push_back(body.carried[i]);
    for (size_t r = 0; r < rows_.size(); ++r) rows[r].values.push_back(body.rows[r]);
    condition.values.push_back(body.condition);
  }
  std::vector<Live> live = all, leaving;
  live.push_back(condition);
  live.insert(live.end(), rows.begin(), rows.end());
  std::vector<int64_t> room;
  for (size_t i : places_) {
    leaving.push_back(all[i]);
    room.push_back(plans_[i].room);
  }
  if (parts_.conditional) leaving.push_back(condition);
  leaving.insert(leaving.end(), rows.begin(), rows.end());
  room.resize(leaving.size(), -1);
  std::vector<bool> varies(live.size(), false);
  std::fill_n(varies.begin(), all.size(), true);
  Merger merger(builder_, tree, u_.node.name, What());
  TEMPER_RETURN_IF_ERROR(merger.Enumerate(live));
  TEMPER_ASSIGN_OR_RETURN(const std::vector<int> values,
                          merger.MergeInto(leaving, room, varies, numbers_, by_trip_));
  const auto row_values = values.end() - 1 - static_cast<std::ptrdiff_t>(rows_.size());
  GraphBuilder::Outputs outputs;
  if (parts_.conditional) outputs.emplace_back("condition", values[places_.size()]);
  for (size_t k = 0; k < places_.size(); ++k) outputs.emplace_back(leaving[k].name, values[k]);
  outputs.emplace_back("variant", values.back());
  for (size_t r = 0; r < rows_.size(); ++r) {
    outputs.emplace_back(rows[r].name, row_values[static_cast<std::ptrdiff_t>(r)]);
  }
  return outputs;
}

Result<NestedGraph> VaryingLoopBuilder::BuildBody() {
  return builder_.BuildNested("body", [&]() -> Result<GraphBuilder::Outputs> {
    graph::Graph& graph = builder_.graph();
    const int trip = graph.AddInput("trip", graph::TensorType(DType::kInt64, {}));
    std::vector<int> carried;
    for (size_t i : places_) {
      const graph::ValueType& type = tuples_[0].forms[i].type;
      carried.push_back(graph.AddInput(
          body_.input(static_cast<int>(i) + 2).name(),
          plans_[i].room < 0 ? type : graph::TensorType(*type.dtype, {plans_[i].room})));
    }
    const int id = graph.AddInput("variant", graph::TensorType(DType::kInt64, {}));
    return FillBody(carried, trip, id);
  });
}

Result<std::vector<int>> VaryingLoopBuilder::AddLoop(NestedGraph nested) {
  std::vector<int> inputs = {parts_.trips, parts_.condition};
  std::vector<std::string> names;
  std::vector<int64_t> room;
  for (size_t i : places_) {
    inputs.push_back(parts_.initial[i]);
    names.push_back(u_.OutputName(i));
    room.push_back(plans_[i].room);
  }
  inputs.push_back(Int64(u_.graph, "variant", 0));
  names.push_back(u_.node.name + "/variant");
  room.push_back(-1);
  inputs.insert(inputs.end(), nested.captured.begin(), nested.captured.end());
  for (size_t r = 0; r < rows_.size(); ++r) {
    names.push_back(u_.OutputName(rows_[r]));
    const bool open = parts_.IsExact(u_.graph) || flow_.MayBeOpen(rows_[r]);
    const auto elements = graph::ElementCount(row_types_[r].StaticShape());
    if (!open && (!elements || *elements > INT64_MAX / std::max<int64_t>(1, most_))) {
      return u_.Refuse("its rows are too large");
    }
    room.push_back(open ? -1 : most_ * *elements);
  }
  graph::Attributes attributes = {
      {graph::kBody, std::shared_ptr<const graph::Graph>(std::move(nested.graph))},
      {"carried", static_cast<int64_t>(places_.size() + 1)},
      {"conditional", static_cast<int64_t>(parts_.conditional)},
      {graph::kRoom, room}};
  if (parts_.max_trips >= 0) attributes["max_trips"] = parts_.max_trips;
  TEMPER_ASSIGN_OR_RETURN(
      const std::vector<int> values,
      flow_.AddNode("Loop", std::move(inputs), std::move(names), std::move(attributes)));
  const int id = values[places_.size()];
  std::vector<int> results(static_cast<size_t>(body_.output_size()) - 1, kNone);
  Region& region = *builder_.region();
  for (size_t i = 0; i < plans_.size(); ++i) {
    std::vector<Form> forms;
    bool same = true;
    for (const Tuple& tuple : tuples_) {
      forms.push_back(tuple.forms[i]);
      same = same && forms.back().Key() == forms[0].Key();
    }
    results[i] =
        plans_[i].constant ? u_.Constant("carried", *forms[0].constant) : values[plans_[i].place];
    if (!same && (plans_[i].constant || plans_[i].room >= 0)) {
      region.varying[results[i]] = {id, std::move(forms)};
    }
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    const size_t at = places_.size() + 1 + r;
    results[rows_[r]] = values[at];
    if (room[at] < 0) continue;
    Varying& varying = region.varying[values[at]];
    varying.family = id;
    for (const Tuple& tuple : tuples_) {
      Form form{row_types_[r], nullptr};
      form.type.dims.insert(form.type.dims.begin(), graph::Dim(tuple.depth));
      varying.forms.push_back(std::move(form));
    }
  }
  return results;
}

Result<std::vector<int>> VaryingLoopBuilder::Run() {
  TEMPER_ASSIGN_OR_RETURN(parts_, flow_.LoopOperands());
  most_ = parts_.MostTrips(u_.graph);
  const size_t carried = parts_.initial.size();
  bool open_rows = false;
  for (size_t i = carried; i + 1 < static_cast<size_t>(body_.output_size()); ++i) {
    if (!u_.Used(i)) continue;
    rows_.push_back(i);
    open_rows = open_rows || !flow_.MayBeOpen(i);
  }
  // How many rows there are is then part of what varies.
  const bool by_trip = open_rows && most_ >= 0;
  Status explored = Explore(by_trip);
  if (!explored.ok() && !by_trip && explored.code() != Code::kResourceExhausted && most_ >= 0) {
    if (Explore(true).ok()) explored = OkStatus();
  }
  if (explored.code() == Code::kUnimplemented && most_ < 0 &&
      explored.message().find("shape of its result") != std::string::npos) {
    return FailedPrecondition(
        fmt::format("{}; if it follows from the number of the trip, state the most trips of {} "
                    "with --max-trips "
                    "'{}=N'",
                    explored.message(), What(), u_.node.name));
  }
  TEMPER_RETURN_IF_ERROR(explored);
  TEMPER_RETURN_IF_ERROR(MakePlans());
  TEMPER_ASSIGN_OR_RETURN(NestedGraph nested, BuildBody());
  return AddLoop(std::move(nested));
}

}  // namespace temper::importer
