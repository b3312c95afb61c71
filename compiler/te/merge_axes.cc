#include "compiler/te/merge_axes.h"

#include <algorithm>
#include <utility>

#include "compiler/te/rewrite.h"
#include "compiler/tir/affine.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

// A pair of neighbours: axes `first` and `first` + 1 of a stage, or such dimensions of a tensor.
struct Pair {
  int owner = -1;
  int first = -1;
  friend bool operator==(const Pair&, const Pair&) = default;
};

bool HasHalo(const Tensor& t, size_t d) {
  return !t.halo_before.empty() && (t.halo_before[d] != 0 || t.halo_after[d] != 0);
}

class Merger {
 public:
  explicit Merger(Program program) : p_(std::move(program)) {}

  // One more merge, of one pair and all that it entails; false where there is none.
  bool Step() {
    FindPossible();
    while (DropImpossible()) {
    }
    for (size_t t = 0; t < tensor_ok_.size(); ++t) {
      for (size_t d = 0; d < tensor_ok_[t].size(); ++d) {
        if (!tensor_ok_[t][d]) continue;
        if (Apply({static_cast<int>(t), static_cast<int>(d)})) return true;
      }
    }
    return false;
  }
  Program Take() { return std::move(p_); }

 private:
  int SpatialCount(int s) const { return static_cast<int>(p_.stages[s].spatial.size()); }
  bool StageOk(int s, int a) const {
    return a >= 0 && a < static_cast<int>(stage_ok_[s].size()) && stage_ok_[s][a];
  }

  // Everything that is not ruled out by extents, halos, or a use of an axis by itself.
  void FindPossible() {
    tensor_ok_.clear();
    for (const Tensor& t : p_.tensors) {
      std::vector<bool> ok(t.shape.empty() ? 0 : t.shape.size() - 1);
      for (size_t d = 0; d < ok.size(); ++d) {
        ok[d] = t.shape[d] > 1 && t.shape[d + 1] > 1 && !HasHalo(t, d) && !HasHalo(t, d + 1);
      }
      tensor_ok_.push_back(std::move(ok));
    }
    axis_of_var_.assign(p_.next_var, -1);
    bounds_ = {};
    stage_ok_.clear();
    for (size_t s = 0; s < p_.stages.size(); ++s) {
      const Stage& stage = p_.stages[s];
      int n = stage.axis_count();
      std::vector<bool> ok(std::max(n - 1, 0));
      for (int a = 0; a + 1 < n; ++a) {
        ok[a] = stage.IsReduction(a) == stage.IsReduction(a + 1) && stage.axis(a).extent > 1 &&
                stage.axis(a + 1).extent > 1;
      }
      for (int a = 0; a < n; ++a) {
        const int var = stage.axis(a).var->var_id();
        axis_of_var_[var] = a;
        bounds_.Set(var, {0, stage.axis(a).extent - 1});
      }
      stage_ok_.push_back(std::move(ok));
      Scan(static_cast<int>(s), stage.body);
    }
  }

  // Which axis an index is, -1 for anything else. Axes of extent 1 add nothing to it.
  int AxisOf(const Expr& e) const {
    if (e->kind() == ExprKind::kVar) return axis_of_var_[e->var_id()];
    const tir::Affine index = tir::ToAffine(e, bounds_);
    if (index.constant != 0 || index.terms.size() != 1) return -1;
    const auto& term = index.terms[0];
    if (term.coefficient != 1 || term.atom->kind() != ExprKind::kVar) return -1;
    return axis_of_var_[term.atom->var_id()];
  }

  // Whether indices d and d + 1 of a load by stage `s` are a pair of its axes; its first axis.
  int PairAt(int s, const tir::ExprNode& load, size_t d) const {
    const auto indices = load.indices();
    const int a = AxisOf(indices[d]);
    if (a < 0 || AxisOf(indices[d + 1]) != a + 1) return -1;
    const auto& shape = p_.tensors[load.buffer()].shape;
    const Stage& stage = p_.stages[s];
    if (stage.axis(a).extent != shape[d] || stage.axis(a + 1).extent != shape[d + 1]) return -1;
    return a;
  }

  void Forbid(int s, int axis) {
    auto& ok = stage_ok_[s];
    if (axis > 0) ok[axis - 1] = false;
    if (axis < static_cast<int>(ok.size())) ok[axis] = false;
  }

  // Rules out pairs of which one axis is used without the other.
  void Scan(int s, const Expr& e) {
    if (e->kind() == ExprKind::kVar) {
      Forbid(s, axis_of_var_[e->var_id()]);
      return;
    }
    if (e->kind() != ExprKind::kLoad) {
      for (const Expr& o : e->operands()) Scan(s, o);
      return;
    }
    const auto indices = e->indices();
    for (size_t d = 0; d < indices.size(); ++d) {
      const int a = AxisOf(indices[d]);
      if (a < 0) {
        Scan(s, indices[d]);
        continue;
      }
      const bool before = d > 0 && PairAt(s, *e, d - 1) == a - 1;
      const bool after = d + 1 < indices.size() && PairAt(s, *e, d) == a;
      auto& ok = stage_ok_[s];
      if (!before && a > 0) ok[a - 1] = false;
      if (!after && a < static_cast<int>(ok.size())) ok[a] = false;
    }
    for (size_t d = 0; d + 1 < indices.size(); ++d) {
      if (PairAt(s, *e, d) < 0) tensor_ok_[e->buffer()][d] = false;
    }
  }

