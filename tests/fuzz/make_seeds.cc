// Writes seeds for the fuzz targets: make_seeds DIR. The example programs and random schedules, as
// text and as messages.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_schedule.h"
#include "tests/support/programs.h"
#include "tests/support/schedules.h"

int main(int argc, char** argv) {
  using namespace temper;  // NOLINT: the whole file
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds DIR\n");
    return 2;
  }
  const std::filesystem::path root = argv[1];
  auto write = [&](const char* target, const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(root / target);
    std::ofstream(root / target / name, std::ios::binary) << bytes;
  };
  for (const auto& [name, program] : testing::SmallPrograms()) {
    write("program_text", name, te::CanonicalText(program));
    write("wire", name, std::string(1, '\0') + wire::ToProto(program).SerializeAsString());
  }
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    const schedule::Schedule s = testing::RandomSchedule(rng);
    const std::string name = "schedule" + std::to_string(i);
    write("schedule_text", name, schedule::ToText(s));
    write("wire", name, std::string(1, '\1') + wire::ToProto(s).SerializeAsString());
  }
  return 0;
}
