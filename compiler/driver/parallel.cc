#include "compiler/driver/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace temper::driver {

Status ForEachParallel(int count, int threads, const std::function<Status(int)>& work) {
  std::vector<Status> statuses(count);
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  const auto loop = [&] {
    for (int i; !failed && (i = next++) < count;) {
      statuses[i] = work(i);
      if (!statuses[i].ok()) failed = true;
    }
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < std::min(threads, count); ++t) others.emplace_back(loop);
  loop();
  others.clear();  // joins
  for (Status& status : statuses) TEMPER_RETURN_IF_ERROR(std::move(status));
  return OkStatus();
}

}  // namespace temper::driver
