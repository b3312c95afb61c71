// What the verbs say and how: results on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace temper::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // of the work
inline constexpr int kExitUsage = 2;    // of the command line

// Says "temper: MESSAGE" on stderr and returns kExitFailure; control characters are escaped.
int Fail(const Status& status);
// The same for a wrong command line; returns kExitUsage.
int FailUsage(std::string_view verb, std::string_view message);

void Warn(std::string_view message);

// Writes to stdout; a closed pipe or a full disk is told by Flush.
void Print(std::string_view text);
// Ends what Print began: kExitOk, or kExitFailure where stdout could not be written.
int Flush();

// Rows of cells in columns; the first row is the heading. Columns of numbers are aligned right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows,
                        const std::vector<bool>& right);

// "12.3 MB"
std::string FormatBytes(double bytes);

}  // namespace temper::tools
