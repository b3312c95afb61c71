#include "tuner/space/plan.h"

#include <algorithm>
#include <optional>

#include "tuner/space/short_sums.h"
#include "tuner/space/split.h"

namespace temper::tuner {
namespace {

constexpr int64_t kMaxRowBytes = 128 << 10;  // of one member's row on the stack

class Planner {
 public:
  Planner(const te::Program& program, const std::vector<StageInfo>& info, int caution)
      : program_(program),
        info_(info),
        caution_(caution),
        inlined_(info.size(), false),
        taken_(info.size(), false) {}

  Plan Run() {
    int n = static_cast<int>(info_.size());
    std::vector<bool> may_inline(n, false);
    Plan plan;
    for (int s = 0; s < n && caution_ == 0; ++s) {
      if (auto transform = TransformNest(s)) plan.nests.push_back(*transform);
    }
    for (int s = 0; s + 3 < n && caution_ == 0; ++s) {
      if (auto column = ColumnNest(s)) plan.nests.push_back(*column);
    }
    for (int s = n - 1; s >= 0; --s) DecideInline(s, may_inline);
    std::optional<Nest> row;
    if (plan.nests.empty()) row = RowNest();
    if (row) {
      plan.nests.push_back(*row);
    } else {
      for (int s = 0; s < n; ++s) {
        if (info_[s].reduces && !taken_[s]) plan.nests.push_back(ReductionNest(s));
      }
      for (int s = 0; s < n; ++s) {
        if (taken_[s] || inlined_[s]) continue;
        Nest nest;
        nest.root = s;
        nest.may_inline = may_inline[s];
        plan.nests.push_back(nest);
      }
    }
    plan.inlined = inlined_;
    return plan;
  }

 private:
  // A stage of short sums with the elementwise stage at the end of its chain of readers.
  std::optional<Nest> TransformNest(int s) {
    if (info_[s].reduces || info_[s].output || !ChoosesSums(program_.stages[s])) return {};
    int root = s;
    std::vector<int> chain;  // between the two
    while (!info_[root].output && info_[root].consumers.size() == 1 &&
           !info_[info_[root].consumers[0]].reduces) {
      if (root != s) {
        if (ChoosesSums(program_.stages[root])) break;
        chain.push_back(root);
      }
      root = info_[root].consumers[0];
    }
    if (root == s || taken_[root]) return {};
    Nest nest;
    nest.kind = NestKind::kTransform;
    nest.root = root;
    nest.members = {s};
    tir::Expr body = InlinedBody(root, chain);
    nest.fixed_tile = ChosenTiles(program_.stages[root], body);
    ChosenByMember(s, root, body, &nest.fixed_tile);
    taken_[s] = taken_[root] = true;
    for (int c : chain) inlined_[c] = true;
    return nest;
  }

  // Stages s to s + 3 as te::MakeLastColumn makes them, with the elementwise stages behind them.
  std::optional<Nest> ColumnNest(int s) {
    const std::vector<int> only_choice = {s + 3}, only_sums = {s + 2};
    if (!info_[s].reduces || info_[s + 1].reduces || !info_[s + 2].reduces ||
        info_[s + 3].reduces || info_[s].consumers != only_choice ||
        info_[s + 1].consumers != only_sums || info_[s + 2].consumers != only_choice) {
      return {};
    }
    const te::Stage& vectors = program_.stages[s];
    const te::Stage& choice = program_.stages[s + 3];
    const size_t rank = choice.spatial.size();
    if (rank < 2 || vectors.spatial.size() != rank ||
        program_.stages[s + 2].spatial.size() != rank - 1 ||
        vectors.spatial.back().extent + 1 != choice.spatial.back().extent) {
      return {};
    }
    int root = s + 3;
    while (!info_[root].output && info_[root].consumers.size() == 1) {
      const int reader = info_[root].consumers[0];
      if (info_[reader].reduces || !ReadsAsItIs(reader, root)) break;
      inlined_[root] = true;
      root = reader;
    }
    Nest nest;
    nest.kind = NestKind::kColumn;
    nest.root = root;
    nest.members = {s, s + 1, s + 2};
    for (int m : nest.members) taken_[m] = true;
    taken_[root] = true;
    return nest;
  }

