// Compiles a model with this project's operators and pass, and runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "compiler/driver/compile.h"
#include "compiler/tools/untuned.h"
#include "deploy/runtime/temper.h"
#include "extension.h"

namespace outside {
namespace {

using temper::Code;
using temper::Result;
using temper::driver::CompileOptions;
using temper::driver::CompileReport;

constexpr int kRows = 5, kMiddle = 3, kColumns = 7;

CompileOptions Options() {
  CompileOptions options;
  options.target = *temper::ParseTarget("native");
  options.producer = "outside_project_test";
  options.frontend.shapes = {{{"x", {kRows, kMiddle, kColumns}}}};
  options.frontend.extensions = AllExtensions();
  return options;
}

Result<CompileReport> CompileTo(const std::string& output, const CompileOptions& options) {
  const temper::SystemClock clock;
  return temper::driver::Compile(OUTSIDE_MODEL, output, options, nullptr,
                                 temper::tools::UntunedChooser(), clock);
}

float SmoothStepOf(float x, float low, float high) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

class OutsideProject : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = temper::ScopedTempDir::Create("outside");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  std::string Output() const { return folder_->File("model.so"); }

  std::optional<temper::ScopedTempDir> folder_;
};

TEST_F(OutsideProject, CompilesAndRunsWithItsOperators) {
  auto report = CompileTo(Output(), Options());
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  temper_model* model = nullptr;
  ASSERT_EQ(temper_open(Output().c_str(), 1, &model), 0) << temper_error();

  std::vector<float> x(kRows * kMiddle * kColumns), y(x.size(), -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 2;
  int64_t shape[] = {kRows, kMiddle, kColumns};
  DLTensor in{}, out{};
  in.data = x.data();
  in.device = {kDLCPU, 0};
  in.ndim = 3;
  in.dtype = {kDLFloat, 32, 1};
  in.shape = shape;
  out = in;
  out.data = y.data();
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  ASSERT_EQ(temper_run(model, inputs, outputs), 0) << temper_error();
  temper_close(model);

  for (size_t row = 0; row < x.size(); row += kColumns) {
    const auto [least, most] = std::minmax_element(&x[row], &x[row] + kColumns);
    for (int c = 0; c < kColumns; ++c) {
      const float constant = SmoothStepOf(static_cast<float>(c) - 2, -1, 3);
      EXPECT_NEAR(y[row + c], SmoothStepOf(x[row + c], 0, 1) * (*most - *least) + constant, 1e-5)
          << row << " " << c;
    }
  }
}

TEST_F(OutsideProject, ThePassRunsWhereItAsksToAndNamesFollow) {
  CompileOptions options = Options();
  std::vector<std::string> order;
  bool clip_before = false, clip_after = false, constant_is_folded = false;
  options.frontend.after_pass = [&](std::string_view pass, const temper::graph::Graph& graph) {
    order.emplace_back(pass);
    bool clip = false;
    int steps = 0;
    for (int id : graph.order()) {
      const temper::graph::Node& node = graph.node(id);
      // Whether a SmoothStep still reads it.
      clip |= node.Is("Clip") && !graph.value(node.outputs[0]).uses.empty();
      steps += node.op == "SmoothStep";
    }
    if (pass == "fold_constants") clip_before = clip, constant_is_folded = steps == 1;
    if (pass == "drop_clips") clip_after = clip;
  };
  auto report = CompileTo(Output(), options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  const auto at = std::find(order.begin(), order.end(), "drop_clips");
  ASSERT_NE(at, order.end());
  EXPECT_EQ(*(at - 1), "fold_constants");
  EXPECT_TRUE(clip_before);
  EXPECT_FALSE(clip_after);
  EXPECT_TRUE(constant_is_folded);
  std::vector<std::string> nodes;
  for (const auto& kernel : report->kernels) {
    nodes.insert(nodes.end(), kernel.nodes.begin(), kernel.nodes.end());
  }
  for (const char* node : {"clip", "step", "range", "scale", "shift"}) {
    EXPECT_NE(std::find(nodes.begin(), nodes.end(), node), nodes.end()) << node;
  }
}

TEST_F(OutsideProject, ItsPassCanBeLeftOutAsOthers) {
  CompileOptions options = Options();
  options.frontend.disabled_passes = {"drop_clips"};
  EXPECT_TRUE(CompileTo(Output(), options).ok());
}

// What CompileTo refuses the options with.
std::string Refusal(const std::string& output, const CompileOptions& options) {
  auto report = CompileTo(output, options);
  return report.ok() ? "" : report.status().message();
}

TEST_F(OutsideProject, WithoutItsOperatorsTheModelIsRefusedByName) {
  CompileOptions options = Options();
  options.frontend.extensions = {};
  const std::string message = Refusal(Output(), options);
  EXPECT_NE(message.find("com.example.SmoothStep (node 'step', 'constant_step')"),
            std::string::npos)
      << message;
}

TEST_F(OutsideProject, OperatorsThatCannotWorkAreRefused) {
  const auto refusal_of = [&](auto change) {
    CompileOptions options = Options();
    auto op = std::make_shared<temper::ops::OutsideOp>(*SmoothStep());
    change(*op);
    options.frontend.extensions.operators[0] = op;
    return Refusal(Output(), options);
  };
  using Op = temper::ops::OutsideOp;
  EXPECT_EQ(refusal_of([](Op&) {}), "");
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal_of([](Op& op) { op.domain = ""; }), "take one of your own");
  has(refusal_of([](Op& op) { op.infer = nullptr; }), "no `infer`");
  has(refusal_of([](Op& op) { op.kernel.build = nullptr; }), "neither a kernel nor");
  has(refusal_of([](Op& op) { op.compose = RowRange()->compose; }), "both a kernel and");
  has(refusal_of([](Op& op) { op.max_inputs = 0; }), "numbers of inputs");
  has(refusal_of([](Op& op) { op.name = "RowRange"; }), "there twice");
  has(refusal_of([](Op& op) { op.newest_version = 0; }), "version 1 of com.example");
  has(refusal_of([](Op& op) { op.attributes = {{"low", -1.0f}}; }), "an attribute \"high\"");
  has(refusal_of([](Op& op) { op.attributes.push_back({"more", int64_t{1}, true}); }),
      "lacks the attribute more");
  has(refusal_of([](Op& op) { op.attributes[0].value = int64_t{1}; }), "another type");
  has(refusal_of([](Op& op) { op.min_inputs = op.max_inputs = 2; }), "input 1 is missing");
}

TEST_F(OutsideProject, PassesThatCannotRunAreRefused) {
  const auto refusal_of = [&](temper::driver::OutsidePass pass) {
    CompileOptions options = Options();
    options.frontend.extensions.passes.push_back(std::move(pass));
    return Refusal(Output(), options);
  };
  EXPECT_EQ(refusal_of({"first", "import", DropClips}), "");
  EXPECT_EQ(refusal_of({"behind_the_other", "drop_clips", DropClips}), "");
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal_of({"x", "no_pass", DropClips}), "\"no_pass\", which is no pass");
  has(refusal_of({"dead_code", "import", DropClips}), "taken or reserved");
  has(refusal_of({"import", "import", DropClips}), "taken or reserved");
  has(refusal_of({"x", "import", nullptr}), "no function");
  // What a pass breaks is found behind it.
  const std::string broken = refusal_of({"failing", "import", [](temper::graph::Graph&) {
                                           return temper::Unimplemented("not today");
                                         }});
  has(broken, "not today");
}

}  // namespace
}  // namespace outside
