#include "compiler/wire/wire_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace temper::wire {
namespace {

constexpr size_t kMaxWord = 128;
constexpr int kMaxFeatures = 512;

Status CheckWord(const char* what, const std::string& word) {
  const bool good =
      !word.empty() && word.size() <= kMaxWord && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.' || c == '+';
      });
  if (good) return OkStatus();
  return InvalidArgument(fmt::format("target: {} {} is no word", what, Quoted(word)));
}

}  // namespace

proto::Target ToProto(const Target& target) {
  proto::Target out;
  switch (target.arch) {
    case Arch::kX86_64:
      out.set_architecture(proto::ARCHITECTURE_X86_64);
      break;
  }
  out.set_name(target.name);
  out.set_cpu(target.cpu);
  for (const std::string& f : target.features) out.add_features(f);
  out.set_vector_bits(target.vector_bits);
  out.set_vector_registers(target.vector_registers);
  out.set_masked_vectors(target.masked_vectors);
  out.set_l1_bytes(target.l1_bytes);
  out.set_l2_bytes(target.l2_bytes);
  out.set_l3_bytes(target.l3_bytes);
  out.set_line_bytes(target.line_bytes);
  out.set_cores(target.cores);
  if (target.rates.Known()) out.set_rates(RatesText(target.rates));
  return out;
}

Result<Target> FromProto(const proto::Target& message) {
  if (message.architecture() != proto::ARCHITECTURE_X86_64) {
    return InvalidArgument(
        fmt::format("target: unknown architecture {}", static_cast<int>(message.architecture())));
  }
  if (message.features_size() > kMaxFeatures) {
    return InvalidArgument(fmt::format("target: {} features", message.features_size()));
  }
  Target t;
  t.arch = Arch::kX86_64;
  TEMPER_RETURN_IF_ERROR(CheckWord("name", message.name()));
  TEMPER_RETURN_IF_ERROR(CheckWord("cpu", message.cpu()));
  t.name = message.name();
  t.cpu = message.cpu();
  for (const std::string& f : message.features()) {
    TEMPER_RETURN_IF_ERROR(CheckWord("feature", f));
    t.features.push_back(f);
  }
  t.vector_bits = message.vector_bits();
  t.l1_bytes = message.l1_bytes();
  t.l2_bytes = message.l2_bytes();
  t.l3_bytes = message.l3_bytes();
  t.line_bytes = message.line_bytes();
  t.cores = message.cores();
  if (!message.rates().empty()) {
    TEMPER_ASSIGN_OR_RETURN(t.rates, ParseRates(message.rates()));
  }
  // The text's parser holds the rules: known features, sizes, and what follows from them.
  TEMPER_ASSIGN_OR_RETURN(Target checked, ParseTargetText(TargetText(t)));
  if (checked.vector_registers != message.vector_registers() ||
      checked.masked_vectors != message.masked_vectors()) {
    return InvalidArgument("target: vector_registers or masked_vectors contradict the features");
  }
  return checked;
}

}  // namespace temper::wire
