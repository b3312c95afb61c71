#include "compiler/wire/wire_schedule.h"

#include <fmt/format.h>

#include "compiler/wire/enums.h"

namespace temper::wire {
namespace {

template <typename Ours, typename Wire, size_t N>
Status TakeEnum(const char* what, const EnumTable<Ours, Wire, N>& table, Wire value, Ours* out) {
  const auto ours = FromWire(table, value);
  if (!ours) return InvalidArgument(fmt::format("unknown {} {}", what, static_cast<int>(value)));
  *out = *ours;
  return OkStatus();
}

Status CheckLength(const char* what, int length, size_t most) {
  if (static_cast<size_t>(length) <= most) return OkStatus();
  return InvalidArgument(fmt::format("{} {}; at most {}", length, what, most));
}

void PutStage(const schedule::StageSchedule& s, proto::StageSchedule* m) {
  for (const schedule::Group& g : s.groups) {
    proto::AxisGroup* group = m->add_groups();
    group->mutable_axes()->Add(g.axes.begin(), g.axes.end());
    group->mutable_factors()->Add(g.factors.begin(), g.factors.end());
    group->set_edge(ToWire(kEdges, g.edge));
  }
  for (const schedule::LoopRef& l : s.order) {
    proto::Loop* loop = m->add_order();
    loop->set_group(l.group);
    loop->set_level(l.level);
    loop->set_bind(ToWire(kBinds, l.bind));
  }
  m->set_place(ToWire(kPlaces, s.place.kind));
  if (s.place.kind == schedule::PlaceKind::kAt) {
    m->set_at_stage(s.place.stage);
    m->set_at_loop(s.place.loop);
  }
  m->set_scope(ToWire(kScopes, s.scope));
  for (const schedule::Prefetch& p : s.prefetches) {
    proto::Prefetch* prefetch = m->add_prefetches();
    prefetch->set_tensor(p.tensor);
    prefetch->set_loop(p.loop);
    prefetch->set_distance(p.distance);
  }
}

Status TakeStep(const proto::Step& m, schedule::Step* s) {
  TEMPER_RETURN_IF_ERROR(TakeEnum("step", kSteps, m.kind(), &s->kind));
  TEMPER_RETURN_IF_ERROR(
      CheckLength("dimensions in a pack", m.dims_size(), schedule::kMaxPackDims));
  s->target = m.target();
  s->axis = m.axis();
  s->parts = m.parts();
  for (const proto::PackDim& d : m.dims()) s->dims.push_back({d.axis(), d.extent(), d.step()});
  return OkStatus();
}

Status TakeStage(const proto::StageSchedule& m, schedule::StageSchedule* s) {
  TEMPER_RETURN_IF_ERROR(CheckLength("groups", m.groups_size(), schedule::kMaxGroups));
  TEMPER_RETURN_IF_ERROR(CheckLength("loops", m.order_size(), schedule::kMaxOrder));
  TEMPER_RETURN_IF_ERROR(CheckLength("prefetches", m.prefetches_size(), schedule::kMaxPrefetches));
  for (const proto::AxisGroup& g : m.groups()) {
    TEMPER_RETURN_IF_ERROR(CheckLength("axes in a group", g.axes_size(), schedule::kMaxGroupAxes));
    TEMPER_RETURN_IF_ERROR(
        CheckLength("factors in a group", g.factors_size(), schedule::kMaxFactors));
    schedule::Group& group = s->groups.emplace_back();
    group.axes.assign(g.axes().begin(), g.axes().end());
    group.factors.assign(g.factors().begin(), g.factors().end());
    TEMPER_RETURN_IF_ERROR(TakeEnum("edge policy", kEdges, g.edge(), &group.edge));
  }
  for (const proto::Loop& l : m.order()) {
    schedule::LoopRef& loop = s->order.emplace_back();
    loop.group = l.group();
    loop.level = l.level();
    TEMPER_RETURN_IF_ERROR(TakeEnum("bind", kBinds, l.bind(), &loop.bind));
  }
  TEMPER_RETURN_IF_ERROR(TakeEnum("place", kPlaces, m.place(), &s->place.kind));
  if (s->place.kind == schedule::PlaceKind::kAt) {
    s->place.stage = m.at_stage();
    s->place.loop = m.at_loop();
  }
  TEMPER_RETURN_IF_ERROR(TakeEnum("scope", kScopes, m.scope(), &s->scope));
  for (const proto::Prefetch& p : m.prefetches()) {
    s->prefetches.push_back({p.tensor(), p.loop(), p.distance()});
  }
  return OkStatus();
}

}  // namespace

proto::Schedule ToProto(const schedule::Schedule& schedule) {
  proto::Schedule out;
  out.set_workload(std::string(schedule.workload.AsBytes()));
  out.set_alternative(schedule.alternative);
  out.set_threads(schedule.threads);
  for (const schedule::Step& s : schedule.steps) {
    proto::Step* m = out.add_steps();
    m->set_kind(ToWire(kSteps, s.kind));
    m->set_target(s.target);
    m->set_axis(s.axis);
    m->set_parts(s.parts);
    for (const schedule::PackDim& d : s.dims) {
      proto::PackDim* dim = m->add_dims();
      dim->set_axis(d.axis);
      dim->set_extent(d.extent);
      dim->set_step(d.step);
    }
  }
  for (const schedule::StageSchedule& s : schedule.stages) PutStage(s, out.add_stages());
  return out;
}

Result<schedule::Schedule> FromProto(const proto::Schedule& message) {
  schedule::Schedule s;
  auto hash = Hash::FromBytes(message.workload());
  if (!hash.ok()) return hash.status().WithContext("schedule, workload");
  s.workload = *hash;
  s.alternative = message.alternative();
  s.threads = message.threads();
  TEMPER_RETURN_IF_ERROR(
      CheckLength("steps", message.steps_size(), schedule::kMaxSteps).WithContext("schedule"));
  TEMPER_RETURN_IF_ERROR(CheckLength("stages", message.stages_size(), schedule::kMaxStageSchedules)
                             .WithContext("schedule"));
  for (int i = 0; i < message.steps_size(); ++i) {
    TEMPER_RETURN_IF_ERROR(TakeStep(message.steps(i), &s.steps.emplace_back())
                               .WithContext(fmt::format("schedule, step {}", i)));
  }
  for (int i = 0; i < message.stages_size(); ++i) {
    TEMPER_RETURN_IF_ERROR(TakeStage(message.stages(i), &s.stages.emplace_back())
                               .WithContext(fmt::format("schedule, stage {}", i)));
  }
  TEMPER_RETURN_IF_ERROR(schedule::CheckBounds(s));
  return s;
}

}  // namespace temper::wire
