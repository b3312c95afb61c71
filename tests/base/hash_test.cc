#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

namespace temper {
namespace {

// FIPS 180-4's examples.
TEST(Hash, KnownDigests) {
  EXPECT_EQ(Sha256("abc").Hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("").Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Hash, PiecesJoin) {
  Hasher hasher;
  EXPECT_EQ(hasher.Update("a").Update("bc").Finish(), Sha256("abc"));
  EXPECT_EQ(hasher.Update("abc").Finish(), Sha256("abc")) << "Finish starts anew";
}

TEST(Hash, TypedPiecesKeepTheirBorders) {
  EXPECT_NE(Hasher().AddString("a").AddString("bc").Finish(),
            Hasher().AddString("ab").AddString("c").Finish());
  EXPECT_EQ(Hasher().AddU64(0x0102).Finish(), Sha256(std::string("\x02\x01\0\0\0\0\0\0", 8)));
}

TEST(Hash, TextAndBytesRoundTrip) {
  Hash hash = Sha256("x");
  EXPECT_EQ(*Hash::FromHex(hash.Hex()), hash);
  EXPECT_EQ(*Hash::FromBytes(hash.AsBytes()), hash);
  EXPECT_EQ(hash.ShortHex(), hash.Hex().substr(0, 12));
  EXPECT_FALSE(Hash::FromHex(hash.Hex().substr(1)).ok());
  EXPECT_FALSE(Hash::FromHex("g" + hash.Hex().substr(1)).ok());
  EXPECT_FALSE(Hash::FromBytes("short").ok());
}

TEST(Hash, OrdersAndHashes) {
  EXPECT_TRUE(Hash{}.IsZero());
  EXPECT_FALSE(Sha256("").IsZero());
  EXPECT_LT(Hash{}, Sha256(""));
  EXPECT_EQ((std::set<Hash>{Sha256("a"), Sha256("b"), Sha256("a")}).size(), 2u);
  EXPECT_EQ((std::unordered_set<Hash>{Sha256("a"), Sha256("b"), Sha256("a")}).size(), 2u);
}

}  // namespace
}  // namespace temper
