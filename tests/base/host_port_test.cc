#include "base/host_port.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(HostPort, TakesNamesAndAddresses) {
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "a-b.example_c.org"}) {
    auto parsed = ParseHostPort(std::string(host) + ":7400");
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, 7400);
  }
  EXPECT_EQ(ParseHostPort("h:65535")->port, 65535);
  EXPECT_EQ(ParseHostPort("h:0", true)->port, 0);
}

TEST(HostPort, RefusesEverythingElseAndQuotesIt) {
  for (const char* bad :
       {"", "foo", ":7400", "h:", "h:0", "h:-1", "h:99999", "h:7400x", "h: 7400", "h:+1", "a b:1",
        "::1:7400", "[]:1", "[::1:1", "http://h:1", "dns:///h:1", "unix:/tmp/s", "h\n:1"}) {
    auto parsed = ParseHostPort(bad);
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(parsed.status().message()[0], '"') << bad;
  }
  EXPECT_FALSE(ParseHostPort(std::string(300, 'h') + ":1").ok());
}

}  // namespace
}  // namespace temper
