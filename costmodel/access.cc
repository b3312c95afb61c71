#include "costmodel/access.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace temper::costmodel {
namespace {

using tir::Expr;
using tir::ExprKind;
using tir::Stmt;
using tir::StmtKind;

// A value as a sum over loops; `range` is how far it moves while all of them run.
struct Linear {
  std::array<float, kMaxLoops> step{};
  double constant = 0;
  bool is_constant = true;
};

class Walker {
 public:
  Walker(const tir::Function& function, const Target& target, std::span<const int> constants,
         Constants place)
      : function_(function),
        target_(target),
        place_(place),
        var_loop_(function.next_var, -1),
        let_of_(function.next_var, nullptr) {
    strides_.reserve(function.buffers.size());
    for (const tir::Buffer& buffer : function.buffers) strides_.push_back(buffer.Strides());
    constant_.assign(function.buffers.size(), false);
    for (int buffer : constants) constant_[buffer] = true;
  }

  std::vector<StoreView> Run() {
    Walk(function_.body);
    ShareWork();
    return std::move(stores_);
  }

 private:
  void Walk(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: {
        int64_t extent = s->extent->kind() == ExprKind::kIntImm ? s->extent->int_value() : 1;
        bool counted = loops_.size() < kMaxLoops;
        auto id = static_cast<size_t>(s->var->var_id());
        if (counted) {
          if (id < var_loop_.size()) var_loop_[id] = static_cast<int>(loops_.size());
          loops_.push_back({s->var->var_id(), extent, s->bind});
        }
        Walk(s->body());
        if (counted) {
          loops_.pop_back();
          if (id < var_loop_.size()) var_loop_[id] = -1;
        }
        return;
      }
      case StmtKind::kLet: {
        auto id = static_cast<size_t>(s->var->var_id());
        const Expr* before = id < let_of_.size() ? let_of_[id] : nullptr;
        if (id < let_of_.size()) let_of_[id] = &s->value;
        Walk(s->body());
        if (id < let_of_.size()) let_of_[id] = before;
        return;
      }
      case StmtKind::kIf:
        guards_.push_back(&s->value);
        for (const Stmt& child : s->children) {
          if (child) Walk(child);
        }
        guards_.pop_back();
        return;
      case StmtKind::kBlock: {
        const size_t before = prefetches_.size();
        for (const Stmt& child : s->children) {
          if (child->kind == StmtKind::kPrefetch) {
            prefetches_.push_back(MakeAccess(child->buffer, child->indices, true));
          }
        }
        for (const Stmt& child : s->children) Walk(child);
        prefetches_.resize(before);
        return;
      }
      case StmtKind::kAllocate:
        Walk(s->body());
        return;
      case StmtKind::kStore:
        AddStore(*s);
        return;
      case StmtKind::kPrefetch:
        return;
    }
  }

  // Sums in registers that the last tile does not store are not computed there either.
  void ShareWork() {
    for (size_t reader = 0; reader < stores_.size(); ++reader) {
      for (const AccessView& a : stores_[reader].accesses) {
        if (!a.read || a.scope != tir::Scope::kRegister) continue;
        for (size_t writer = 0; writer < reader; ++writer) {
          StoreView& w = stores_[writer];
          if (w.accesses[0].buffer != a.buffer) continue;
          w.last = stores_[reader].last;
          w.last_work = stores_[reader].last_work;
        }
      }
    }
  }

  void AddStore(const tir::StmtNode& s) {
    StoreView view;
    view.loops = loops_;
    view.guards = static_cast<int>(guards_.size()) + (s.predicate ? 1 : 0);
    for (const Expr* guard : guards_) Decide(*guard, &view);
    if (s.predicate) Decide(s.predicate, &view);
    view.prefetches = static_cast<int>(prefetches_.size());
    for (const LoopView& loop : loops_) view.iterations *= static_cast<double>(loop.extent);
    view.accesses.push_back(MakeAccess(s.buffer, s.indices, false));
    counted_.clear();
    seen_.clear();
    Count(s.value, &view);
    for (AccessView& a : view.accesses) {
      Measure(&a);
      Lead(&a);
    }
    stores_.push_back(std::move(view));
  }

