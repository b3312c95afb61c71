// Model files: what the importer takes goes through all graph passes and the partition, and stays
// well formed.
#include "base/status.h"
#include "compiler/import/import.h"
#include "tests/fuzz/front_end.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace temper;  // NOLINT: the whole file
  const auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(data), size);
  auto graph = importer::ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "fuzzed.onnx", {});
  if (!graph.ok()) {
    TEMPER_CHECK(graph.status().code() != Code::kInternal);
    return 0;
  }
  fuzz::RunFrontEnd(*graph);
  return 0;
}