  // Calls f(stage pair, tensor pair) for each load and each result that ties the two.
  template <typename F>
  void ForEachTie(F&& f) const {
    for (int s = 0; s < static_cast<int>(p_.stages.size()); ++s) {
      const Stage& stage = p_.stages[s];
      for (int a = 0; a + 1 < SpatialCount(s); ++a) f(Pair{s, a}, Pair{stage.tensor, a});
      tir::Visit(stage.body, [&](const Expr& e) {
        if (e->kind() != ExprKind::kLoad) return true;
        for (size_t d = 0; d + 1 < e->indices().size(); ++d) {
          const int a = PairAt(s, *e, d);
          if (a >= 0) f(Pair{s, a}, Pair{e->buffer(), static_cast<int>(d)});
        }
        return true;
      });
    }
  }

  // A stage's pair stands and falls with the tensors' that it walks. Whether anything fell.
  bool DropImpossible() {
    bool changed = false;
    ForEachTie([&](Pair stage, Pair tensor) {
      const bool both = StageOk(stage.owner, stage.first) && tensor_ok_[tensor.owner][tensor.first];
      if (both) return;
      changed |= stage_ok_[stage.owner][stage.first] || tensor_ok_[tensor.owner][tensor.first];
      stage_ok_[stage.owner][stage.first] = false;
      tensor_ok_[tensor.owner][tensor.first] = false;
    });
    return changed;
  }

  // False where what is tied to the seed would merge one stage or tensor twice.
  bool Apply(Pair seed) {
    std::vector<Pair> tensors = {seed}, stages;
    auto add = [](std::vector<Pair>& to, Pair pair) {
      const bool fresh = std::find(to.begin(), to.end(), pair) == to.end();
      if (fresh) to.push_back(pair);
      return fresh;
    };
    for (bool changed = true; changed;) {
      changed = false;
      ForEachTie([&](Pair stage, Pair tensor) {
        const bool known = std::find(tensors.begin(), tensors.end(), tensor) != tensors.end() ||
                           std::find(stages.begin(), stages.end(), stage) != stages.end();
        if (known && StageOk(stage.owner, stage.first)) {
          changed |= add(tensors, tensor) | add(stages, stage);
        }
      });
    }
    auto twice = [](const std::vector<Pair>& pairs) {
      for (const Pair& pair : pairs) {
        auto same = [&](const Pair& other) { return other.owner == pair.owner; };
        if (std::count_if(pairs.begin(), pairs.end(), same) > 1) return true;
      }
      return false;
    };
    if (twice(stages) || twice(tensors)) return false;
    for (const Pair& pair : stages) MergeStage(pair, tensors);
    for (const Pair& pair : tensors) {
      Tensor& t = p_.tensors[pair.owner];
      if (!t.halo_before.empty()) {  // both are of width zero here
        t.halo_before.erase(t.halo_before.begin() + pair.first);
        t.halo_after.erase(t.halo_after.begin() + pair.first);
      }
      auto& shape = t.shape;
      shape[pair.first] *= shape[pair.first + 1];
      shape.erase(shape.begin() + pair.first + 1);
    }
    return true;
  }

  // Loads first, while axes still have their numbers.
  void MergeStage(Pair pair, const std::vector<Pair>& tensors) {
    Stage& stage = p_.stages[pair.owner];
    const bool reduction = stage.IsReduction(pair.first);
    const Axis x = stage.axis(pair.first), y = stage.axis(pair.first + 1);
    const Expr fused = p_.NewVar(x.var->var_name() + y.var->var_name());
    stage.body = tir::Rewrite(stage.body, [&](const Expr& e) -> Expr {
      if (e->kind() != ExprKind::kLoad) return {};
      std::vector<Expr> indices(e->indices().begin(), e->indices().end());
      // An index that is another axis may be written with these two, which add nothing to it.
      bool plainer = false;
      for (Expr& index : indices) {
        const int axis = AxisOf(index);
        if (axis < 0 || index->kind() == ExprKind::kVar) continue;
        if (!Uses(index, x) && !Uses(index, y)) continue;
        index = stage.axis(axis).var;
        plainer = true;
      }
      for (const Pair& tensor : tensors) {
        if (tensor.owner != e->buffer()) continue;
        if (AxisOf(indices[tensor.first]) != pair.first) continue;
        indices[tensor.first] = fused;
        indices.erase(indices.begin() + tensor.first + 1);
        return p_.Read(e->buffer(), indices);
      }
      return plainer ? p_.Read(e->buffer(), indices) : Expr();
    });
    auto& axes = reduction ? stage.reduce : stage.spatial;
    const size_t at = pair.first - (reduction ? stage.spatial.size() : 0);
    axes[at] = {fused, x.extent * y.extent};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }

  Program p_;
  std::vector<int> axis_of_var_;
  tir::Bounds bounds_;                                   // of all axes
  std::vector<std::vector<bool>> stage_ok_, tensor_ok_;  // by the first of the pair
};

}  // namespace

Program MergeAxes(const Program& program) {
  Merger merger(program);
  while (merger.Step()) {
  }
  return merger.Take();
}

}  // namespace temper::te
