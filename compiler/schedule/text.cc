#include "compiler/schedule/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace temper::schedule {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;
constexpr std::array<std::string_view, 4> kPlaces = {"root", "inline", "constant", "at"};
constexpr std::array<std::string_view, 4> kScopes = {"param", "workspace", "stack", "register"};
constexpr std::array<std::string_view, 3> kEdges = {"divides", "clip", "mask"};
constexpr std::string_view kBinds = " pvu";  // by Bind; serial has no letter

class Writer {
 public:
  std::string Run(const Schedule& s) {
    fmt::format_to(Out(), "temper-schedule 1 workload={} alternative={} threads={};",
                   s.workload.Hex(), s.alternative, s.threads);
    for (const Step& step : s.steps) Put(step);
    for (size_t i = 0; i < s.stages.size(); ++i) Put(i, s.stages[i]);
    return std::move(out_);
  }

 private:
  std::back_insert_iterator<std::string> Out() { return std::back_inserter(out_); }

  void Put(const Step& s) {
    if (s.kind == StepKind::kPack) {
      fmt::format_to(Out(), " pack t{}", s.target);
      for (const PackDim& d : s.dims) {
        fmt::format_to(Out(), " (a{} e{}", d.axis, d.extent);
        if (d.step != 1) fmt::format_to(Out(), " s{}", d.step);
        out_ += ')';
      }
    } else if (s.kind == StepKind::kWriteCache) {
      fmt::format_to(Out(), " write-cache s{}", s.target);
    } else {
      fmt::format_to(Out(), " split-reduction s{} a{} into {}", s.target, s.axis, s.parts);
    }
    out_ += ';';
  }