  // Adds what a condition that the last iteration of a loop alone may miss costs.
  void Decide(const Expr& condition, StoreView* view) {
    if (condition->kind() == ExprKind::kAnd) {
      Decide(condition->operand(0), view);
      Decide(condition->operand(1), view);
      return;
    }
    const bool less = condition->kind() == ExprKind::kLt;
    if (!less && condition->kind() != ExprKind::kLe) {
      view->guarded += 1;
      return;
    }
    // It holds where the difference is negative.
    const Linear a = Of(condition->operand(0)), b = Of(condition->operand(1));
    double constant = a.constant - b.constant - (less ? 0 : 1);
    int outer = -1, unrolled = -1;
    double inside = 0;  // how far the loops inside the outer one move it
    double copies = 1;
    bool known = true;
    for (size_t l = 0; l < loops_.size(); ++l) {
      const double step = a.step[l] - b.step[l];
      const auto extent = static_cast<double>(loops_[l].extent);
      known = known && step >= 0;
      if (step == 0) continue;
      if (loops_[l].bind == tir::Bind::kUnroll) {
        if (unrolled < 0) unrolled = static_cast<int>(l);
        copies *= extent;
      } else if (loops_[l].bind != tir::Bind::kVector && outer < 0) {
        outer = static_cast<int>(l);
        continue;
      }
      inside += step * (extent - 1);
    }
    double iterations = 1;
    if (outer >= 0) {
      const double step = a.step[outer] - b.step[outer];
      iterations = static_cast<double>(loops_[outer].extent);
      known = known && constant + step * (iterations - 2) + inside < 0;
      constant += step * (iterations - 1);  // of the last iteration
    }
    if (!known) {
      view->guarded += 1;
      return;
    }
    view->guarded += 1 / (iterations * copies);
    if (unrolled < 0) return;
    double needed = 0;
    const double step = a.step[unrolled] - b.step[unrolled];
    const auto extent = static_cast<double>(loops_[unrolled].extent);
    while (needed < extent && constant + step * needed < 0) ++needed;
    if (needed == extent) return;
    view->last = 1 / iterations;
    view->last_work = needed / extent;
  }

  // Whether unrolling decides `e`: it moves with unrolled loops alone.
  bool DecidedByUnrolling(const Expr& e) const {
    if (e->kind() == ExprKind::kLoad) return false;
    if (e->kind() == ExprKind::kVar) {
      auto id = static_cast<size_t>(e->var_id());
      if (id < let_of_.size() && let_of_[id]) return DecidedByUnrolling(*let_of_[id]);
      int loop = id < var_loop_.size() ? var_loop_[id] : -1;
      return loop >= 0 && loops_[loop].bind == tir::Bind::kUnroll;
    }
    return std::all_of(e->operands().begin(), e->operands().end(),
                       [this](const Expr& operand) { return DecidedByUnrolling(operand); });
  }

  // For which share of the body's vectors a condition is worked out: 0 where unrolling settles its
  // lanes or where all have the same; else once for all unrolled steps that do not move it.
  double ShareOf(const Expr& e) const {
    if (e->kind() == ExprKind::kLoad) return 1;
    if (e->kind() == ExprKind::kAnd || e->kind() == ExprKind::kOr || e->kind() == ExprKind::kNot) {
      double most = 0;
      for (const Expr& operand : e->operands()) most = std::max(most, ShareOf(operand));
      return most;
    }
    std::vector<bool> moved(loops_.size(), false);
    bool loads = false;
    FindMovers(e, &moved, &loads);
    if (loads) return 1;
    bool lanes = false, steps = false;
    double share = 1;
    for (size_t l = 0; l < loops_.size(); ++l) {
      const tir::Bind bind = loops_[l].bind;
      lanes |= moved[l] && bind == tir::Bind::kVector;
      steps |= moved[l] && bind != tir::Bind::kVector && bind != tir::Bind::kUnroll;
      if (!moved[l] && bind == tir::Bind::kUnroll) share /= static_cast<double>(loops_[l].extent);
    }
    return lanes && steps ? share : 0;
  }

