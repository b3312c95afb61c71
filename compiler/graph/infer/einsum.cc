#include "compiler/graph/infer/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

constexpr size_t kMaxEquation = 1024;

// Labels are letters; the dimensions of "..." are numbered from the back.
struct Term {
  std::string labels;  // without the ellipsis
  int ellipsis = -1;   // how many labels come before it
};

Result<Term> ParseTerm(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      term.labels += text[i];
    } else if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
      term.ellipsis = static_cast<int>(term.labels.size());
      i += 2;
    } else {
      return InvalidArgument(fmt::format("its equation has '{}'", text[i]));
    }
  }
  return term;
}

}  // namespace

Result<EinsumPlan> ParseEinsum(const std::string& equation, const std::vector<Shape>& shapes) {
  if (equation.size() > kMaxEquation) return InvalidArgument("its equation is too long");
  std::string text;
  for (char ch : equation) {
    if (ch != ' ') text += ch;
  }
  const size_t arrow = text.find("->");
  std::vector<Term> terms;
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    TEMPER_ASSIGN_OR_RETURN(Term term,
                            ParseTerm(std::string_view(left).substr(begin, end - begin)));
    terms.push_back(std::move(term));
    begin = end + 1;
  }
  if (terms.size() != shapes.size()) {
    return InvalidArgument(
        fmt::format("its equation is for {} operands, not {}", terms.size(), shapes.size()));
  }
  EinsumPlan plan;
  std::map<int, int> number;  // of a letter, or of -1 - (dimension of the ellipsis from the back)
  const auto label = [&](int key) {
    const auto [at, added] = number.emplace(key, static_cast<int>(plan.extent.size()));
    if (added) plan.extent.push_back(1);
    return at->second;
  };
  int ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Term& term = terms[i];
    const auto rank = static_cast<int>(shapes[i].size());
    const int more = rank - static_cast<int>(term.labels.size());
    if (more < 0 || (more > 0 && term.ellipsis < 0)) {
      return InvalidArgument(
          fmt::format("operand {} has {} dimensions for '{}'", i, rank, term.labels));
    }
    if (term.ellipsis >= 0) ellipsis = std::max(ellipsis, more);
    std::vector<int> labels;
    for (int d = 0; d < rank; ++d) {
      const bool in_ellipsis = term.ellipsis >= 0 && d >= term.ellipsis && d < term.ellipsis + more;
      const int key = in_ellipsis
                          ? -1 - (term.ellipsis + more - 1 - d)
                          : term.labels[d < term.ellipsis || term.ellipsis < 0 ? d : d - more];
      const int l = label(key);
      labels.push_back(l);
      int64_t& extent = plan.extent[l];
      const int64_t dim = shapes[i][d];
      if (dim != extent && extent != 1 && dim != 1) {
        return InvalidArgument(
            fmt::format("a dimension of operand {} is {} where another is {}", i, dim, extent));
      }
      if (extent == 1) extent = dim;
    }
    plan.operands.push_back(std::move(labels));
  }
  Term out;
  if (arrow != std::string::npos) {
    TEMPER_ASSIGN_OR_RETURN(out, ParseTerm(std::string_view(text).substr(arrow + 2)));
  } else {
    // Letters that occur once, in the order of the alphabet, behind the ellipsis.
    out.ellipsis = 0;
    std::map<char, int> count;
    for (const Term& term : terms) {
      for (char ch : term.labels) ++count[ch];
    }
    for (const auto& [ch, times] : count) {
      if (times == 1) out.labels += ch;
    }
  }
  for (size_t i = 0; i <= out.labels.size(); ++i) {
    if (out.ellipsis == static_cast<int>(i)) {
      for (int d = ellipsis; d-- > 0;) plan.output.push_back(label(-1 - d));
    }
    if (i == out.labels.size()) break;
    if (number.count(out.labels[i]) == 0) {
      return InvalidArgument(
          fmt::format("its result has '{}', which no operand has", out.labels[i]));
    }
    const int l = label(out.labels[i]);
    if (std::count(plan.output.begin(), plan.output.end(), l) != 0) {
      return InvalidArgument(fmt::format("its result has '{}' twice", out.labels[i]));
    }
    plan.output.push_back(l);
  }
  return plan;
}

Status InferEinsum(InferContext& c) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (!c.Has(i)) return c.Error("an operand is missing");
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    shapes.push_back(c.shape(i));
  }
  auto plan = ParseEinsum(c.node().String("equation", ""), shapes);
  if (!plan.ok()) return c.Error(std::string(plan.status().message()));
  Shape out;
  for (int label : plan->output) out.push_back(plan->extent[label]);
  return c.Set(0, c.dtype(0), std::move(out));
}

}  // namespace temper::graph
