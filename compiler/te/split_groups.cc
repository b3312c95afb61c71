#include "compiler/te/split_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/tir/affine.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

constexpr int64_t kLeastChannels = 4;  // of a group's results: fewer fill no vector

// A dimension of a tensor, or an axis of a stage, that is cut into outer and inner.
struct Cut {
  int owner = -1;
  int at = -1;
  int64_t inner = 0;
};

// The index c / results * channels + k: axes c and k of a stage.
struct Grouped {
  int c = -1, k = -1;
  int64_t results = 0, channels = 0;
};

class Splitter {
 public:
  explicit Splitter(const Program& program) : p_(program) {}

  Program Run() {
    std::optional<Cut> seed = FindSeed();
    if (!seed) return p_;
    Require(axes_, *seed);
    while (possible_ && Grow()) {
    }
    return possible_ ? Rebuilt() : p_;
  }

 private:
  // Which axis of the stage a variable is, -1: none.
  static int AxisOf(const Stage& stage, const Expr& var) {
    for (int a = 0; a < stage.axis_count(); ++a) {
      if (stage.axis(a).var->var_id() == var->var_id()) return a;
    }
    return -1;
  }

  static int AxisAlone(const Stage& stage, const Expr& index) {
    const tir::Affine a = tir::ToAffine(index, {});
    const bool alone = a.constant == 0 && a.terms.size() == 1 && a.terms[0].coefficient == 1 &&
                       a.terms[0].atom->kind() == ExprKind::kVar;
    return alone ? AxisOf(stage, a.terms[0].atom) : -1;
  }

  std::optional<Grouped> MatchGrouped(const Stage& stage, const Expr& index) const {
    const tir::Affine a = tir::ToAffine(index, {});
    if (a.constant != 0 || a.terms.size() != 2) return {};
    Grouped g;
    for (const tir::Affine::Term& term : a.terms) {
      const Expr& e = term.atom;
      if (e->kind() == ExprKind::kVar && term.coefficient == 1) {
        g.k = AxisOf(stage, e);
      } else if (e->kind() == ExprKind::kFloorDiv && e->operand(0)->kind() == ExprKind::kVar &&
                 e->operand(1)->kind() == ExprKind::kIntImm) {
        g.c = AxisOf(stage, e->operand(0));
        g.results = e->operand(1)->int_value();
        g.channels = term.coefficient;
      }
    }
    if (g.c < 0 || g.k < 0 || stage.IsReduction(g.c) || !stage.IsReduction(g.k)) return {};
    if (stage.axis(g.k).extent != g.channels || stage.axis(g.c).extent % g.results != 0) return {};
    return g;
  }

  std::optional<Cut> FindSeed() const {
    for (size_t s = 0; s < p_.stages.size(); ++s) {
      std::optional<Cut> found;
      tir::Visit(p_.stages[s].body, [&](const Expr& e) {
        if (e->kind() != ExprKind::kLoad || found) return !found;
        for (const Expr& index : e->indices()) {
          auto g = MatchGrouped(p_.stages[s], index);
          if (g && g->results >= kLeastChannels) {
            found = Cut{static_cast<int>(s), g->c, g->results};
          }
        }
        return !found;
      });
      if (found) return found;
    }
    return {};
  }

  static const Cut* Find(const std::vector<Cut>& cuts, int owner, int at) {
    for (const Cut& c : cuts) {
      if (c.owner == owner && c.at == at) return &c;
    }
    return nullptr;
  }

  // Adds a cut; true where it is new. One that contradicts another makes all impossible.
  bool Require(std::vector<Cut>& cuts, const Cut& cut) {
    if (const Cut* known = Find(cuts, cut.owner, cut.at)) {
      possible_ = possible_ && known->inner == cut.inner;
      return false;
    }
    cuts.push_back(cut);
    return true;
  }

  static bool HasHalo(const Tensor& t, int d) {
    return (!t.halo_before.empty() && t.halo_before[d] != 0) ||
           (!t.halo_after.empty() && t.halo_after[d] != 0);
  }

  // What the cuts so far entail; true where there was something new.
  bool Grow() {
    bool grown = false;
    for (int s = 0; s < static_cast<int>(p_.stages.size()) && possible_; ++s) {
      const Stage& stage = p_.stages[s];
      for (int a = 0; a < static_cast<int>(stage.spatial.size()); ++a) {
        if (const Cut* c = Find(axes_, s, a)) {
          grown |= Require(dims_, {stage.tensor, a, c->inner});
        } else if (const Cut* d = Find(dims_, stage.tensor, a)) {
          grown |= Require(axes_, {s, a, d->inner});
        }
      }
      grown |= GrowFrom(s, stage.body);
    }
    for (const Cut& c : dims_) {
      const Tensor& t = p_.tensors[c.owner];
      possible_ =
          possible_ && t.transform.rows == 0 && !HasHalo(t, c.at) && t.shape[c.at] % c.inner == 0;
    }
    return grown && possible_;
  }

