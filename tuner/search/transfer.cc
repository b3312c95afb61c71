#include "tuner/search/transfer.h"

#include <cctype>
#include <cmath>

namespace temper::tuner {
namespace {

// How far a value is from another: factors by their ratio, codes (which may be 0) by being other.
double Distance(int64_t a, int64_t b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return 1e6 + std::abs(static_cast<double>(a - b));
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

int Nearest(const Knob& knob, int64_t value) {
  int nearest = 0;
  for (int i = 1; i < static_cast<int>(knob.values.size()); ++i) {
    if (Distance(knob.values[i], value) < Distance(knob.values[nearest], value)) nearest = i;
  }
  return nearest;
}

}  // namespace

std::string FamilyOf(std::string_view canonical_text) {
  std::string family;
  for (char c : canonical_text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      family += c;
    } else if (family.empty() || family.back() != '#') {
      family += '#';
    }
  }
  return family;
}

std::optional<Decision> Translate(const Space& from, const Decision& decision, const Space& to) {
  Decision translated(to.knobs().size(), 0);
  bool any = false;
  for (size_t k = 0; k < to.knobs().size(); ++k) {
    const Knob& knob = to.knobs()[k];
    for (size_t i = 0; i < from.knobs().size(); ++i) {
      const Knob& other = from.knobs()[i];
      if (other.nest != knob.nest || other.name != knob.name) continue;
      translated[k] = Nearest(knob, other.values[decision[i]]);
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return translated;
}

}  // namespace temper::tuner
