#include <elf.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>

#include "base/file.h"
#include "compiler/codegen/codegen.h"

LLD_HAS_DRIVER(elf)

namespace temper::codegen {
namespace {

// Whether an object of ours asks for functions of the C library.
Result<bool> NeedsLibm(const std::string& path) {
  TEMPER_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  std::string_view bytes = file.bytes();
  auto bad = [&] { return InvalidArgument(path + " is not an object file"); };
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return bad();
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return bad();
  auto section = [&](unsigned i, Elf64_Shdr* out) {
    uint64_t at = header.e_shoff + uint64_t{i} * sizeof(Elf64_Shdr);
    if (at > bytes.size() || bytes.size() - at < sizeof(Elf64_Shdr)) return false;
    std::memcpy(out, bytes.data() + at, sizeof(Elf64_Shdr));
    return out->sh_type == SHT_NOBITS ||
           (out->sh_offset <= bytes.size() && out->sh_size <= bytes.size() - out->sh_offset);
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table;
    if (!section(i, &table)) return bad();
    if (table.sh_type != SHT_SYMTAB) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + table.sh_offset + at, sizeof(symbol));
      bool outside =
          symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0 && symbol.st_other == STV_DEFAULT;
      if (outside) return true;
    }
  }
  return false;
}

// The C library's mathematics, so that the shared object names it as needed. A process that loads
// the object has it already; empty where it is not found, and then it must be there anyway.
std::string FindLibm() {
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6",
                           "/usr/lib64/libm.so.6", "/usr/lib/libm.so.6"}) {
    if (FileExists(path)) return path;
  }
  return "";
}

}  // namespace

Status LinkShared(const std::vector<std::string>& objects, const std::string& output) {
  std::vector<std::string> words = {
      "ld.lld",          "-shared",        "--hash-style=gnu", "--threads=1", "-z",  "noexecstack",
      "--build-id=none", "--no-rosegment", "-Bsymbolic",       "-o",          output};
  bool libm = false;
  for (const std::string& path : objects) {
    words.push_back(path);
    TEMPER_ASSIGN_OR_RETURN(bool needs, NeedsLibm(path));
    libm = libm || needs;
  }
  if (libm) {
    if (std::string path = FindLibm(); !path.empty()) words.push_back(path);
  }
  std::vector<const char*> args;
  for (const std::string& w : words) args.push_back(w.c_str());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  const lld::DriverDef driver = {lld::Gnu, &lld::elf::link};
  lld::Result result = lld::lldMain(args, out_stream, err_stream, {driver});
  if (!result.canRunAgain) return Internal("lld cannot go on: " + err);
  if (result.retCode != 0) return Internal("cannot link " + output + ": " + err);
  return OkStatus();
}

}  // namespace temper::codegen
