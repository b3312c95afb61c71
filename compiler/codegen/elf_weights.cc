#include "compiler/codegen/elf_weights.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file.h"

namespace temper::codegen {
namespace {

// The file: ELF header, string table, symbol table, section headers, then the weights.
constexpr int64_t kPage = 4096;
constexpr char kStrings[] = "\0.rodata.weights\0.symtab\0.strtab\0.note.GNU-stack\0temper_weights";
constexpr int kRodataName = 1, kSymtabName = 17, kStrtabName = 25, kStackName = 33;
constexpr int kSymbolName = 49;

struct Head {
  Elf64_Ehdr header;
  Elf64_Sym symbols[2];
  Elf64_Shdr sections[5];
  char strings[sizeof(kStrings)];
};

Head MakeHead(int64_t total_bytes) {
  Head h;
  std::memset(static_cast<void*>(&h), 0, sizeof(h));
  std::memcpy(h.header.e_ident, ELFMAG, SELFMAG);
  h.header.e_ident[EI_CLASS] = ELFCLASS64;
  h.header.e_ident[EI_DATA] = ELFDATA2LSB;
  h.header.e_ident[EI_VERSION] = EV_CURRENT;
  h.header.e_type = ET_REL;
  h.header.e_machine = EM_X86_64;
  h.header.e_version = EV_CURRENT;
  h.header.e_ehsize = sizeof(Elf64_Ehdr);
  h.header.e_shentsize = sizeof(Elf64_Shdr);
  h.header.e_shoff = offsetof(Head, sections);
  h.header.e_shnum = 5;
  h.header.e_shstrndx = 3;

  h.symbols[1].st_name = kSymbolName;
  h.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  h.symbols[1].st_other = STV_HIDDEN;
  h.symbols[1].st_shndx = 1;
  h.symbols[1].st_size = total_bytes;

  Elf64_Shdr& rodata = h.sections[1];
  rodata.sh_name = kRodataName;
  rodata.sh_type = SHT_PROGBITS;
  rodata.sh_flags = SHF_ALLOC;
  rodata.sh_offset = kPage;
  rodata.sh_size = total_bytes;
  rodata.sh_addralign = kPage;

  Elf64_Shdr& symtab = h.sections[2];
  symtab.sh_name = kSymtabName;
  symtab.sh_type = SHT_SYMTAB;
  symtab.sh_offset = offsetof(Head, symbols);
  symtab.sh_size = sizeof(h.symbols);
  symtab.sh_link = 3;
  symtab.sh_info = 1;  // the first symbol that is not local
  symtab.sh_addralign = 8;
  symtab.sh_entsize = sizeof(Elf64_Sym);

  Elf64_Shdr& strtab = h.sections[3];
  strtab.sh_name = kStrtabName;
  strtab.sh_type = SHT_STRTAB;
  strtab.sh_offset = offsetof(Head, strings);
  strtab.sh_size = sizeof(kStrings);
  strtab.sh_addralign = 1;

  // Says that no executable stack is needed.
  h.sections[4].sh_name = kStackName;
  h.sections[4].sh_type = SHT_PROGBITS;
  h.sections[4].sh_offset = sizeof(Head);
  h.sections[4].sh_addralign = 1;

  std::memcpy(h.strings, kStrings, sizeof(kStrings));
  return h;
}

static_assert(sizeof(Head) <= kPage);

Status WriteZeros(int fd, int64_t count) {
  static constexpr std::array<char, 4096> kZeros{};
  while (count > 0) {
    auto n = static_cast<size_t>(std::min<int64_t>(count, kZeros.size()));
    TEMPER_RETURN_IF_ERROR(WriteAll(fd, {kZeros.data(), n}));
    count -= static_cast<int64_t>(n);
  }
  return OkStatus();
}

}  // namespace

Status WriteWeightsObject(const std::string& path, std::span<const WeightSpan> spans,
                          int64_t total_bytes) {
  TEMPER_CHECK(total_bytes > 0);
  ScopedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot write " + path);
  auto write = [&]() -> Status {
    Head head = MakeHead(total_bytes);
    TEMPER_RETURN_IF_ERROR(
        WriteAll(fd.get(), {reinterpret_cast<const char*>(&head), sizeof(head)}));
    TEMPER_RETURN_IF_ERROR(WriteZeros(fd.get(), kPage - static_cast<int64_t>(sizeof(head))));
    int64_t at = 0;
    for (const WeightSpan& span : spans) {
      auto size = static_cast<int64_t>(span.bytes.size());
      TEMPER_CHECK(span.offset >= at && span.offset + size <= total_bytes);
      TEMPER_RETURN_IF_ERROR(WriteZeros(fd.get(), span.offset - at));
      TEMPER_RETURN_IF_ERROR(WriteAll(
          fd.get(), {reinterpret_cast<const char*>(span.bytes.data()), span.bytes.size()}));
      at = span.offset + size;
    }
    return WriteZeros(fd.get(), total_bytes - at);
  };
  Status status = write();
  return status.ok() ? status : status.WithContext("cannot write " + path);
}

}  // namespace temper::codegen
