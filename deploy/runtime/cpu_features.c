#define _GNU_SOURCE
#include "deploy/runtime/cpu_features.h"

#include <stdio.h>

#include "deploy/runtime/abi.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENUMERATOR(bit, name, text) kBit##name = bit,
enum { TEMPER_X86_FEATURES(ENUMERATOR) };
#undef ENUMERATOR

/* Bits of XCR0: register files that the system saves on a switch. */
#define XCR0_AVX UINT64_C(0x6)     /* XMM, upper halves of YMM */
#define XCR0_AVX512 UINT64_C(0xe6) /* and mask registers, ZMM */
#define XCR0_AMX UINT64_C(0x60000) /* tile configuration and data */

/* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): tiles are off until a process asks. */
#define ARCH_REQUEST_PERMISSION 0x1023
#define XFEATURE_TILE_DATA 18

typedef enum { kEax = 0, kEbx = 1, kEcx = 2, kEdx = 3 } cpuid_register;
typedef enum { kNoState, kAvx, kAvx512, kAmx } register_state;

/* Where CPUID says that the CPU has a feature (Intel's manual, volume 2, CPUID), and the registers
 * the feature needs. */
static const struct {
  int feature;
  uint32_t leaf;
  uint32_t subleaf;
  cpuid_register reg;
  int bit;
  register_state state;
} kPlaces[] = {
    {kBitSSE3, 1, 0, kEcx, 0, kNoState},
    {kBitSSSE3, 1, 0, kEcx, 9, kNoState},
    {kBitFMA, 1, 0, kEcx, 12, kAvx},
    {kBitCX16, 1, 0, kEcx, 13, kNoState},
    {kBitSSE41, 1, 0, kEcx, 19, kNoState},
    {kBitSSE42, 1, 0, kEcx, 20, kNoState},
    {kBitMOVBE, 1, 0, kEcx, 22, kNoState},
    {kBitPOPCNT, 1, 0, kEcx, 23, kNoState},
    {kBitAVX, 1, 0, kEcx, 28, kAvx},
    {kBitF16C, 1, 0, kEcx, 29, kAvx},
    {kBitLAHF, 0x80000001, 0, kEcx, 0, kNoState},
    {kBitLZCNT, 0x80000001, 0, kEcx, 5, kNoState},
    {kBitBMI, 7, 0, kEbx, 3, kNoState},
    {kBitAVX2, 7, 0, kEbx, 5, kAvx},
    {kBitBMI2, 7, 0, kEbx, 8, kNoState},
    {kBitAVX512F, 7, 0, kEbx, 16, kAvx512},
    {kBitAVX512DQ, 7, 0, kEbx, 17, kAvx512},
    {kBitAVX512IFMA, 7, 0, kEbx, 21, kAvx512},
    {kBitAVX512CD, 7, 0, kEbx, 28, kAvx512},
    {kBitAVX512BW, 7, 0, kEbx, 30, kAvx512},
    {kBitAVX512VL, 7, 0, kEbx, 31, kAvx512},
    {kBitAVX512VBMI, 7, 0, kEcx, 1, kAvx512},
    {kBitAVX512VBMI2, 7, 0, kEcx, 6, kAvx512},
    {kBitGFNI, 7, 0, kEcx, 8, kNoState},
    {kBitAVX512VNNI, 7, 0, kEcx, 11, kAvx512},
    {kBitAVX512BITALG, 7, 0, kEcx, 12, kAvx512},
    {kBitAVX512VPOPCNTDQ, 7, 0, kEcx, 14, kAvx512},
    {kBitAMX_BF16, 7, 0, kEdx, 22, kAmx},
    {kBitAVX512FP16, 7, 0, kEdx, 23, kAvx512},
    {kBitAMX_TILE, 7, 0, kEdx, 24, kAmx},
    {kBitAMX_INT8, 7, 0, kEdx, 25, kAmx},
    {kBitAVXVNNI, 7, 1, kEax, 4, kAvx},
    {kBitAVX512BF16, 7, 1, kEax, 5, kAvx512},
    {kBitAVXIFMA, 7, 1, kEax, 23, kAvx},
    {kBitAVXVNNIINT8, 7, 1, kEdx, 4, kAvx},
    {kBitAVXNECONVERT, 7, 1, kEdx, 5, kAvx},
};

/* All zero where the CPU has no such leaf. */
static void Cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]) {
  registers[kEax] = registers[kEbx] = registers[kEcx] = registers[kEdx] = 0;
  __get_cpuid_count(leaf, subleaf, &registers[kEax], &registers[kEbx], &registers[kEcx],
                    &registers[kEdx]);
}

static uint64_t SavedRegisters(void) {
  uint32_t registers[4];
  Cpuid(1, 0, registers);
  if (!(registers[kEcx] >> 27 & 1)) return 0; /* OSXSAVE: the system uses XSAVE at all */
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

uint64_t temper_cpu_features(void) {
  const uint64_t saved = SavedRegisters();
  const int usable[4] = {
      [kNoState] = 1,
      [kAvx] = (saved & XCR0_AVX) == XCR0_AVX,
      [kAvx512] = (saved & XCR0_AVX512) == XCR0_AVX512,
      [kAmx] = (saved & XCR0_AMX) == XCR0_AMX,
  };
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof kPlaces / sizeof kPlaces[0]; ++i) {
    uint32_t registers[4];
    Cpuid(kPlaces[i].leaf, kPlaces[i].subleaf, registers);
    if (!(registers[kPlaces[i].reg] >> kPlaces[i].bit & 1)) continue;
    if (usable[kPlaces[i].state]) bits |= UINT64_C(1) << kPlaces[i].feature;
  }
  return bits;
}

int temper_cpu_enable(uint64_t bits) {
  if (!(bits >> kBitAMX_TILE & 1)) return 0;
  return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, XFEATURE_TILE_DATA) ? -1 : 0;
}

#else

uint64_t temper_cpu_features(void) { return 0; }

int temper_cpu_enable(uint64_t bits) {
  (void)bits;
  return 0;
}

#endif

static const char* FeatureName(int bit) {
  switch (bit) {
#define CASE(number, name, text) \
  case number:                   \
    return text;
    TEMPER_X86_FEATURES(CASE)
#undef CASE
  }
  return NULL;
}

char* temper_cpu_feature_names(uint64_t bits, char* text, size_t size) {
  if (!size) return text;
  text[0] = 0;
  size_t used = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if (!(bits >> bit & 1)) continue;
    const char* separator = used ? ", " : "";
    const char* name = FeatureName(bit);
    const int n = name ? snprintf(text + used, size - used, "%s%s", separator, name)
                       : snprintf(text + used, size - used, "%sfeature %d", separator, bit);
    if (n < 0 || (size_t)n >= size - used) break;
    used += (size_t)n;
  }
  return text;
}
