// The target of a command's --target, with this machine's rates where it is this machine.
//
// Rates are measured once and kept in a file, so that compiling the same model twice gives the same
// bytes: in $TEMPER_CACHE_DIR, else $XDG_CACHE_HOME/temper, else $HOME/.cache/temper, a file a
// fingerprint, number of cores and machine. Where there is no such folder, or TEMPER_CACHE_DIR is
// empty, nothing is measured and the rates stay unknown, which is as repeatable.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "compiler/target/target.h"

namespace temper {

// The folder above; "" where there is none.
std::string RatesFolder();

// This machine, with the rates of `folder`, which are measured and written there when they are
// missing or unreadable. An unwritable folder leaves them unknown.
Target NativeTarget(const std::string& folder, const Clock& clock);

// ParseTarget(name); of "native" NativeTarget, with the folder and clock of this process.
Result<Target> TargetOf(const std::string& name);

// Measures this machine anew and writes its rates to `folder` ("": nowhere).
Target MeasureNative(const std::string& folder, const Clock& clock, Status* written);

}  // namespace temper
