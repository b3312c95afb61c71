// te::ParseProgram: what is accepted has a canonical text of its own.
#include "base/status.h"
#include "compiler/te/canonical.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace temper;  // NOLINT: the whole file
  auto program = te::ParseProgram(std::string(reinterpret_cast<const char*>(data), size));
  if (!program.ok()) return 0;
  const std::string text = te::CanonicalText(*program);
  auto again = te::ParseProgram(text);
  TEMPER_CHECK(again.ok());
  TEMPER_CHECK(te::CanonicalText(*again) == text);
  TEMPER_CHECK(te::CanonicalText(te::Canonicalize(*program)) == text);
  return 0;
}
