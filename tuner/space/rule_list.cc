#include "tuner/space/rules.h"

namespace temper::tuner {

std::vector<std::unique_ptr<NestRule>> MakeRules(const RuleContext& context, const Plan& plan) {
  std::vector<std::unique_ptr<NestRule>> rules;
  for (const Nest& nest : plan.nests) {
    switch (nest.kind) {
      case NestKind::kTile:
        rules.push_back(MakeTileRule(context, nest));
        break;
      case NestKind::kRow:
        rules.push_back(MakeRowRule(context, nest));
        break;
      case NestKind::kTransform:
        rules.push_back(MakeTransformRule(context, nest));
        break;
      case NestKind::kColumn:
        rules.push_back(MakeColumnRule(context, nest));
        break;
      case NestKind::kElementwise:
        rules.push_back(MakeElementwiseRule(context, nest));
        break;
    }
  }
  return rules;
}

}  // namespace temper::tuner
