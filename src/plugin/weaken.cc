// weaken.cc: a program that the build runs on the library it has linked: makes weak the names that the server defines.
//
// The loader refuses a library at the first name that the server does not have, and its message has that name alone:
// "undefined symbol: _ZN3THD...". A weak name may be missing. Then the library is loaded in a server of any version,
// and logs which one it was built for before the server refuses it; library.cc checks that every name exists before
// anything is called. Names with a version, of the C library and of OpenSSL, are unchanged.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>

namespace {

class Library {
 public:
  explicit Library(char *bytes) : bytes_(bytes) {}

  bool is_one() const {
    return std::memcmp(header().e_ident, ELFMAG, SELFMAG) == 0 && header().e_ident[EI_CLASS] == ELFCLASS64;
  }
  const Elf64_Shdr *section(Elf64_Word type) const {
    const auto *const first = reinterpret_cast<const Elf64_Shdr *>(bytes_ + header().e_shoff);
    for (const Elf64_Shdr &one : std::span(first, header().e_shnum))
      if (one.sh_type == type) return &one;
    return nullptr;
  }
  template <typename Entry>
  std::span<Entry> entries(const Elf64_Shdr &of) const {
    return {reinterpret_cast<Entry *>(bytes_ + of.sh_offset), of.sh_size / sizeof(Entry)};
  }

 private:
  const Elf64_Ehdr &header() const { return *reinterpret_cast<const Elf64_Ehdr *>(bytes_); }

  char *const bytes_;
};

/// Returns how many names were made weak; -1: not a library.
int weaken(const Library &library) {
  if (!library.is_one()) return -1;
  const Elf64_Shdr *const names = library.section(SHT_DYNSYM);
  const Elf64_Shdr *const versions = library.section(SHT_GNU_versym);
  if (names == nullptr || versions == nullptr) return -1;
  const std::span all = library.entries<Elf64_Sym>(*names);
  const std::span version_of = library.entries<const Elf64_Versym>(*versions);
  int count = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    Elf64_Sym &name = all[i];
    const bool is_servers = name.st_shndx == SHN_UNDEF && (version_of[i] & 0x7fff) <= VER_NDX_GLOBAL;
    if (!is_servers || ELF64_ST_BIND(name.st_info) != STB_GLOBAL) continue;
    name.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(name.st_info));
    ++count;
  }
  return count;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) return 2;
  const int file = open(arguments[1], O_RDWR | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0) {
    std::perror(arguments[1]);
    return 1;
  }
  void *const mapped = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED || weaken(Library(static_cast<char *>(mapped))) < 0) {
    std::fprintf(stderr, "weaken: %s is no library that this program knows how to change\n", arguments[1]);
    return 1;
  }
  return 0;
}
