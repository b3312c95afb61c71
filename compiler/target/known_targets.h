// The table of targets that have a name, and what follows from a set of CPU features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/target.h"

namespace temper {

// Every x86-64 feature that a target may list, spelled as LLVM does, sorted.
const std::vector<std::string>& X86Features();

// Sets vector_bits, vector_registers and masked_vectors from target.features (sorted).
void SetVectorShape(Target* target);

// LLVM's name of the processor that has these features and, where several do, this vendor
// ("AuthenticAMD", "GenuineIntel"). Never one that needs more than the features listed.
std::string CpuForFeatures(const std::vector<std::string>& features, std::string_view vendor);

}  // namespace temper
