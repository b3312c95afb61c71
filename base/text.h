// Strict parsing and splitting of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace temper {

// The pieces between separators, empty ones too: "a,,b" is {"a", "", "b"}; "" is {""}.
// The pieces point into `text`.
std::vector<std::string_view> SplitString(std::string_view text, char separator);

std::string JoinStrings(const std::vector<std::string>& pieces, std::string_view separator);

// Lists of names that may hold the separator, as a compiled model's steps have them: joined by
// commas, with a backslash before a comma or backslash that is part of a name. SplitNames undoes
// it, lets any other backslash stand for itself, and is empty for "".
std::string JoinNames(const std::vector<std::string>& names);
std::vector<std::string> SplitNames(std::string_view text);

// Without spaces, tabs, line ends at either end.
std::string_view StripWhitespace(std::string_view text);

// The whole of `text` as a decimal number: no spaces, no plus sign, nothing behind it.
// INVALID_ARGUMENT quotes the text; OUT_OF_RANGE when it does not fit. ParseDouble takes finite
// numbers only, with a point whatever the locale.
Result<int64_t> ParseInt64(std::string_view text);
Result<uint64_t> ParseUint64(std::string_view text);
Result<double> ParseDouble(std::string_view text);

// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsValidUtf8(std::string_view text);

// The bytes below 0x20 and 0x7f as \n, \t or \x1b: for text from outside that a person will see.
std::string EscapeControl(std::string_view text);

// `text` escaped and in double quotes, cut with "..." behind `max_bytes`: for messages.
std::string Quoted(std::string_view text, size_t max_bytes = 80);

}  // namespace temper
