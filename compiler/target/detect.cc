// Detection from CPUID. A vector feature counts only where the operating system saves its
// registers (XGETBV): a processor that has AVX-512 under a kernel that does not is an AVX2 target.
#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "compiler/target/known_targets.h"
#include "compiler/target/target.h"

namespace temper {
namespace {

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf Cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf r;
  uint32_t max = __get_cpuid_max(leaf & 0x80000000u, nullptr);
  if (max >= leaf) __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

uint64_t Xgetbv() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

std::vector<std::string> DetectFeatures() {
  Leaf l1 = Cpuid(1), l7 = Cpuid(7), l71 = Cpuid(7, 1), ext = Cpuid(0x80000001u);
  uint64_t xcr0 = (l1.ecx >> 27 & 1) ? Xgetbv() : 0;
  bool ymm = (xcr0 & 0x6) == 0x6;
  bool zmm = ymm && (xcr0 & 0xe0) == 0xe0;
  bool amx = zmm && (xcr0 & 0x60000) == 0x60000;
  std::vector<std::string> out;
  auto add = [&out](const char* name, uint32_t reg, int bit, bool os = true) {
    if (os && (reg >> bit & 1)) out.emplace_back(name);
  };
  add("sse3", l1.ecx, 0);
  add("ssse3", l1.ecx, 9);
  add("cx16", l1.ecx, 13);
  add("sse4.1", l1.ecx, 19);
  add("sse4.2", l1.ecx, 20);
  add("movbe", l1.ecx, 22);
  add("popcnt", l1.ecx, 23);
  add("fma", l1.ecx, 12, ymm);
  add("avx", l1.ecx, 28, ymm);
  add("f16c", l1.ecx, 29, ymm);
  add("sahf", ext.ecx, 0);
  add("lzcnt", ext.ecx, 5);
  add("bmi", l7.ebx, 3);
  add("bmi2", l7.ebx, 8);
  add("gfni", l7.ecx, 8);
  add("avx2", l7.ebx, 5, ymm);
  add("avxvnni", l71.eax, 4, ymm);
  add("avxifma", l71.eax, 23, ymm);
  add("avxvnniint8", l71.edx, 4, ymm);
  add("avxneconvert", l71.edx, 5, ymm);
  add("avx512f", l7.ebx, 16, zmm);
  add("avx512dq", l7.ebx, 17, zmm);
  add("avx512ifma", l7.ebx, 21, zmm);
  add("avx512cd", l7.ebx, 28, zmm);
  add("avx512bw", l7.ebx, 30, zmm);
  add("avx512vl", l7.ebx, 31, zmm);
  add("avx512vbmi", l7.ecx, 1, zmm);
  add("avx512vbmi2", l7.ecx, 6, zmm);
  add("avx512vnni", l7.ecx, 11, zmm);
  add("avx512bitalg", l7.ecx, 12, zmm);
  add("avx512vpopcntdq", l7.ecx, 14, zmm);
  add("avx512fp16", l7.edx, 23, zmm);
  add("avx512bf16", l71.eax, 5, zmm);
  add("amx-bf16", l7.edx, 22, amx);
  add("amx-tile", l7.edx, 24, amx);
  add("amx-int8", l7.edx, 25, amx);
  std::sort(out.begin(), out.end());
  return out;
}

std::string Vendor() {
  Leaf l0 = Cpuid(0);
  char text[12];
  std::memcpy(text, &l0.ebx, 4);
  std::memcpy(text + 4, &l0.edx, 4);
  std::memcpy(text + 8, &l0.ecx, 4);
  return {text, sizeof(text)};
}

// "32K", "1M" or plain bytes, as the cache tables of /sys say; 0 when it is none.
int64_t ParseSize(std::string_view text) {
  text = StripWhitespace(text);
  int shift = 0;
  if (!text.empty() && text.back() == 'K') shift = 10;
  if (!text.empty() && text.back() == 'M') shift = 20;
  if (shift != 0) text.remove_suffix(1);
  auto n = ParseInt64(text);
  return n.ok() && *n > 0 && *n < (int64_t{1} << 30) ? *n << shift : 0;
}

// Sizes that the operating system reports; those it does not stay.
void ReadCachesFromSys(Target* t) {
  for (int i = 0; i < 16; ++i) {
    std::string base = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    auto level = ReadFile(base + "level", 64);
    auto type = ReadFile(base + "type", 64);
    auto size = ReadFile(base + "size", 64);
    if (!level.ok() || !type.ok() || !size.ok()) return;
    int64_t bytes = ParseSize(*size);
    if (bytes == 0 || StripWhitespace(*type) == "Instruction") continue;
    std::string_view number = StripWhitespace(*level);
    if (number == "1") t->l1_bytes = bytes;
    if (number == "2") t->l2_bytes = bytes;
    if (number == "3") t->l3_bytes = bytes;
    auto line = ReadFile(base + "coherency_line_size", 64);
    if (line.ok() && ParseSize(*line) > 0) t->line_bytes = static_cast<int>(ParseSize(*line));
  }
}

// Leaf 4 (Intel) or 0x8000001d (AMD): deterministic cache parameters.
void ReadCachesFromCpuid(uint32_t leaf, Target* t) {
  for (uint32_t i = 0; i < 16; ++i) {
    Leaf c = Cpuid(leaf, i);
    uint32_t type = c.eax & 31;
    if (type == 0) return;
    if (type == 2) continue;  // instructions
    int64_t bytes = int64_t{(c.ebx >> 22) + 1} * ((c.ebx >> 12 & 1023) + 1) * ((c.ebx & 4095) + 1) *
                    (int64_t{c.ecx} + 1);
    switch (c.eax >> 5 & 7) {
      case 1:
        t->l1_bytes = bytes;
        break;
      case 2:
        t->l2_bytes = bytes;
        break;
      case 3:
        t->l3_bytes = bytes;
        break;
      default:
        break;
    }
    t->line_bytes = static_cast<int>((c.ebx & 4095) + 1);
  }
}

}  // namespace

Target DetectTarget() {
  Target t;
  std::string vendor = Vendor();
  t.features = DetectFeatures();
  t.cpu = t.name = CpuForFeatures(t.features, vendor);
  SetVectorShape(&t);
  bool amd = vendor == "AuthenticAMD" || vendor == "HygonGenuine";
  ReadCachesFromCpuid(amd ? 0x8000001du : 4u, &t);
  ReadCachesFromSys(&t);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  t.cores = cores > 0 ? static_cast<int>(cores) : 1;
  return t;
}

}  // namespace temper
