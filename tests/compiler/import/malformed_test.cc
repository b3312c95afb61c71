// Every byte of a model file is hostile: no truncation and no change of bytes may do more than
// give a status.
#include <gtest/gtest.h>

#include <random>

#include "compiler/graph/pipeline.h"
#include "compiler/import/skeleton.h"
#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

// A model with something of everything that the importer reads.
std::string Bytes() {
  Model model(11);
  model.Input("x", {1, 3, 8, 8}).Output("y");
  model.Floats("w", {2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  model.Floats("s", {2}, {1, 2});
  model.IntList("i", {0});
  model.IntList("shape", {0, -1});
  SetInts(model.Node("Conv", {"x", "w"}, {"c"}), "strides", {2, 2});
  SetFloat(model.Node("BatchNormalization", {"c", "s", "s", "s", "s"}, {"b"}), "epsilon", 0.1f);
  model.Node("Shape", {"b"}, {"sh"});
  model.Node("Gather", {"sh", "i"}, {"g"});
  SetInt(model.Node("Concat", {"g", "i"}, {"cat"}), "axis", 0);
  model.Node("ConstantOfShape", {"cat"}, {"zeros"});
  SetInts(model.Node("MaxPool", {"b"}, {"p"}), "kernel_shape", {2, 2});
  model.Node("Reshape", {"p", "shape"}, {"r"});
  SetInts(model.Node("Transpose", {"r"}, {"t"}), "perm", {1, 0});
  model.Node("Softmax", {"t"}, {"y"});
  return model.Bytes();
}

void Import(const std::string& bytes) {
  const auto copy = std::make_shared<std::string>(bytes);
  auto graph = ImportBytes(std::as_bytes(std::span(*copy)), copy, "bad.onnx");
  if (!graph.ok()) {
    EXPECT_EQ(graph.status().message().rfind("bad.onnx: ", 0), 0u) << graph.status().message();
    EXPECT_NE(graph.status().code(), Code::kInternal);
    return;
  }
  const Status status = graph::RunPipeline(*graph);
  EXPECT_NE(status.code(), Code::kInternal) << status.message();
}

TEST(MalformedTest, TheModelItselfIsFine) {
  const auto bytes = std::make_shared<std::string>(Bytes());
  auto graph = ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "good.onnx");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Status status = graph::RunPipeline(*graph);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(MalformedTest, TruncatedAtEveryLength) {
  const std::string bytes = Bytes();
  for (size_t length = 0; length < bytes.size(); ++length) Import(bytes.substr(0, length));
}

TEST(MalformedTest, BytesChanged) {
  const std::string bytes = Bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = bytes;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    Import(bad);
  }
}

TEST(MalformedTest, EveryByteToExtremes) {
  const std::string bytes = Bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned char value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(value);
      Import(bad);
    }
  }
}

TEST(MalformedTest, PiecesMovedAndRepeated) {
  const std::string bytes = Bytes();
  std::mt19937 random(8);
  for (int round = 0; round < 5000; ++round) {
    const size_t from = random() % bytes.size();
    const size_t count = random() % (bytes.size() - from);
    std::string bad = bytes;
    bad.insert(random() % bad.size(), bytes.substr(from, count));
    Import(bad);
  }
}

TEST(SkeletonTest, LimitsHold) {
  // Graphs in attributes in nodes in graphs ...
  std::string nested;
  const auto wrap = [&](char key) {
    std::string length;
    for (size_t n = nested.size();; n >>= 7) {
      length.push_back(static_cast<char>(n < 0x80 ? n : (n & 0x7f) | 0x80));
      if (n < 0x80) break;
    }
    nested = std::string(1, key) + length + nested;
  };
  for (int i = 0; i < 200; ++i) {
    wrap(0x32);             // attribute: g
    wrap(0x2a);             // node: attribute
    wrap(0x0a);             // graph: node
    if (i != 31) continue;  // as many graphs in graphs as the importer takes
    const std::string inner = nested;
    wrap(0x3a);
    const Status status = MakeSkeleton(std::as_bytes(std::span(nested))).status();
    EXPECT_EQ(status.message().find("nested too deeply"), std::string::npos) << status.message();
    nested = inner;
  }
  wrap(0x3a);  // model: graph
  ExpectError(MakeSkeleton(std::as_bytes(std::span(nested))).status(), "nested too deeply");

  SkeletonLimits limits;
  limits.fields = 10;
  const std::string bytes = Bytes();
  ExpectError(MakeSkeleton(std::as_bytes(std::span(bytes)), limits).status(),
              "more than 10 fields");
  limits = {};
  limits.bytes = 50;
  ExpectError(MakeSkeleton(std::as_bytes(std::span(bytes)), limits).status(), "too much data");
}

TEST(SkeletonTest, WeightsStayBehind) {
  Model model;
  model.Floats("w", {1000}, std::vector<float>(1000, 1.0f));
  const std::string bytes = model.Bytes();
  const auto skeleton = MakeSkeleton(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(skeleton.ok());
  EXPECT_LT(skeleton->size(), 100u);
}

// Fields with the numbers of our own additions are not taken from a file.
TEST(SkeletonTest, PositionsCannotBeForged) {
  Model model;
  model.Output("w");
  onnx::TensorProto& w = model.Floats("w", {2}, {});
  w.clear_raw_data();
  w.set_raw_offset(uint64_t{1} << 40);
  w.set_raw_length(8);
  ExpectError(model.Import().status(), "2 elements are needed for float32[2], 0 are there");
}

}  // namespace
}  // namespace temper::importer
