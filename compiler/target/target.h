// What a device is: architecture, features, caches, cores; its name and its fingerprint.
//
// A target is either detected on this machine or given by name (`native`, `x86-64-v4`, `znver4`,
// ...). Its fingerprint keys tuning records: two machines with the same fingerprint may share
// them. The processor's own name can lie in a virtual machine, so the fingerprint is made of
// features, cache sizes and the LLVM processor name chosen from the features.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/target/rates.h"

namespace temper {

enum class Arch : uint8_t { kX86_64 };

struct Target {
  Arch arch = Arch::kX86_64;
  std::string name;                   // as given or detected, such as "znver4"
  std::string cpu;                    // LLVM's -mcpu
  std::vector<std::string> features;  // LLVM feature names, sorted: "avx2", "avx512f", "fma", ...
  int vector_bits = 128;              // widest float vector worth using
  int vector_registers = 16;
  bool masked_vectors = false;   // loads and stores take a mask at no cost
  int64_t l1_bytes = 32 << 10;   // of one core
  int64_t l2_bytes = 256 << 10;  // of one core
  int64_t l3_bytes = 8 << 20;    // shared
  int line_bytes = 64;
  int cores = 1;
  Rates rates;  // measured, or nothing; RatesOf() guesses then

  int Lanes(int element_bytes) const { return vector_bits / 8 / element_bytes; }
  bool Has(const std::string& feature) const;
};

// The machine this runs on, from CPUID and the operating system's cache tables.
Target DetectTarget();

// `native`, a name, or a whole description as TargetText gives it; the message lists the names that
// are known. `native` is what DetectTarget gives: without rates.
Result<Target> ParseTarget(const std::string& name);

// Names that ParseTarget takes besides `native`.
std::vector<std::string> KnownTargets();

// One line: everything the fingerprint covers, the name, the cores and the rates where they are
// known. ParseTargetText(TargetText(t)) gives t back.
std::string TargetText(const Target& target);
Result<Target> ParseTargetText(const std::string& text);

// 16 hexadecimal digits over arch, cpu, features, vector width and cache sizes.
std::string Fingerprint(const Target& target);

// The target's rates; where they are not known, those of a common machine with its vectors and
// cores.
Rates RatesOf(const Target& target);

// arch and cpu: records of another machine with the same one are `similar`.
std::string MicroArchitecture(const Target& target);

// Whether code for `target` runs on `host`; else the status names what is missing.
Status CanRunOn(const Target& target, const Target& host);

}  // namespace temper