  // Whether `reader` has the axes of `s` and reads each point at its own.
  bool ReadsAsItIs(int reader, int s) const {
    const te::Stage& r = program_.stages[reader];
    const te::Stage& stage = program_.stages[s];
    if (r.spatial.size() != stage.spatial.size()) return false;
    for (const Read& read : info_[reader].reads) {
      if (read.tensor != stage.tensor) continue;
      for (size_t a = 0; a < r.spatial.size(); ++a) {
        const bool same = r.spatial[a].extent == stage.spatial[a].extent;
        const bool single = same && r.spatial[a].extent == 1;
        if (!same || (!single && read.dims[a].Identity() != static_cast<int>(a))) return false;
      }
    }
    return true;
  }

  tir::Expr InlinedBody(int root, const std::vector<int>& chain) const {
    tir::Expr body = program_.stages[root].body;
    for (size_t i = chain.size(); i-- > 0;) {
      const te::Stage& stage = program_.stages[chain[i]];
      body = tir::Rewrite(body, [&](const tir::Expr& e) -> tir::Expr {
        if (e->kind() != tir::ExprKind::kLoad || e->buffer() != stage.tensor) return {};
        std::vector<tir::Expr> map(program_.next_var);
        for (size_t a = 0; a < stage.spatial.size(); ++a) {
          map[stage.spatial[a].var->var_id()] = e->indices()[a];
        }
        return tir::Substitute(stage.body, map);
      });
    }
    return body;
  }

  // An axis of the root that is an axis by which the member chooses is unrolled whole too.
  void ChosenByMember(int member, int root, const tir::Expr& body,
                      std::vector<int64_t>* tiles) const {
    const te::Stage& m = program_.stages[member];
    const te::Stage& r = program_.stages[root];
    std::vector<int64_t> chosen = ChosenTiles(m, m.body);
    tir::Visit(body, [&](const tir::Expr& e) {
      if (e->kind() != tir::ExprKind::kLoad || e->buffer() != m.tensor) return true;
      for (size_t d = 0; d < chosen.size(); ++d) {
        if (chosen[d] <= 1) continue;
        int a = -1;
        int64_t tile = ChosenTile(r, e->indices()[d], &a);
        if (a >= 0) (*tiles)[a] = std::max((*tiles)[a], tile);
      }
      return true;
    });
  }

  // Injective stages vanish into their readers unless that would repeat dear work.
  void DecideInline(int s, std::vector<bool>& may_inline) {
    const StageInfo& stage = info_[s];
    if (taken_[s] || inlined_[s]) return;
    if (stage.reduces || stage.output || caution_ > 2) return;
    int64_t evaluations = 0;
    bool into_reduction = false;
    for (int c : stage.consumers) {
      evaluations += info_[c].points * info_[c].reduction;
      into_reduction |= info_[c].reduces;
    }
    bool repeats = evaluations > stage.points;
    if (stage.calls && repeats) return;
    if (into_reduction && repeats) {
      may_inline[s] = true;
      return;
    }
    inlined_[s] = true;
  }

