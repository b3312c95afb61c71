#include <algorithm>

#include "compiler/lower/lower.h"

namespace temper::lower {

using schedule::Bind;
using schedule::Edge;
using schedule::Group;
using schedule::StageSchedule;

schedule::Schedule ReferenceSchedule(const te::Program& program, const Target& target) {
  schedule::Schedule result;
  for (const te::Stage& stage : program.stages) {
    StageSchedule ss;
    bool output = std::find(program.outputs.begin(), program.outputs.end(), stage.tensor) !=
                  program.outputs.end();
    ss.scope = output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    int lanes = target.Lanes(std::max(4, ByteSize(program.tensors[stage.tensor].dtype)));
    auto spatial = static_cast<int>(stage.spatial.size());
    bool vector = spatial > 0 && stage.spatial.back().extent >= lanes && lanes > 1;
    for (int a = 0; a < stage.axis_count(); ++a) {
      Group g{{a}, {}, Edge::kDivides};
      if (vector && a == spatial - 1) g = {{a}, {lanes}, Edge::kMask};
      ss.groups.push_back(std::move(g));
      ss.order.push_back({a, 0, Bind::kSerial});
    }
    if (vector) ss.order.push_back({spatial - 1, 1, Bind::kVector});
    result.stages.push_back(std::move(ss));
  }
  return result;
}

}  // namespace temper::lower
