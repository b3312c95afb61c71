// What the cost model sees of a lowered program: one fixed-length vector for each store.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/constants.h"
#include "compiler/target/target.h"
#include "compiler/tir/stmt.h"

namespace temper::costmodel {

// Grows when the meaning of any feature changes, or the prior, whose scores a model corrects:
// stored models of another version are refused.
inline constexpr int kFeaturesVersion = 8;

inline constexpr int kBuffersDescribed = 4;  // the most used ones of a store
inline constexpr int kBufferFeatures = 18;   // of each
inline constexpr int kStoreFeatures = 44;    // of the store itself
inline constexpr int kFeatureCount = kStoreFeatures + kBuffersDescribed * kBufferFeatures;

using FeatureVector = std::array<float, kFeatureCount>;

struct ProgramFeatures {
  std::vector<FeatureVector> stores;  // at least one
  double prior_us = 0;                // the analytic estimate of the whole program
};

// Of some of a program's loop nests: what depends on the others is left to Join().
struct NestFeatures {
  std::vector<FeatureVector> stores;
  std::vector<double> us;  // the prior's estimate of each
};

NestFeatures ExtractNest(const tir::Function& function, const Target& target, int threads,
                         std::span<const int> constants = {}, Constants place = Constants::kCold);

// Of the program that consists of the nests, in order: the same as ExtractFeatures of all of it.
ProgramFeatures Join(std::span<const NestFeatures* const> nests);

// Of a function from lower::LowerToLoops, its loops still annotated. `threads` is the schedule's;
// `constants`: buffers of the function that never change; `place`: where large ones of them are.
ProgramFeatures ExtractFeatures(const tir::Function& function, const Target& target, int threads,
                                std::span<const int> constants = {},
                                Constants place = Constants::kCold);

// A name for each position, for people; features.cc documents each.
std::string_view FeatureName(int position);

}  // namespace temper::costmodel
