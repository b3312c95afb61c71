// A program that misbehaves in the way its argument names. Exit status 0: it got away with it;
// 3: it was refused; 4: wrong usage.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

int Fork() {
  for (int i = 0; i < 100000; ++i) {
    if (fork() < 0) return 3;
  }
  return 0;
}

int Connect() {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (s < 0) return 3;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(22);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(s, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ? 0 : 3;
}

int Write(const char* path) {
  int f = open(path, O_WRONLY | O_CREAT, 0600);
  return f < 0 ? 3 : 0;
}

int FillTemporary() {
  int f = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
  if (f < 0) return 4;
  std::vector<char> block(1 << 20, 'x');
  for (int i = 0; i < 4096; ++i) {
    if (write(f, block.data(), block.size()) < 0) return 3;
  }
  return 0;
}

int Allocate() {
  size_t total = 0;
  while (total < (size_t{64} << 30)) {
    void* p = mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 3;
    std::memset(p, 1, 4096);
    total += 64 << 20;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "good") {
    int sum = 0;
    std::thread([&] { sum = 1; }).join();
    return sum == 1 && Write("/tmp/mine") == 0 ? 0 : 3;
  }
  if (mode == "fork") return Fork();
  if (mode == "connect") return Connect();
  if (mode == "write") return Write("/usr/temper-was-here");
  if (mode == "read") return open(argc > 2 ? argv[2] : "", O_RDONLY) < 0 ? 3 : 0;
  if (mode == "signal") return kill(argc > 2 ? std::atoi(argv[2]) : 0, SIGTERM) != 0 ? 3 : 0;
  if (mode == "trace") return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 ? 3 : 0;
  if (mode == "fill") return FillTemporary();
  if (mode == "allocate") return Allocate();
  if (mode == "segv") {
    volatile int* nothing = nullptr;
    *nothing = 1;
    return 0;
  }
  if (mode == "ill") __builtin_trap();
  if (mode == "loop") {
    signal(SIGTERM, SIG_IGN);
    volatile unsigned long spin = 0;
    while (true) spin = spin + 1;
  }
  return 4;
}
