#include "compiler/tools/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"

namespace temper::tools {
namespace {

std::string File(const std::string& header, const std::string& data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  const size_t n = header.size();
  file += static_cast<char>(n & 0xff);
  file += static_cast<char>(n >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes;
  for (T v : values) bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  return bytes;
}

std::string Header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }          \n";
}

TEST(Npy, ReadsEveryVersion) {
  for (char version : {1, 2, 3}) {
    auto array = ParseNpy(File(Header("<f4", "(2, 3)"), Bytes<float>({1, 2, 3, 4, 5, 6}), version),
                          "x", DType::kFloat32);
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(ElementAsDouble(*array, 4), 5);
  }
}

TEST(Npy, PutsFortranOrderIntoCOrder) {
  auto array = ParseNpy(File(Header("<i2", "(2, 3)", true), Bytes<int16_t>({1, 4, 2, 5, 3, 6})),
                        "x", DType::kInt16);
  ASSERT_TRUE(array.ok());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ElementAsDouble(*array, i), i + 1);
}

TEST(Npy, ScalarsVectorsAndEmptyArrays) {
  EXPECT_EQ(ParseNpy(File(Header("<f8", "()"), Bytes<double>({2.5})), "x", DType::kFloat64)->size(),
            1);
  EXPECT_EQ(ParseNpy(File(Header("|b1", "(3,)"), "\1\0\1"), "x", DType::kBool).status().code(),
            Code::kInvalidArgument);  // the literal ends at its zero: one byte is not three
  EXPECT_EQ(ParseNpy(File(Header("<i8", "(0, 4)"), ""), "x", DType::kInt64)->size(), 0);
}

TEST(Npy, RawBytesTakeTheExpectedType) {
  const std::string file = File(Header("|V2", "(2,)"), Bytes<uint16_t>({0x3f80, 0xc000}));
  auto array = ParseNpy(file, "x", DType::kBFloat16);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(ElementAsDouble(*array, 0), 1);
  EXPECT_EQ(ElementAsDouble(*array, 1), -2);
  EXPECT_FALSE(ParseNpy(file, "x", DType::kFloat32).ok());
}

TEST(Npy, RefusesWhatIsNoArray) {
  const std::string good = File(Header("<f4", "(2,)"), Bytes<float>({1, 2}));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseNpy(good.substr(0, length), "x", DType::kFloat32).ok()) << length;
  }
  EXPECT_FALSE(ParseNpy(good + "x", "x", DType::kFloat32).ok());
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'shape': (2), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': 'O', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999999)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,"}) {
    auto array = ParseNpy(File(header, Bytes<float>({1, 2})), "bad.npy", DType::kFloat32);
    EXPECT_EQ(array.status().code(), Code::kInvalidArgument) << header;
    EXPECT_NE(array.status().message().find("bad.npy"), std::string::npos);
  }
}

TEST(Npy, WhatIsWrittenIsRead) {
  auto folder = ScopedTempDir::Create("npy");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->File("a.npy");
  const std::vector<std::vector<int64_t>> shapes = {{}, {3}, {2, 3}, {1, 2, 3, 4}};
  for (const auto& shape : shapes) {
    Array array{DType::kInt32, shape, {}};
    array.data.resize(array.size() * 4);
    for (int64_t i = 0; i < array.size(); ++i) {
      const auto value = static_cast<int32_t>(i * 7 - 3);
      std::memcpy(array.data.data() + i * 4, &value, 4);
    }
    ASSERT_TRUE(WriteNpy(path, array).ok());
    EXPECT_EQ(ReadFile(path)->find('\n') % 64, 63);  // the data is aligned
    auto back = ReadNpy(path, DType::kInt32);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->shape, shape);
    EXPECT_EQ(back->data, array.data);
  }
}

}  // namespace
}  // namespace temper::tools
