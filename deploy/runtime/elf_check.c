#define _GNU_SOURCE
#include "deploy/runtime/elf_check.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/runtime/error.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MACHINE_NAME "AArch64"
#elif defined(__riscv)
#define MACHINE EM_RISCV
#define MACHINE_NAME "RISC-V"
#else
#define MACHINE EM_NONE
#define MACHINE_NAME "an architecture without a name here"
#endif

#define CLASS (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32)
#define DATA (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

static const char* MachineName(int machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "32-bit ARM";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "another architecture";
  }
}

/* Whether [offset, offset + size) lies within a file of `length` bytes. */
static int Within(uint64_t offset, uint64_t size, uint64_t length) {
  return offset <= length && size <= length - offset;
}

static int NotAModel(const char* path) {
  return temper_set_error(
      "%s is not a compiled model (not a shared object). Make one with `temper compile`.", path);
}

static int CutShort(const char* path, uint64_t length) {
  return temper_set_error("%s is damaged or cut short (%llu bytes). Copy or compile it again.",
                          path, (unsigned long long)length);
}

int temper_elf_check(int fd, const char* path) {
  struct stat info;
  if (fstat(fd, &info)) return temper_set_error("cannot read %s: %s.", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return temper_set_error("%s is not a file.", path);
  const uint64_t length = (uint64_t)info.st_size;
  ElfW(Ehdr) header;
  const ssize_t got = pread(fd, &header, sizeof header, 0);
  if (got < 0) return temper_set_error("cannot read %s: %s.", path, strerror(errno));
  if (got < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG)) return NotAModel(path);
  if ((size_t)got < sizeof header) return CutShort(path, length);
  if (header.e_ident[EI_CLASS] != CLASS || header.e_ident[EI_DATA] != DATA ||
      header.e_machine != MACHINE) {
    return temper_set_error(
        "%s was compiled for %s; this runtime runs on %s. Compile it for this device with "
        "`temper compile --target`.",
        path,
        header.e_ident[EI_DATA] == DATA ? MachineName(header.e_machine) : "another byte order",
        MACHINE_NAME);
  }
  if (header.e_type != ET_DYN) return NotAModel(path);
  if (!Within(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, length) ||
      header.e_phentsize != sizeof(ElfW(Phdr)) ||
      !Within(header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize, length)) {
    return CutShort(path, length);
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const off_t at = (off_t)(header.e_phoff + (uint64_t)i * sizeof segment);
    if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) {
      return CutShort(path, length);
    }
    if (!Within(segment.p_offset, segment.p_filesz, length)) return CutShort(path, length);
  }
  return 0;
}
