#include "compiler/tools/model_flags.h"

#include <gtest/gtest.h>

namespace temper::tools {
namespace {

// "" where the text passes.
std::string Refusal(const CLI::Validator& check, std::string text) { return check(text); }

TEST(NumberCheck, TakesFiniteNumbersInItsRange) {
  const CLI::Validator check = NumberCheck(0, 10);
  for (const char* good : {"0", "10", "2.5", "1e1"}) EXPECT_EQ(Refusal(check, good), "") << good;
  for (const char* bad : {"nan", "inf", "-inf", "-1", "10.5", "", "x", "1 ", "0x1", "1e999"}) {
    EXPECT_NE(Refusal(check, bad).find("from 0 and up to 10"), std::string::npos) << bad;
  }
  EXPECT_NE(Refusal(NumberCheck(0, 10, true), "0"), "");
  EXPECT_EQ(Refusal(NumberCheck(0, 10, true), "0.001"), "");
}

TEST(MakeFrontendOptions, UnknownPassesAreWrongUsage) {
  ModelFlags flags;
  flags.disabled_passes = {"dead_code"};
  flags.print_after = {"import", "dead_code"};
  EXPECT_TRUE(MakeFrontendOptions(flags).ok());
  for (auto* names : {&flags.disabled_passes, &flags.print_after}) {
    ModelFlags wrong;
    (names == &flags.print_after ? wrong.print_after : wrong.disabled_passes) = {"no_pass"};
    const Status status = MakeFrontendOptions(wrong).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("dead_code"), std::string::npos) << status.message();
  }
  ModelFlags required;
  required.disabled_passes = {"infer_shapes"};
  EXPECT_EQ(MakeFrontendOptions(required).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace temper::tools