  void FindMovers(const Expr& e, std::vector<bool>* moved, bool* loads) const {
    if (e->kind() == ExprKind::kLoad) *loads = true;
    if (e->kind() == ExprKind::kVar) {
      auto id = static_cast<size_t>(e->var_id());
      if (id < let_of_.size() && let_of_[id]) return FindMovers(*let_of_[id], moved, loads);
      const int loop = id < var_loop_.size() ? var_loop_[id] : -1;
      if (loop >= 0) (*moved)[loop] = true;
    }
    for (const Expr& operand : e->operands()) FindMovers(operand, moved, loads);
  }

  static Operations Difference(const Operations& a, const Operations& b) {
    return {a.fused - b.fused,     a.add - b.add,   a.multiply - b.multiply, a.divide - b.divide,
            a.compare - b.compare, a.cast - b.cast, a.call - b.call,         a.integer - b.integer};
  }

  // Of two sides of which unrolling leaves one, the dearer.
  void CountDearer(const Expr& a, const Expr& b, StoreView* view) {
    const Operations before = view->operations;
    Count(a, view);
    const Operations with_a = view->operations;
    view->operations = before;
    Count(b, view);
    if (view->operations.Sum() < with_a.Sum()) view->operations = with_a;
  }

  // What the generator computes once, however many terms share it, counts once.
  void Count(const Expr& e, StoreView* view) {
    if (!e->operands().empty() && !seen_.insert(e.get()).second) return;
    if (e->type().dtype != DType::kBool || in_condition_) return CountNode(e, view);
    const double rest = 1 - ShareOf(e);
    const bool joins = e->kind() == ExprKind::kAnd || e->kind() == ExprKind::kOr;
    const Operations before = view->operations;
    in_condition_ = !joins;
    if (joins) {
      view->operations.integer += 1;
      view->settled.integer += rest;
      for (const Expr& operand : e->operands()) Count(operand, view);
      return;
    }
    CountNode(e, view);
    in_condition_ = false;
    const Operations more = Difference(view->operations, before);
    view->settled.compare += rest * more.compare;
    view->settled.integer += rest * more.integer;
    view->settled.divide += rest * more.divide;
  }

  void CountNode(const Expr& e, StoreView* view) {
    Operations& ops = view->operations;
    bool real = IsFloat(e->type().dtype);
    switch (e->kind()) {
      case ExprKind::kAdd:
      case ExprKind::kSub:
        if (!real) {
          ops.integer += 1;
        } else if (e->operand(0)->kind() == ExprKind::kMul ||
                   e->operand(1)->kind() == ExprKind::kMul) {
          ops.fused += 1;
          ops.multiply -= 1;
        } else {
          ops.add += 1;
        }
        break;
      case ExprKind::kMul:
        (real ? ops.multiply : ops.integer) += 1;
        break;
      case ExprKind::kDiv:
      case ExprKind::kMod:
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        ops.divide += 1;
        break;
      case ExprKind::kMin:
      case ExprKind::kMax:
      case ExprKind::kEq:
      case ExprKind::kNe:
      case ExprKind::kLt:
      case ExprKind::kLe:
        ops.compare += 1;
        break;
      case ExprKind::kSelect:
        if (DecidedByUnrolling(e->operand(0))) {
          CountDearer(e->operand(1), e->operand(2), view);
          return;
        }
        ops.compare += 1;
        if (e->operand(1)->kind() == ExprKind::kLoad && e->operand(2)->operands().empty()) {
          view->settled.compare += 1;
        }
        break;
      case ExprKind::kCast:
        ops.cast += 1;
        break;
      case ExprKind::kCall:
        ops.call += 1;
        break;
      case ExprKind::kLoad:
        AddLoad(*e, view);
        return;  // indices cost little next to the access
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kXor:
      case ExprKind::kShl:
      case ExprKind::kShr:
      case ExprKind::kNot:
        ops.integer += 1;
        break;
      default:
        break;
    }
    for (const Expr& operand : e->operands()) Count(operand, view);
  }

