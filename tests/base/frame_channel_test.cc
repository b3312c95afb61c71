#include "base/frame_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace temper {
namespace {

TEST(FrameChannel, CarriesBytesAndDescriptorsInOrder) {
  auto ends = FrameChannel::MakePair();
  ASSERT_TRUE(ends.ok());
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  std::string large(3 << 20, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(ends->first.Send("one", {pipe->write.get()}).ok());
    EXPECT_TRUE(ends->first.Send(large).ok());
    EXPECT_TRUE(ends->first.Send("").ok());
  });
  auto one = ends->second.Receive(10);
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  EXPECT_EQ(one->bytes, "one");
  ASSERT_EQ(one->fds.size(), 1u);
  EXPECT_TRUE(WriteAll(one->fds[0].get(), "hello").ok());
  char text[5];
  EXPECT_EQ(read(pipe->read.get(), text, 5), 5);
  auto two = ends->second.Receive(10);
  ASSERT_TRUE(two.ok()) << two.status().ToString();
  EXPECT_EQ(two->bytes, large);
  EXPECT_TRUE(two->fds.empty());
  auto three = ends->second.Receive(10);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(three->bytes, "");
  sender.join();
}

TEST(FrameChannel, SaysWhenThePeerIsGoneOrSilent) {
  auto ends = FrameChannel::MakePair();
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(ends->first.Receive(0.01).status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(ends->first.Send(std::string(32 << 20, 'x'), {}, 0.01).code(), Code::kDeadlineExceeded);
  ends->second.Close();
  EXPECT_EQ(ends->first.Receive(1).status().code(), Code::kUnavailable);
  EXPECT_EQ(ends->first.Send("x").code(), Code::kUnavailable);
}

TEST(FrameChannel, RefusesWhatIsNoFrameOrTooLarge) {
  auto ends = FrameChannel::MakePair(1000);
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(ends->first.Send(std::string(1001, 'x')).code(), Code::kResourceExhausted);
  std::string junk(64, '\xff');
  ASSERT_EQ(write(ends->first.fd(), junk.data(), junk.size()), 64);
  EXPECT_EQ(ends->second.Receive(1).status().code(), Code::kDataLoss);

  auto cut = FrameChannel::MakePair(1000);
  ASSERT_TRUE(cut.ok());
  ASSERT_TRUE(cut->first.Send(std::string(100, 'x')).ok());
  char part[60];
  ASSERT_EQ(read(cut->second.fd(), part, sizeof(part)), 60);
  auto again = FrameChannel::MakePair(1000);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(write(again->first.fd(), part, sizeof(part)), 60);
  again->first.Close();
  EXPECT_EQ(again->second.Receive(1).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace temper