  template <typename T>
  void PutList(const std::vector<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ',';
      fmt::format_to(Out(), "{}", list[i]);
    }
  }

  void Put(size_t number, const StageSchedule& s) {
    fmt::format_to(Out(), " stage {} {}", number, kPlaces[static_cast<size_t>(s.place.kind)]);
    if (s.place.kind == PlaceKind::kAt) {
      fmt::format_to(Out(), " {}.{}", s.place.stage, s.place.loop);
    }
    fmt::format_to(Out(), " {}", kScopes[static_cast<size_t>(s.scope)]);
    if (!s.groups.empty()) out_ += " groups";
    for (const Group& g : s.groups) {
      out_ += " [";
      PutList(g.axes);
      if (!g.factors.empty()) out_ += '/';
      PutList(g.factors);
      if (g.edge != Edge::kDivides) {
        out_ += ' ';
        out_ += kEdges[static_cast<size_t>(g.edge)];
      }
      out_ += ']';
    }
    if (!s.order.empty()) out_ += " order";
    for (const LoopRef& l : s.order) {
      fmt::format_to(Out(), " {}.{}", l.group, l.level);
      if (l.bind != Bind::kSerial) out_ += kBinds[static_cast<size_t>(l.bind)];
    }
    for (const Prefetch& p : s.prefetches) {
      fmt::format_to(Out(), " prefetch t{} loop {} ahead {}", p.tensor, p.loop, p.distance);
    }
    out_ += ';';
  }

  std::string out_;
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Result<Schedule> Run() {
    if (text_.size() > kMaxText) {
      return InvalidArgument(
          fmt::format("a schedule text of {} bytes; at most {}", text_.size(), kMaxText));
    }
    Status status = ParseAll();
    if (!status.ok()) {
      return status.WithContext(fmt::format("schedule text, character {}", at_));
    }
    TEMPER_RETURN_IF_ERROR(CheckBounds(s_));
    return std::move(s_);
  }

 private:
  static Status Bad(std::string message) { return InvalidArgument(std::move(message)); }

  void Space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  // Eats `token` behind white space.
  bool Eat(std::string_view token) {
    const size_t before = at_;
    Space();
    if (std::string_view(text_).substr(at_, token.size()) == token) {
      at_ += token.size();
      return true;
    }
    at_ = before;
    return false;
  }
  // The same for a word, which ends where no letter or digit follows.
  bool EatWord(std::string_view word) {
    const size_t before = at_;
    if (Eat(word) && (at_ == text_.size() || !IsWord(text_[at_]))) return true;
    at_ = before;
    return false;
  }
  static bool IsWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  }
  Status Expect(std::string_view token) {
    return Eat(token) ? OkStatus() : Bad(fmt::format("'{}' belongs here", token));
  }
  // A decimal number right here.
  template <typename T>
  Status Number(T* value) {
    const char* begin = text_.data() + at_;
    if (at_ >= text_.size() || *begin < '0' || *begin > '9') return Bad("a number belongs here");
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), *value);
    if (error != std::errc()) return Bad("a number that is too large");
    at_ += static_cast<size_t>(end - begin);
    return OkStatus();
  }
  template <typename T>
  Status NumberBehind(std::string_view token, T* value) {
    TEMPER_RETURN_IF_ERROR(Expect(token));
    return Number(value);
  }
  template <typename T>
  Status NumberList(std::vector<T>* list, size_t most) {
    do {
      if (list->size() >= most) return Bad("too many numbers in a list");
      Space();
      TEMPER_RETURN_IF_ERROR(Number(&list->emplace_back()));
    } while (Eat(","));
    return OkStatus();
  }
  template <typename E, size_t N>
  Status Choice(const char* what, const std::array<std::string_view, N>& names, E* value) {
    for (size_t i = 0; i < N; ++i) {
      if (!EatWord(names[i])) continue;
      *value = static_cast<E>(i);
      return OkStatus();
    }
    std::string all;
    for (std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
    return Bad(fmt::format("{} belongs here: {}", what, all));
  }

  Status ParseAll() {
    if (!EatWord("temper-schedule") || !EatWord("1")) {
      return Bad("it does not begin with 'temper-schedule 1'");
    }
    TEMPER_RETURN_IF_ERROR(Expect("workload="));
    TEMPER_ASSIGN_OR_RETURN(s_.workload, Hash::FromHex(std::string_view(text_).substr(at_, 64)));
    at_ += 64;
    TEMPER_RETURN_IF_ERROR(NumberBehind("alternative=", &s_.alternative));
    TEMPER_RETURN_IF_ERROR(NumberBehind("threads=", &s_.threads));
    TEMPER_RETURN_IF_ERROR(Expect(";"));
    for (;;) {
      if (EatWord("pack")) {
        TEMPER_RETURN_IF_ERROR(ParsePack());
      } else if (EatWord("write-cache")) {
        TEMPER_RETURN_IF_ERROR(AddStep(StepKind::kWriteCache));
        TEMPER_RETURN_IF_ERROR(NumberBehind("s", &s_.steps.back().target));
      } else if (EatWord("split-reduction")) {
        TEMPER_RETURN_IF_ERROR(ParseSplitReduction());
      } else if (EatWord("stage")) {
        TEMPER_RETURN_IF_ERROR(ParseStage());
      } else {
        break;
      }
      TEMPER_RETURN_IF_ERROR(Expect(";"));
    }
    Space();
    return at_ == text_.size() ? OkStatus()
                               : Bad("pack, write-cache, split-reduction or stage belongs here");
  }

  Status AddStep(StepKind kind) {
    if (!s_.stages.empty()) return Bad("a step behind the first stage");
    if (s_.steps.size() >= kMaxSteps) return Bad(fmt::format("more than {} steps", kMaxSteps));
    s_.steps.emplace_back().kind = kind;
    return OkStatus();
  }

  Status ParseSplitReduction() {
    TEMPER_RETURN_IF_ERROR(AddStep(StepKind::kSplitReduction));
    Step& step = s_.steps.back();
    TEMPER_RETURN_IF_ERROR(NumberBehind("s", &step.target));
    TEMPER_RETURN_IF_ERROR(NumberBehind("a", &step.axis));
    if (!EatWord("into")) return Bad("'into' belongs here");
    Space();
    return Number(&step.parts);
  }

  Status ParsePack() {
    TEMPER_RETURN_IF_ERROR(AddStep(StepKind::kPack));
    Step& step = s_.steps.back();
    TEMPER_RETURN_IF_ERROR(NumberBehind("t", &step.target));
    while (Eat("(")) {
      if (step.dims.size() >= kMaxPackDims) return Bad("too many dimensions in a pack");
      PackDim& d = step.dims.emplace_back();
      TEMPER_RETURN_IF_ERROR(NumberBehind("a", &d.axis));
      TEMPER_RETURN_IF_ERROR(NumberBehind("e", &d.extent));
      if (Eat("s")) TEMPER_RETURN_IF_ERROR(Number(&d.step));
      TEMPER_RETURN_IF_ERROR(Expect(")"));
    }
    return OkStatus();
  }

  Status ParseStage() {
    if (s_.stages.size() >= kMaxStageSchedules) {
      return Bad(fmt::format("more than {} stages", kMaxStageSchedules));
    }
    size_t number = 0;
    Space();
    TEMPER_RETURN_IF_ERROR(Number(&number));
    if (number != s_.stages.size()) {
      return Bad(fmt::format("stage {} belongs here, not {}", s_.stages.size(), number));
    }
    StageSchedule& s = s_.stages.emplace_back();
    TEMPER_RETURN_IF_ERROR(Choice("a place", kPlaces, &s.place.kind));
    if (s.place.kind == PlaceKind::kAt) {
      Space();
      TEMPER_RETURN_IF_ERROR(Number(&s.place.stage));
      TEMPER_RETURN_IF_ERROR(NumberBehind(".", &s.place.loop));
    }
    TEMPER_RETURN_IF_ERROR(Choice("a scope", kScopes, &s.scope));
    if (EatWord("groups")) {
      while (Eat("[")) TEMPER_RETURN_IF_ERROR(ParseGroup(&s));
    }
    if (EatWord("order")) TEMPER_RETURN_IF_ERROR(ParseOrder(&s));
    while (EatWord("prefetch")) {
      if (s.prefetches.size() >= kMaxPrefetches) return Bad("too many prefetches");
      Prefetch& p = s.prefetches.emplace_back();
      TEMPER_RETURN_IF_ERROR(NumberBehind("t", &p.tensor));
      if (!EatWord("loop")) return Bad("'loop' belongs here");
      Space();
      TEMPER_RETURN_IF_ERROR(Number(&p.loop));
      if (!EatWord("ahead")) return Bad("'ahead' belongs here");
      Space();
      TEMPER_RETURN_IF_ERROR(Number(&p.distance));
    }
    return OkStatus();
  }

  Status ParseGroup(StageSchedule* s) {
    if (s->groups.size() >= kMaxGroups) return Bad("too many groups");
    Group& g = s->groups.emplace_back();
    Space();
    const bool has_axes = at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
    if (has_axes) TEMPER_RETURN_IF_ERROR(NumberList(&g.axes, kMaxGroupAxes));
    if (Eat("/")) TEMPER_RETURN_IF_ERROR(NumberList(&g.factors, kMaxFactors));
    if (!Eat("]")) {
      TEMPER_RETURN_IF_ERROR(Choice("an edge policy", kEdges, &g.edge));
      return Expect("]");
    }
    return OkStatus();
  }

  Status ParseOrder(StageSchedule* s) {
    for (;;) {
      Space();
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return OkStatus();
      if (s->order.size() >= kMaxOrder) return Bad("too many loops");
      LoopRef& l = s->order.emplace_back();
      TEMPER_RETURN_IF_ERROR(Number(&l.group));
      if (at_ >= text_.size() || text_[at_] != '.') return Bad("'.' belongs here");
      ++at_;
      TEMPER_RETURN_IF_ERROR(Number(&l.level));
      if (at_ < text_.size() && IsWord(text_[at_])) {
        const size_t bind = kBinds.find(text_[at_], 1);
        if (bind == std::string_view::npos) return Bad("a loop is bound by p, v, u or nothing");
        l.bind = static_cast<Bind>(bind);
        ++at_;
      }
    }
  }

  const std::string& text_;
  size_t at_ = 0;
  Schedule s_;
};

}  // namespace

std::string ToText(const Schedule& schedule) { return Writer().Run(schedule); }

Result<Schedule> ParseText(const std::string& text) { return Parser(text).Run(); }

}  // namespace temper::schedule