  void AddLoad(const tir::ExprNode& e, StoreView* view) {
    // What several terms share is one access.
    constexpr size_t kMost = 64;
    if (std::find(counted_.begin(), counted_.end(), &e) != counted_.end()) return;
    if (counted_.size() < kMost) counted_.push_back(&e);
    AccessView access = MakeAccess(e.buffer(), e.indices(), true);
    access.predicated = e.has_predicate();
    AccessView& own = view->accesses[0];
    if (access.buffer == own.buffer && access.step == own.step) {
      own.read = true;
      view->reduces = true;
      return;
    }
    for (AccessView& known : view->accesses) {
      if (known.buffer == access.buffer && known.step == access.step) {
        known.read = true;
        return;
      }
    }
    view->accesses.push_back(access);
  }

  AccessView MakeAccess(int buffer, std::span<const Expr> indices, bool read) {
    const tir::Buffer& b = function_.buffers[buffer];
    AccessView access;
    access.buffer = buffer;
    access.read = read;
    access.write = !read;
    access.element_bytes = ByteSize(b.dtype);
    access.constant = constant_[buffer];
    access.warm = access.constant && place_ == Constants::kWarm;
    access.buffer_bytes = static_cast<double>(b.ElementCount()) * access.element_bytes;
    access.scope = b.scope;
    access.dims = std::min<int>(static_cast<int>(indices.size()), kMaxDims);
    for (int d = 0; d < access.dims; ++d) {
      Linear value = Of(indices[d]);
      access.step[d] = value.step;
      access.shape[d] = static_cast<double>(b.Extent(d));
      access.start += value.constant * static_cast<double>(strides_[buffer][d]);
      for (size_t l = 0; l < loops_.size(); ++l) {
        access.stride[l] += value.step[l] * static_cast<double>(strides_[buffer][d]);
      }
    }
    return access;
  }

  // How far ahead the nearest prefetch of its buffer is.
  void Lead(AccessView* a) const {
    for (const AccessView& p : prefetches_) {
      const double ahead = (p.start - a->start) * a->element_bytes;
      if (p.buffer != a->buffer || ahead <= 0) continue;
      a->ahead_bytes = a->ahead_bytes > 0 ? std::min(a->ahead_bytes, ahead) : ahead;
    }
  }

  // Lines and elements touched, from the innermost loop outwards.
  void Measure(AccessView* a) const {
    int n = static_cast<int>(loops_.size());
    std::array<double, kMaxDims> span{};    // last minus first index
    std::array<double, kMaxDims> points{};  // at most so many different ones
    points.fill(1);
    for (int level = n; level >= 0; --level) {
      if (level < n) {
        double extent = static_cast<double>(loops_[level].extent);
        for (int d = 0; d < a->dims; ++d) {
          if (a->step[d][level] == 0) continue;
          span[d] += std::abs(a->step[d][level]) * (extent - 1);
          points[d] *= extent;
        }
      }
      double elements = 1, lines = 1, run = 1;
      bool dense = true;  // every dimension so far was covered, so that the next one extends it
      for (int d = a->dims - 1; d >= 0; --d) {
        double range = std::min(std::floor(span[d]) + 1, a->shape[d]);
        double distinct = std::max(1.0, std::min(range, points[d]));
        elements *= distinct;
        if (dense) {
          run *= range;
          dense = range >= a->shape[d] && distinct >= range;
          if (!dense && distinct * 2 <= range) {
            // Scattered along this dimension: a line for each, or fewer where they are close.
            lines = std::min(distinct, run * a->element_bytes / target_.line_bytes + 1);
            run = 0;
          }
        } else {
          lines *= distinct;
        }
      }
      if (run > 0) {
        lines *= std::ceil(run * a->element_bytes / target_.line_bytes);
      }
      a->footprint[level] = {elements, lines};
    }
  }

