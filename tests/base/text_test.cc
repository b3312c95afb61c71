#include "base/text.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(Text, SplitKeepsEmptyPieces) {
  using V = std::vector<std::string_view>;
  EXPECT_EQ(SplitString("a,,b", ','), (V{"a", "", "b"}));
  EXPECT_EQ(SplitString("", ','), (V{""}));
  EXPECT_EQ(SplitString("a,", ','), (V{"a", ""}));
}

TEST(Text, Join) {
  EXPECT_EQ(JoinStrings({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(JoinStrings({}, ", "), "");
}

TEST(Text, Strip) {
  EXPECT_EQ(StripWhitespace(" \ta b\r\n"), "a b");
  EXPECT_EQ(StripWhitespace(" \n"), "");
}

TEST(Text, ParsesWholeTextOnly) {
  EXPECT_EQ(*ParseInt64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInt64("9223372036854775808").status().code(), Code::kOutOfRange);
  EXPECT_EQ(*ParseUint64("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*ParseDouble("-1.5e3"), -1500);
  for (const char* bad : {"", " 1", "1 ", "+1", "1x", "0x10", "--1"}) {
    EXPECT_EQ(ParseInt64(bad).status().code(), Code::kInvalidArgument) << bad;
    EXPECT_FALSE(ParseDouble(bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseUint64("-1").ok());
  EXPECT_FALSE(ParseDouble("inf").ok());
  EXPECT_FALSE(ParseDouble("nan").ok());
  EXPECT_FALSE(ParseDouble("1e999").ok());
}

TEST(Text, NamesMayHoldTheSeparator) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{},
                                                {"a"},
                                                {"a", "b"},
                                                {"a,b", "c"},
                                                {"a\\", ",", "\\,"},
                                                {"a", ""}}) {
    EXPECT_EQ(SplitNames(JoinNames(names)), names) << JoinNames(names);
  }
  EXPECT_EQ(JoinNames({"a,b", "c\\d"}), "a\\,b,c\\\\d");
  // As versions without backslashes wrote it.
  EXPECT_EQ(SplitNames("a\\b,c"), (std::vector<std::string>{"a\\b", "c"}));
}

TEST(Text, Utf8) {
  for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsValidUtf8(good)) << EscapeControl(good);
  }
  for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xe2\x82"
                          "a",
                          "\xff"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << EscapeControl(bad);
  }
}

TEST(Text, QuotesHostileText) {
  EXPECT_EQ(EscapeControl("a\tb\x7f\xc3\xa9"), "a\\tb\\x7f\xc3\xa9");
  EXPECT_EQ(Quoted("abc\n", 80), "\"abc\\n\"");
  EXPECT_EQ(Quoted("abcdef", 3), "\"abc...\"");
  EXPECT_NE(ParseInt64("x\ny").status().message().find("\"x\\ny\""), std::string::npos);
}

}  // namespace
}  // namespace temper
