#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

namespace fs = std::filesystem;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/temper_external_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(root_ / "model");
    const float values[] = {0, 1, 2, 3};
    Write(root_ / "model" / "w.bin", {reinterpret_cast<const char*>(values), sizeof(values)});
    Write(root_ / "outside.bin", std::string(16, 'x'));
  }
  void TearDown() override { fs::remove_all(root_); }

  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  // Imports y = x + w, with w as the entries say.
  Result<graph::Graph> Import(const std::string& location, const std::string& offset = "4",
                              const std::string& length = "8") {
    Model model;
    model.Input("x", {2}).Output("y").Node("Add", {"x", "w"}, {"y"});
    onnx::TensorProto& w = model.Floats("w", {2}, {});
    w.clear_raw_data();
    w.set_data_location(1);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", offset},
                                     {"length", length}}) {
      auto* entry = w.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    Write(root_ / "model" / "m.onnx", model.Bytes());
    return ImportFile((root_ / "model" / "m.onnx").string());
  }

  fs::path root_;
};

TEST_F(ExternalDataTest, IsReadInPlace) {
  const auto graph = Import("w.bin");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->ConstantInput(graph->node(graph->order()[0]), 1)->AsDoubles(),
            (std::vector<double>{1, 2}));
}

TEST_F(ExternalDataTest, RangesAreChecked) {
  ExpectError(Import("w.bin", "12").status(), "has 16 bytes; 8 at 12 are needed");
  ExpectError(Import("w.bin", "18446744073709551615").status(), "are needed");
  ExpectError(Import("w.bin", "-1").status(), "offset of its external data is not a number");
  ExpectError(Import("w.bin", "0", "7").status(), "needs 8 bytes, but its external data has 7");
}

TEST_F(ExternalDataTest, StaysBesideTheModel) {
  ExpectError(Import("missing.bin").status(), "m.onnx: tensor 'w': external data 'missing.bin'");
  ExpectError(Import("../outside.bin").status(), "must lie beside the model");
  ExpectError(Import((root_ / "outside.bin").string()).status(), "must lie beside the model");
  fs::create_symlink("w.bin", root_ / "model" / "link.bin");
  ExpectError(Import("link.bin").status(), "without symbolic links");
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  ExpectError(Import("up/outside.bin").status(), "without symbolic links");
  fs::create_hard_link(root_ / "outside.bin", root_ / "model" / "hard.bin");
  ExpectError(Import("hard.bin").status(), "several names");
  fs::create_directory(root_ / "model" / "folder");
  ExpectError(Import("folder").status(), "not a regular file");
  ExpectError(Import("").status(), "not a file name");
}

TEST_F(ExternalDataTest, ModelsInMemoryHaveNone) {
  Import("w.bin").status();
  std::ifstream in(root_ / "model" / "m.onnx", std::ios::binary);
  const auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(in),
                                                   std::istreambuf_iterator<char>());
  ExpectError(ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "m").status(),
              "its data is outside the model");
}

TEST_F(ExternalDataTest, FilesThatAreNoModels) {
  ExpectError(ImportFile((root_ / "none.onnx").string()).status(),
              "none.onnx: cannot be opened: No such file or directory");
  Write(root_ / "empty.onnx", "");
  ExpectError(ImportFile((root_ / "empty.onnx").string()).status(),
              "empty.onnx: the file is empty");
  Write(root_ / "text.onnx", "#!/bin/sh\necho hello\n");
  ExpectError(ImportFile((root_ / "text.onnx").string()).status(), "text.onnx: not an ONNX model");
  ExpectError(ImportFile(root_.string()).status(), "not a regular file");
}

}  // namespace
}  // namespace temper::importer
