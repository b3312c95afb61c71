#include "compiler/target/native_target.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "compiler/target/machine_rates.h"

namespace temper {
namespace {

constexpr size_t kMostBytes = 4096;

std::string PathFor(const std::string& folder, const Target& target) {
  return folder + "/rates-" + Fingerprint(target) + "-" + std::to_string(target.cores);
}

}  // namespace

std::string RatesFolder() {
  if (const char* own = std::getenv("TEMPER_CACHE_DIR")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    return std::string(xdg) + "/temper";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return std::string(home) + "/.cache/temper";
  }
  return {};
}

Target MeasureNative(const std::string& folder, const Clock& clock, Status* written) {
  Target target = DetectTarget();
  target.rates = MeasureRates(target, clock);
  *written = OkStatus();
  if (folder.empty()) return target;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string text = RatesText(target.rates) + "\n";
  *written = WriteFileAtomic(PathFor(folder, target), text);
  return target;
}

Target NativeTarget(const std::string& folder, const Clock& clock) {
  Target target = DetectTarget();
  if (folder.empty()) return target;
  if (auto text = ReadFile(PathFor(folder, target), kMostBytes); text.ok()) {
    if (auto rates = ParseRates(StripWhitespace(*text)); rates.ok()) {
      target.rates = *rates;
      return target;
    }
  }
  Status written;
  Target measured = MeasureNative(folder, clock, &written);
  // What cannot be kept would be another the next time.
  return written.ok() ? measured : target;
}

Result<Target> TargetOf(const std::string& name) {
  if (name != "native") return ParseTarget(name);
  SystemClock clock;
  return NativeTarget(RatesFolder(), clock);
}

}  // namespace temper