  Linear Of(const Expr& e) {
    Linear r;
    switch (e->kind()) {
      case ExprKind::kIntImm:
        r.constant = static_cast<double>(e->int_value());
        return r;
      case ExprKind::kVar: {
        auto id = static_cast<size_t>(e->var_id());
        if (id < let_of_.size() && let_of_[id]) return Of(*let_of_[id]);
        if (id < var_loop_.size() && var_loop_[id] >= 0) r.step[var_loop_[id]] = 1;
        r.is_constant = false;
        return r;
      }
      case ExprKind::kAdd:
      case ExprKind::kSub: {
        r = Of(e->operand(0));
        Linear b = Of(e->operand(1));
        float sign = e->kind() == ExprKind::kAdd ? 1.0F : -1.0F;
        for (int l = 0; l < kMaxLoops; ++l) r.step[l] += sign * b.step[l];
        r.constant += sign * b.constant;
        r.is_constant &= b.is_constant;
        return r;
      }
      case ExprKind::kMul: {
        Linear a = Of(e->operand(0)), b = Of(e->operand(1));
        if (a.is_constant) std::swap(a, b);
        if (!b.is_constant) return a;
        for (float& step : a.step) step *= static_cast<float>(b.constant);
        a.constant *= b.constant;
        return a;
      }
      case ExprKind::kFloorDiv: {
        Linear a = Of(e->operand(0)), b = Of(e->operand(1));
        if (!b.is_constant || b.constant <= 0) return a;
        for (float& step : a.step) step /= static_cast<float>(b.constant);
        a.constant = std::floor(a.constant / b.constant);
        return a;
      }
      case ExprKind::kFloorMod: {
        Linear a = Of(e->operand(0)), b = Of(e->operand(1));
        if (!b.is_constant || b.constant <= 0) return a;
        for (float& step : a.step) step = std::fmod(step, static_cast<float>(b.constant));
        return a;
      }
      case ExprKind::kMin:
      case ExprKind::kMax: {
        Linear a = Of(e->operand(0));
        return a.is_constant ? Of(e->operand(1)) : a;
      }
      case ExprKind::kSelect:
        return Of(e->operand(1));
      case ExprKind::kCast:
        return Of(e->operand(0));
      default:
        r.is_constant = false;
        return r;
    }
  }

  const tir::Function& function_;
  const Target& target_;
  const Constants place_;
  std::vector<int> var_loop_;        // variable -> depth of its loop, -1
  std::vector<const Expr*> let_of_;  // variable -> its value
  std::vector<std::vector<int64_t>> strides_;
  std::vector<bool> constant_;  // by buffer
  std::vector<LoopView> loops_;
  std::vector<const tir::ExprNode*> counted_;      // loads of the store at hand
  bool in_condition_ = false;                      // inside a comparison
  std::unordered_set<const tir::ExprNode*> seen_;  // operations of it
  std::vector<const Expr*> guards_;
  std::vector<AccessView> prefetches_;  // that stand around the statement at hand
  std::vector<StoreView> stores_;
};

}  // namespace

std::vector<StoreView> ViewStores(const tir::Function& function, const Target& target,
                                  std::span<const int> constants, Constants place) {
  return Walker(function, target, constants, place).Run();
}

}  // namespace temper::costmodel
