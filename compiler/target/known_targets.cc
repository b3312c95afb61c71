#include "compiler/target/known_targets.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "compiler/target/target.h"

namespace temper {
namespace {

constexpr std::string_view kV2 = "cx16,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3";
constexpr std::string_view kV3 = "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe";
constexpr std::string_view kV4 = "avx512bw,avx512cd,avx512dq,avx512f,avx512vl";
constexpr std::string_view kIcelake =
    "avx512bitalg,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512vpopcntdq,gfni";
constexpr std::string_view kSapphire = "amx-bf16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni";
constexpr std::string_view kZnver4 = "avx512bf16";
constexpr std::string_view kZnver5 = "avxvnni";

struct Known {
  std::string_view name;
  std::array<std::string_view, 6> features;  // comma-separated lists
  int l1_kib, l2_kib, l3_kib;
};

// Caches of a common member of the family; a detected target has its own.
constexpr Known kKnown[] = {
    {"x86-64", {}, 32, 256, 8192},
    {"x86-64-v2", {kV2}, 32, 256, 8192},
    {"x86-64-v3", {kV2, kV3}, 32, 512, 8192},
    {"x86-64-v4", {kV2, kV3, kV4}, 32, 1024, 16384},
    {"haswell", {kV2, kV3}, 32, 256, 8192},
    {"skylake-avx512", {kV2, kV3, kV4}, 32, 1024, 16384},
    {"icelake-server", {kV2, kV3, kV4, kIcelake}, 48, 1280, 24576},
    {"sapphirerapids", {kV2, kV3, kV4, kIcelake, kSapphire}, 48, 2048, 32768},
    {"znver2", {kV2, kV3}, 32, 512, 16384},
    {"znver3", {kV2, kV3}, 32, 512, 32768},
    {"znver4", {kV2, kV3, kV4, kIcelake, kZnver4}, 32, 1024, 32768},
    {"znver5", {kV2, kV3, kV4, kIcelake, kZnver4, kZnver5}, 48, 1024, 32768},
};

std::vector<std::string> FeaturesOf(const Known& known) {
  std::vector<std::string> features;
  for (std::string_view list : known.features) {
    if (list.empty()) continue;
    for (std::string_view f : SplitString(list, ',')) features.emplace_back(f);
  }
  std::sort(features.begin(), features.end());
  return features;
}

bool HasAll(const std::vector<std::string>& have, const std::vector<std::string>& want) {
  return std::includes(have.begin(), have.end(), want.begin(), want.end());
}

}  // namespace

const std::vector<std::string>& X86Features() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> v;
    for (std::string_view list : {kV2, kV3, kV4, kIcelake, kSapphire,
                                  std::string_view("avxifma,avxneconvert,avxvnniint8")}) {
      for (std::string_view f : SplitString(list, ',')) v.emplace_back(f);
    }
    std::sort(v.begin(), v.end());
    return v;
  }();
  return all;
}

void SetVectorShape(Target* target) {
  bool wide = true;
  for (const char* f : {"avx512bw", "avx512dq", "avx512f", "avx512vl"}) {
    wide = wide && target->Has(f);
  }
  target->vector_bits = wide ? 512 : target->Has("avx") ? 256 : 128;
  target->vector_registers = wide ? 32 : 16;
  target->masked_vectors = wide;
}

std::string CpuForFeatures(const std::vector<std::string>& features, std::string_view vendor) {
  bool amd = vendor == "AuthenticAMD" || vendor == "HygonGenuine";
  constexpr std::string_view kAmd[] = {"znver5", "znver4", "znver3"};
  constexpr std::string_view kOther[] = {"sapphirerapids", "icelake-server", "skylake-avx512",
                                         "haswell"};
  constexpr std::string_view kAny[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
  auto pick = [&](auto& names) -> std::string {
    for (std::string_view name : names) {
      for (const Known& k : kKnown) {
        if (k.name == name && HasAll(features, FeaturesOf(k))) return std::string(name);
      }
    }
    return "";
  };
  std::string cpu = amd ? pick(kAmd) : pick(kOther);
  if (cpu.empty()) cpu = pick(kAny);
  return cpu.empty() ? "x86-64" : cpu;
}

std::vector<std::string> KnownTargets() {
  std::vector<std::string> names;
  for (const Known& k : kKnown) names.emplace_back(k.name);
  return names;
}

Result<Target> ParseTarget(const std::string& name) {
  if (name == "native") return DetectTarget();
  if (name.find(' ') != std::string::npos) return ParseTargetText(name);
  for (const Known& k : kKnown) {
    if (k.name != name) continue;
    Target t;
    t.name = t.cpu = name;
    t.features = FeaturesOf(k);
    t.l1_bytes = int64_t{k.l1_kib} << 10;
    t.l2_bytes = int64_t{k.l2_kib} << 10;
    t.l3_bytes = int64_t{k.l3_kib} << 10;
    SetVectorShape(&t);
    return t;
  }
  return InvalidArgument("unknown target " + Quoted(name) + "; known are native, " +
                         JoinStrings(KnownTargets(), ", "));
}

}  // namespace temper
