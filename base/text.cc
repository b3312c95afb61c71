#include "base/text.h"

#include <charconv>
#include <cmath>

namespace temper {
namespace {

template <typename T>
Result<T> ParseNumber(std::string_view text, const char* kind) {
  T value{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    return OutOfRange(Quoted(text) + " is too large or too small a number");
  }
  if (error != std::errc() || stop != end) {
    return InvalidArgument(Quoted(text) + " is not " + kind);
  }
  return value;
}

}  // namespace

std::vector<std::string_view> SplitString(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string JoinStrings(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) joined += separator;
    joined += pieces[i];
  }
  return joined;
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string joined;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) joined += ',';
    for (char c : names[i]) {
      if (c == ',' || c == '\\') joined += '\\';
      joined += c;
    }
  }
  return joined;
}

std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  names.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escaped) {
      names.back() += text[++i];
    } else if (text[i] == ',') {
      names.emplace_back();
    } else {
      names.back() += text[i];
    }
  }
  return names;
}

std::string_view StripWhitespace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Result<int64_t> ParseInt64(std::string_view text) {
  return ParseNumber<int64_t>(text, "a whole number");
}

Result<uint64_t> ParseUint64(std::string_view text) {
  return ParseNumber<uint64_t>(text, "a whole number of 0 or more");
}

Result<double> ParseDouble(std::string_view text) {
  TEMPER_ASSIGN_OR_RETURN(double value, ParseNumber<double>(text, "a number"));
  if (!std::isfinite(value)) return InvalidArgument(Quoted(text) + " is not a finite number");
  return value;
}

bool IsValidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() - i < more) return false;
    for (size_t k = 0; k < more; ++k) {
      auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      if (k > 0) continue;
      // The second byte shows overlong forms, surrogates and what lies above U+10FFFF.
      if (first == 0xe0 && next < 0xa0) return false;
      if (first == 0xed && next > 0x9f) return false;
      if (first == 0xf0 && next < 0x90) return false;
      if (first == 0xf4 && next > 0x8f) return false;
    }
    i += more;
  }
  return true;
}

std::string EscapeControl(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string clean;
  clean.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      clean += c;
    } else if (c == '\n') {
      clean += "\\n";
    } else if (c == '\t') {
      clean += "\\t";
    } else {
      clean += "\\x";
      clean += kDigits[byte >> 4];
      clean += kDigits[byte & 15];
    }
  }
  return clean;
}

std::string Quoted(std::string_view text, size_t max_bytes) {
  bool cut = text.size() > max_bytes;
  return "\"" + EscapeControl(text.substr(0, max_bytes)) + (cut ? "...\"" : "\"");
}

}  // namespace temper
