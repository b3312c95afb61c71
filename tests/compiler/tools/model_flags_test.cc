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

TEST(AddNumericsOption, TakesTheThreeNames) {
  for (const char* name : {"strict", "balanced", "fast"}) {
    CLI::App app;
    ModelFlags flags;
    AddNumericsOption(&app, &flags);
    app.parse(std::string("--numerics ") + name);
    EXPECT_EQ(te::Name(flags.numerics), name);
  }
  CLI::App app;
  ModelFlags flags;
  AddNumericsOption(&app, &flags);
  EXPECT_THROW(app.parse("--numerics exact"), CLI::ValidationError);
  EXPECT_EQ(flags.numerics, te::kDefaultNumerics);
}

TEST(AddConstantsOption, LeavesItToTheModelUnlessItIsToldOtherwise) {
  auto given = [](const std::string& name) {
    CLI::App app;
    ModelFlags flags;
    AddConstantsOption(&app, &flags);
    app.parse(name.empty() ? "" : "--constants " + name);
    return MakeFrontendOptions(flags)->constants;
  };
  EXPECT_EQ(given(""), std::nullopt);
  EXPECT_EQ(given("auto"), std::nullopt);
  EXPECT_EQ(given("warm"), Constants::kWarm);
  EXPECT_EQ(given("cold"), Constants::kCold);
  EXPECT_THROW(given("hot"), CLI::ValidationError);
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

// The sets of shapes of the flags, as text: "a=1x2 b=3 | a=4x5".
std::string Sets(std::vector<std::string> flags) {
  ModelFlags model;
  model.shapes = std::move(flags);
  auto options = MakeFrontendOptions(model);
  if (!options.ok()) return options.status().message();
  std::string text;
  for (const driver::InputShapes& set : options->shapes) {
    text += text.empty() ? "" : " |";
    for (const auto& [name, shape] : set) {
      text += " " + name + "=";
      for (size_t d = 0; d < shape.size(); ++d) text += (d ? "x" : "") + std::to_string(shape[d]);
    }
  }
  return text;
}

TEST(MakeFrontendOptions, AnInputThatIsNamedAgainBeginsTheNextSetOfShapes) {
  EXPECT_EQ(Sets({}), "");
  EXPECT_EQ(Sets({"a=1x2", "b=3"}), " a=1x2 b=3");
  EXPECT_EQ(Sets({"a=1x2,b=3"}), " a=1x2 b=3");
  EXPECT_EQ(Sets({"a=1", "a=2", "a=3"}), " a=1 | a=2 | a=3");
  EXPECT_EQ(Sets({"a=1", "b=1", "a=2", "b=2"}), " a=1 b=1 | a=2 b=2");
  EXPECT_EQ(Sets({"a=1,b=1", "b=2,a=2"}), " a=1 b=1 | a=2 b=2");
  EXPECT_EQ(Sets({"b=1", "a=1", "a=2"}), " a=1 b=1 | a=2");
  EXPECT_EQ(Sets({"s=,a=1"}), " a=1 s=");
}

TEST(MakeFrontendOptions, NamesOfInputsMayHoldCommasAndEqualSigns) {
  EXPECT_EQ(Sets({"a,b=1x2"}), " a,b=1x2");
  EXPECT_EQ(Sets({"a=b=1,c,d=2"}), " a=b=1 c,d=2");
}

TEST(MakeFrontendOptions, RefusesShapesThatAreNone) {
  for (const char* bad : {"a", "a=1x", "=1", "a=1,", "a=1,b", "a=-1", "a=1, b=2x"}) {
    EXPECT_NE(Sets({bad}).find("expected NAME=SIZES"), std::string::npos) << bad << Sets({bad});
  }
  EXPECT_NE(Sets({"a=0"}).find("extent 1 is 0"), std::string::npos);
  EXPECT_NE(Sets({"a=1,a=2"}).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace temper::tools
