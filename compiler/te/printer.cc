#include "compiler/te/printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "compiler/tir/printer.h"

namespace temper::te {
namespace {

std::string AxesText(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& a : axes) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} < {}", tir::ToText(a.var), a.extent);
  }
  return out;
}

std::string HaloText(const Tensor& t) {
  if (t.halo_before.empty()) return "";
  return fmt::format(" halo [{}]..[{}]", fmt::join(t.halo_before, ", "),
                     fmt::join(t.halo_after, ", "));
}

}  // namespace

std::string ToText(const Program& program) {
  static constexpr std::array<const char*, 5> kCombiners = {"", "sum", "max", "min", "prod"};
  // The printer of expressions takes the names of what is loaded from a function's buffers.
  tir::Function names;
  for (const Tensor& t : program.tensors) {
    tir::Buffer b;
    b.name = t.name;
    names.buffers.push_back(b);
  }
  std::vector<tir::Expr> none;
  auto name_of = [&](int tensor) {
    std::string text = tir::ToText(tir::Load(tensor, DType::kFloat32, none), &names);
    return text.substr(0, text.size() - 2);
  };
  std::string out = fmt::format("program {}\n", program.name);
  for (int id : program.inputs) {
    const Tensor& t = program.tensors[id];
    out += fmt::format("  {} {}: {}[{}]{}\n", t.constant ? "constant" : "input", name_of(id),
                       Name(t.dtype), fmt::join(t.shape, ", "), HaloText(t));
  }
  for (const Stage& s : program.stages) {
    const bool output = std::find(program.outputs.begin(), program.outputs.end(), s.tensor) !=
                        program.outputs.end();
    out += fmt::format("  {}{}[{}]{} = ", output ? "output " : "", name_of(s.tensor),
                       AxesText(s.spatial), HaloText(program.tensors[s.tensor]));
    if (s.combiner != Combiner::kNone) {
      out +=
          fmt::format("{}({}) ", kCombiners[static_cast<size_t>(s.combiner)], AxesText(s.reduce));
    }
    out += tir::ToText(s.body, &names) + "\n";
  }
  return out;
}

}  // namespace temper::te
