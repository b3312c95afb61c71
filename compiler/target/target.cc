#include "compiler/target/target.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "compiler/target/known_targets.h"

namespace temper {
namespace {

constexpr std::string_view kArchName = "x86_64";

// What the fingerprint covers, in the order of the text form.
std::string Covered(const Target& t) {
  std::string s(kArchName);
  s += " cpu=" + t.cpu;
  s += " features=" + JoinStrings(t.features, ",");
  s += " vector_bits=" + std::to_string(t.vector_bits);
  s += " l1=" + std::to_string(t.l1_bytes);
  s += " l2=" + std::to_string(t.l2_bytes);
  s += " l3=" + std::to_string(t.l3_bytes);
  s += " line=" + std::to_string(t.line_bytes);
  return s;
}

// A name that the text form can hold: no space, no separator of ours.
bool IsWord(std::string_view s) {
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+';
  });
}

}  // namespace

bool Target::Has(const std::string& feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

std::string TargetText(const Target& t) {
  std::string text = Covered(t) + " name=" + t.name + " cores=" + std::to_string(t.cores);
  return t.rates.Known() ? text + " rates=" + RatesText(t.rates) : text;
}

Result<Target> ParseTargetText(const std::string& text) {
  auto bad = [&](const std::string& why) {
    return InvalidArgument("not a target: " + why + " in " + Quoted(text, 200));
  };
  auto words = SplitString(StripWhitespace(text), ' ');
  if (words.empty() || words[0] != kArchName) {
    return bad("the architecture is not " + std::string(kArchName));
  }
  std::map<std::string, std::string, std::less<>> fields;
  for (size_t i = 1; i < words.size(); ++i) {
    size_t eq = words[i].find('=');
    if (eq == std::string_view::npos) return bad("no '=' in " + Quoted(words[i]));
    auto [it, fresh] = fields.emplace(words[i].substr(0, eq), words[i].substr(eq + 1));
    if (!fresh) return bad(Quoted(it->first) + " given twice");
  }
  Target t;
  auto take = [&](std::string_view key, std::string* out) -> Status {
    auto it = fields.find(key);
    if (it == fields.end()) return bad(std::string(key) + " is missing");
    *out = it->second;
    fields.erase(it);
    return OkStatus();
  };
  auto number = [&](std::string_view key, int64_t limit, int64_t* out) -> Status {
    std::string s;
    TEMPER_RETURN_IF_ERROR(take(key, &s));
    auto n = ParseInt64(s);
    if (!n.ok() || *n <= 0 || *n > limit) return bad(std::string(key) + "=" + Quoted(s));
    *out = *n;
    return OkStatus();
  };
  std::string features;
  TEMPER_RETURN_IF_ERROR(take("cpu", &t.cpu));
  TEMPER_RETURN_IF_ERROR(take("name", &t.name));
  TEMPER_RETURN_IF_ERROR(take("features", &features));
  if (!IsWord(t.cpu) || !IsWord(t.name)) return bad("a name that is no word");
  if (!features.empty()) {
    const auto& all = X86Features();
    for (std::string_view f : SplitString(features, ',')) {
      if (!std::binary_search(all.begin(), all.end(), f)) {
        return bad("unknown feature " + Quoted(f));
      }
      t.features.emplace_back(f);
    }
    std::sort(t.features.begin(), t.features.end());
    t.features.erase(std::unique(t.features.begin(), t.features.end()), t.features.end());
  }
  SetVectorShape(&t);
  int64_t bits, line, cores;
  TEMPER_RETURN_IF_ERROR(number("vector_bits", 512, &bits));
  if (bits != 128 && bits != 256 && bits != 512) return bad("vector_bits");
  if (bits > t.vector_bits) return bad("vector_bits wider than the features allow");
  t.vector_bits = static_cast<int>(bits);
  constexpr int64_t kMaxCache = int64_t{1} << 40;
  TEMPER_RETURN_IF_ERROR(number("l1", kMaxCache, &t.l1_bytes));
  TEMPER_RETURN_IF_ERROR(number("l2", kMaxCache, &t.l2_bytes));
  TEMPER_RETURN_IF_ERROR(number("l3", kMaxCache, &t.l3_bytes));
  TEMPER_RETURN_IF_ERROR(number("line", 4096, &line));
  TEMPER_RETURN_IF_ERROR(number("cores", 1 << 20, &cores));
  t.line_bytes = static_cast<int>(line);
  t.cores = static_cast<int>(cores);
  if (fields.count("rates") != 0) {
    std::string rates;
    TEMPER_RETURN_IF_ERROR(take("rates", &rates));
    auto parsed = ParseRates(rates);
    if (!parsed.ok()) return bad(parsed.status().message());
    t.rates = *parsed;
  }
  if (!fields.empty()) return bad("unknown field " + Quoted(fields.begin()->first));
  return t;
}

std::string Fingerprint(const Target& target) {
  return Sha256("temper-target-1 " + Covered(target)).Hex().substr(0, 16);
}

std::string MicroArchitecture(const Target& target) {
  return std::string(kArchName) + "/" + target.cpu;
}

Rates RatesOf(const Target& target) {
  if (target.rates.Known()) return target.rates;
  constexpr double kGigahertz = 3.5;
  constexpr int kMultiplyAdds = 2;  // a cycle
  const int cores = std::max(1, target.cores);
  const int lanes = target.Lanes(4);
  // What lies behind the second-level cache is shared: it serves about so many cores at full speed.
  const int behind = std::min(cores, 4);
  auto rate = [](double core, int times) {
    return Rates::Rate{static_cast<int>(core), static_cast<int>(core * times)};
  };
  Rates rates;
  rates.cores = cores;
  rates.gflops = rate(kGigahertz * kMultiplyAdds * 2 * lanes, cores);
  const int vector_bytes = target.vector_bits / 8;
  rates.gbytes = {rate(kGigahertz * 2 * vector_bytes, cores), rate(kGigahertz * 48, cores),
                  rate(kGigahertz * 24, behind), rate(25, std::min(behind, 2))};
  rates.handoff_ns = 400;
  return rates;
}

Status CanRunOn(const Target& target, const Target& host) {
  if (target.arch != host.arch) return FailedPrecondition("another architecture");
  std::vector<std::string> missing;
  std::set_difference(target.features.begin(), target.features.end(), host.features.begin(),
                      host.features.end(), std::back_inserter(missing));
  if (missing.empty()) return OkStatus();
  return FailedPrecondition("code for " + target.name + " does not run on this " + host.name +
                            ": the processor or its operating system lacks " +
                            JoinStrings(missing, ", "));
}

}  // namespace temper
