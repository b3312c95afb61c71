#include "base/status.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("odd");
  return x / 2;
}

Result<int> Quarter(int x) {
  TEMPER_ASSIGN_OR_RETURN(int half, Half(x));
  return Half(half);
}

TEST(Status, NamesItsCode) {
  EXPECT_EQ(OkStatus().ToString(), "OK");
  EXPECT_EQ(InvalidArgument("x").ToString(), "INVALID_ARGUMENT: x");
  EXPECT_EQ(InvalidArgument("x").WithContext("file").message(), "file: x");
  EXPECT_TRUE(OkStatus().WithContext("file").ok());
}

TEST(Result, PassesErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

}  // namespace
}  // namespace temper