  // For each axis of stage `s`, the axis of `reader` that it is at every read, through inlined
  // stages; none where a read is not such a renaming.
  std::optional<std::vector<int>> AxesIn(int reader, int s) const {
    std::optional<std::vector<int>> found;
    for (const Read& read : info_[reader].reads) {
      int producer = program_.tensors[read.tensor].producer;
      if (producer < 0) continue;
      std::vector<int> of_producer(program_.stages[producer].spatial.size(), -1);
      std::vector<int> axes;
      if (producer == s) {
        axes.resize(of_producer.size());
        for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
      } else if (inlined_[producer] && Reaches(producer, s)) {
        auto inner = AxesIn(producer, s);
        if (!inner) return std::nullopt;
        axes = *inner;
      } else {
        continue;
      }
      std::vector<int> mapped(axes.size(), -1);
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] < 0) continue;
        const IndexDim& dim = read.dims[axes[i]];
        mapped[i] = dim.Identity();
        bool single = program_.stages[s].spatial[i].extent == 1 && dim.IsConstant();
        if (mapped[i] < 0 && !single) return std::nullopt;
        if (mapped[i] >= 0 && program_.stages[reader].IsReduction(mapped[i])) return std::nullopt;
        if (mapped[i] >= 0 && program_.stages[reader].axis(mapped[i]).extent !=
                                  program_.stages[s].spatial[i].extent) {
          return std::nullopt;
        }
      }
      if (found && *found != mapped) return std::nullopt;
      found = mapped;
    }
    return found;
  }

  bool Reaches(int reader, int s) const {
    for (const Read& read : info_[reader].reads) {
      int producer = program_.tensors[read.tensor].producer;
      if (producer == s) return true;
      if (producer > s && inlined_[producer] && Reaches(producer, s)) return true;
    }
    return false;
  }

  // The stages that are not inlined and read `s`, directly or through inlined ones.
  void RealReaders(int s, std::vector<int>& out) const {
    for (int c : info_[s].consumers) {
      if (inlined_[c]) {
        RealReaders(c, out);
      } else if (std::find(out.begin(), out.end(), c) == out.end()) {
        out.push_back(c);
      }
    }
  }

  // A tile, or rows where the reduction is to be split.
  Nest ReductionNest(int s) {
    Nest nest = TileNest(s);
    if (caution_ > 0 || SplitAxis(program_, info_, s) < 0) return nest;
    if (nest.root != s && program_.stages[nest.root].spatial.empty()) {
      taken_[nest.root] = false;  // a number alone has no loop to compute the reduction in
      nest.root = s;
    }
    nest.kind = NestKind::kRow;
    if (nest.root != s) nest.members = {s};
    nest.row_axes = static_cast<int>(program_.stages[nest.root].spatial.size());
    return nest;
  }

  // The reduction with the elementwise stage that consumes it, or with a write cache.
  Nest TileNest(int anchor) {
    Nest nest;
    nest.kind = NestKind::kTile;
    nest.anchor = nest.root = anchor;
    taken_[anchor] = true;
    int axes = static_cast<int>(program_.stages[anchor].spatial.size());
    std::vector<int> readers;
    RealReaders(anchor, readers);
    if (caution_ < 2 && !info_[anchor].output && readers.size() == 1 &&
        !info_[readers[0]].reduces && !taken_[readers[0]]) {
      int root = readers[0];
      auto mapped = AxesIn(root, anchor);
      if (mapped && CoversAll(*mapped, root)) {
        nest.root = root;
        nest.root_axis = *mapped;
        taken_[root] = true;
      }
    }
    if (nest.root == anchor) {
      nest.root_axis.resize(axes);
      for (int i = 0; i < axes; ++i) nest.root_axis[i] = i;
    }
    for (int s = 0; s < anchor; ++s) {
      if (!IsCopyFor(s, anchor)) continue;
      nest.copies.push_back(s);
      taken_[s] = true;
    }
    return nest;
  }

  // Whether every point of the anchor has elements of `s` of its own, its windows aside, along rows
  // that are contiguous: a copy made in the anchor's loops is then made once.
  bool IsCopyFor(int s, int anchor) const {
    if (caution_ > 0 || taken_[s] || inlined_[s] || info_[s].reduces || info_[s].output) {
      return false;
    }
    std::vector<int> readers;
    RealReaders(s, readers);
    if (readers != std::vector<int>{anchor}) return false;
    const te::Stage& stage = program_.stages[anchor];
    int reads = 0;
    for (const Read& read : info_[anchor].reads) {
      if (program_.tensors[read.tensor].producer != s) continue;
      ++reads;
      for (size_t a = 0; a < stage.spatial.size(); ++a) {
        if (stage.spatial[a].extent > 1 && !read.DependsOn(static_cast<int>(a))) return false;
      }
      int last = static_cast<int>(stage.spatial.size()) - 1;
      while (last > 0 && stage.spatial[last].extent == 1) --last;
      // A window slides along the rows: the last dimension moves with a reduction axis too.
      const std::vector<int64_t>& along = read.dims.back().coefficients;
      if (last < 0 || along[last] == 0 ||
          std::all_of(
              along.begin() + static_cast<std::ptrdiff_t>(stage.spatial.size()), along.end(),
              [](int64_t c) { return c == 0; })) {
        return false;
      }
    }
    return reads > 0;
  }

  bool CoversAll(const std::vector<int>& axes, int root) const {
    const te::Stage& stage = program_.stages[root];
    for (size_t a = 0; a < stage.spatial.size(); ++a) {
      auto times = std::count(axes.begin(), axes.end(), static_cast<int>(a));
      if (times > 1 || (times == 0 && stage.spatial[a].extent > 1)) return false;
    }
    return true;
  }

  // Every stage that is not inlined in one nest: the last stage's leading axes are rows, and
  // each other stage is a row or a number a row.
  std::optional<Nest> RowNest() const {
    if (program_.outputs.size() != 1 || caution_ > 0) return std::nullopt;
    int root = program_.tensors[program_.outputs[0]].producer;
    if (root < 0 || info_[root].reduces) return std::nullopt;
    const te::Stage& last = program_.stages[root];
    int rank = static_cast<int>(last.spatial.size());
    Nest nest;
    nest.kind = NestKind::kRow;
    nest.root = root;
    bool broadcasts = false;  // else the last stage is the epilogue of a tile
    for (int s = 0; s < root; ++s) {
      if (inlined_[s]) continue;
      nest.members.push_back(s);
      broadcasts |= info_[s].reduces && info_[s].points < info_[root].points;
    }
    if (!broadcasts) return std::nullopt;
    for (int rows = rank - 1; rows >= 1; --rows) {
      if (RowsFit(nest, rows)) {
        nest.row_axes = rows;
        return nest;
      }
    }
    return std::nullopt;
  }

  // Whether each member's leading axes are the root's rows at every read inside the nest.
  bool RowsFit(const Nest& nest, int rows) const {
    const te::Stage& last = program_.stages[nest.root];
    for (int s : nest.members) {
      const te::Stage& stage = program_.stages[s];
      if (static_cast<int>(stage.spatial.size()) < rows) return false;
      int64_t row = ByteSize(program_.tensors[stage.tensor].dtype);
      for (size_t a = 0; a < stage.spatial.size(); ++a) {
        if (static_cast<int>(a) < rows) {
          if (stage.spatial[a].extent != last.spatial[a].extent) return false;
        } else {
          row *= stage.spatial[a].extent;
        }
      }
      if (row > kMaxRowBytes) return false;
      // More than a number a row is a tile's work.
      if (info_[s].reduces && row > ByteSize(program_.tensors[stage.tensor].dtype)) return false;
      std::vector<int> readers;
      RealReaders(s, readers);
      for (int reader : readers) {
        auto mapped = AxesIn(reader, s);
        if (!RowsRead(reader, s, rows) && !mapped) return false;
        if (mapped) {
          for (int a = 0; a < rows; ++a) {
            if ((*mapped)[a] != a && stage.spatial[a].extent > 1) return false;
          }
        }
      }
    }
    return true;
  }

  // Whether `reader` reads `s`, directly, at its own rows whatever the columns are.
  bool RowsRead(int reader, int s, int rows) const {
    bool any = false;
    for (const Read& read : info_[reader].reads) {
      if (program_.tensors[read.tensor].producer != s) continue;
      any = true;
      for (int a = 0; a < rows; ++a) {
        if (read.dims[a].Identity() != a && program_.stages[s].spatial[a].extent > 1) return false;
      }
    }
    if (!any) return false;
    for (const Read& read : info_[reader].reads) {
      int producer = program_.tensors[read.tensor].producer;
      if (producer >= 0 && producer != s && inlined_[producer] && Reaches(producer, s)) {
        return false;
      }
    }
    return true;
  }

  const te::Program& program_;
  const std::vector<StageInfo>& info_;
  int caution_;
  std::vector<bool> inlined_, taken_;
};

}  // namespace

Plan MakePlan(const te::Program& program, const std::vector<StageInfo>& info, int caution) {
  return Planner(program, info, caution).Run();
}

}  // namespace temper::tuner
