// The target of a command's --target, with this machine's rates where it is this machine.
//
// Rates are measured once and kept in a file, so that compiling the same model twice gives the same
// bytes: in $TEMPER_CACHE_DIR, else $XDG_CACHE_HOME/temper, else $HOME/.cache/temper, a file a
// fingerprint, number of cores and machine. Where there is no such folder, or TEMPER_CACHE_DIR is
// empty, nothing is measured and the rates stay unknown, which is as repeatable.
//
// Of processes that find no rates at the same time one measures, holding a lock beside the file,
// and the others wait for what it writes: nobody measures beside another, and all have the same.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "compiler/target/target.h"

namespace temper {

// The folder above; "" where there is none.
std::string RatesFolder();

// This machine, with the rates of `folder`, which are measured and written there when they are
// missing. A file that cannot be understood is said to `log` and replaced. An unwritable folder, or
// one whose lock another process has held for half a minute without result, leaves them unknown.
Target NativeTarget(const std::string& folder, const Clock& clock, const Logger& log = {});

// ParseTarget(name); of "native" NativeTarget, with the folder and clock of this process.
Result<Target> TargetOf(const std::string& name, const Logger& log = {});

// Measures this machine anew and writes its rates to `folder` ("": nowhere), in place of those that
// are there.
Target MeasureNative(const std::string& folder, const Clock& clock, Status* written);

}  // namespace temper