  // The loads of an expression, and that a cut axis occurs in their indices only.
  bool GrowFrom(int s, const Expr& e) {
    const Stage& stage = p_.stages[s];
    if (e->kind() == ExprKind::kVar) {
      const int a = AxisOf(stage, e);
      if (a >= 0 && Find(axes_, s, a)) possible_ = false;
      return false;
    }
    bool grown = false;
    if (e->kind() != ExprKind::kLoad) {
      for (const Expr& o : e->operands()) grown |= GrowFrom(s, o);
      return grown;
    }
    for (size_t d = 0; d < e->indices().size(); ++d) {
      const Expr& index = e->indices()[d];
      const int dim = static_cast<int>(d);
      const int64_t extent = p_.tensors[e->buffer()].shape[d];
      const int a = AxisAlone(stage, index);
      const Cut* of_axis = a >= 0 ? Find(axes_, s, a) : nullptr;
      const Cut* of_dim = Find(dims_, e->buffer(), dim);
      if (of_axis || (of_dim && a >= 0)) {
        possible_ = possible_ && stage.axis(a).extent == extent && !stage.IsReduction(a);
        const int64_t inner = of_axis ? of_axis->inner : of_dim->inner;
        grown |= Require(axes_, {s, a, inner});
        grown |= Require(dims_, {e->buffer(), dim, inner});
        continue;
      }
      if (auto g = MatchGrouped(stage, index); g && Find(axes_, s, g->c)) {
        possible_ = possible_ && Find(axes_, s, g->c)->inner == g->results &&
                    extent == stage.axis(g->c).extent / g->results * g->channels;
        grown |= Require(dims_, {e->buffer(), dim, g->channels});
        continue;
      }
      if (of_dim) possible_ = false;
      grown |= GrowFrom(s, index);
    }
    return grown;
  }

  Program Rebuilt() {
    Program out = p_;
    for (int s = 0; s < static_cast<int>(p_.stages.size()); ++s) RebuildStage(s, &out);
    std::vector<Cut> dims = dims_;
    // From the last dimension on, so that those before keep their numbers.
    std::sort(dims.begin(), dims.end(), [](const Cut& a, const Cut& b) { return a.at > b.at; });
    for (const Cut& c : dims) {
      Tensor& t = out.tensors[c.owner];
      t.shape[c.at] /= c.inner;
      t.shape.insert(t.shape.begin() + c.at + 1, c.inner);
      for (auto* halo : {&t.halo_before, &t.halo_after}) {
        if (!halo->empty()) halo->insert(halo->begin() + c.at + 1, 0);
      }
    }
    for (const Tensor& t : out.tensors) {
      if (static_cast<int>(t.shape.size()) > kMaxRank) return p_;
    }
    return out;
  }

  void RebuildStage(int s, Program* out) {
    const Stage& stage = p_.stages[s];
    Stage& made = out->stages[s];
    std::vector<std::pair<Expr, Expr>> vars(stage.axis_count());  // of cut axes: outer, inner
    for (int a = 0; a < stage.axis_count(); ++a) {
      if (!Find(axes_, s, a)) continue;
      const std::string& name = stage.axis(a).var->var_name();
      vars[a].first = out->NewVar(name + "g");
      vars[a].second = out->NewVar(name + "r");
    }
    made.body = tir::Rewrite(stage.body, [&](const Expr& e) -> Expr {
      if (e->kind() != ExprKind::kLoad) return {};
      std::vector<Expr> indices;
      bool changed = false;
      for (size_t d = 0; d < e->indices().size(); ++d) {
        const Expr& index = e->indices()[d];
        if (!Find(dims_, e->buffer(), static_cast<int>(d))) {
          indices.push_back(index);
          continue;
        }
        changed = true;
        if (const int a = AxisAlone(stage, index); a >= 0) {
          indices.push_back(vars[a].first);
          indices.push_back(vars[a].second);
        } else {
          const Grouped g = *MatchGrouped(stage, index);
          indices.push_back(vars[g.c].first);
          indices.push_back(stage.axis(g.k).var);
        }
      }
      return changed ? tir::Load(e->buffer(), e->type().dtype, indices, e->predicate()) : Expr();
    });
    for (int a = static_cast<int>(stage.spatial.size()) - 1; a >= 0; --a) {
      const Cut* c = Find(axes_, s, a);
      if (!c) continue;
      made.spatial[a] = {vars[a].first, stage.spatial[a].extent / c->inner};
      made.spatial.insert(made.spatial.begin() + a + 1, Axis{vars[a].second, c->inner});
    }
  }

  const Program& p_;
  std::vector<Cut> axes_, dims_;  // of stages, of tensors
  bool possible_ = true;
};

}  // namespace

Program SplitGroups(const Program& program) { return Splitter(program).Run(); }

}  // namespace temper::te
