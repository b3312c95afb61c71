#include "compiler/schedule/readers.h"

namespace temper::schedule {

std::vector<std::vector<int>> ReadersOf(const te::Program& program) {
  std::vector<std::vector<int>> readers(program.stages.size());
  for (size_t s = 0; s < program.stages.size(); ++s) {
    tir::Visit(program.stages[s].body, [&](const tir::Expr& e) {
      if (e->kind() == tir::ExprKind::kLoad) {
        int producer = program.tensors[e->buffer()].producer;
        if (producer >= 0 &&
            (readers[producer].empty() || readers[producer].back() != static_cast<int>(s))) {
          readers[producer].push_back(static_cast<int>(s));
        }
      }
      return true;
    });
  }
  return readers;
}

}  // namespace temper::schedule
