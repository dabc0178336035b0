#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/fd.h"

namespace postern::plugin::library {
namespace {

/// An object of this library.
const char here = 0;

struct Segment {
  char *begin;
  size_t bytes;  // whole pages
  int access;    // of mmap(2), as the file has it
  size_t file_bytes = 0;
  off_t file_offset = 0;
};

struct Mapped {
  const char *base = nullptr;
  const ElfW(Dyn) *dynamic = nullptr;
  std::vector<Segment> segments{};
  char *sealed_end = nullptr;  // up to here writable pages were made read-only (-z relro)
};

size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

Segment segment_of(const dl_phdr_info &library, const ElfW(Phdr) & header) {
  const uintptr_t begin = library.dlpi_addr + header.p_vaddr;
  const uintptr_t within = begin % page_bytes();
  const size_t bytes = (header.p_memsz + within + page_bytes() - 1) / page_bytes() * page_bytes();
  const int access = ((header.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((header.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                     ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  return {.begin = reinterpret_cast<char *>(begin - within),
          .bytes = bytes,
          .access = access,
          .file_bytes = header.p_filesz + within,
          .file_offset = static_cast<off_t>(header.p_offset - within)};
}

int note_mapped(dl_phdr_info *library, size_t, void *to) {
  Mapped mapped{.base = reinterpret_cast<const char *>(library->dlpi_addr)};
  bool is_this = false;
  for (const ElfW(Phdr) & header : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
    if (header.p_type == PT_DYNAMIC)
      mapped.dynamic = reinterpret_cast<const ElfW(Dyn) *>(library->dlpi_addr + header.p_vaddr);
    if (header.p_type == PT_GNU_RELRO) {
      const uintptr_t end = library->dlpi_addr + header.p_vaddr + header.p_memsz;
      mapped.sealed_end = reinterpret_cast<char *>(end / page_bytes() * page_bytes());
    }
    if (header.p_type != PT_LOAD) continue;
    const Segment &segment = mapped.segments.emplace_back(segment_of(*library, header));
    is_this = is_this || (&here >= segment.begin && &here < segment.begin + segment.bytes);
  }
  if (!is_this) return 0;
  *static_cast<Mapped *>(to) = std::move(mapped);
  return 1;
}

Mapped mapped() {
  Mapped found;
  dl_iterate_phdr(note_mapped, &found);
  return found;
}

/// The loader has made addresses of these values.
ElfW(Addr) value_of(const Mapped &mapped, ElfW(Sxword) tag) {
  for (const ElfW(Dyn) *entry = mapped.dynamic; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == tag) return entry->d_un.d_val;
  return 0;
}

/// Names of compilers, of transactional memory and of sanitizers may be missing.
bool is_servers(std::string_view name) {
  return !name.starts_with("__") && !name.starts_with("_ITM_") && !name.starts_with("_ZGT");
}

/// The first weak name of these relocations that is undefined.
const char *missing_of(const Mapped &mapped, ElfW(Sxword) relocations_tag, ElfW(Sxword) bytes_tag) {
  const auto *const symbols = reinterpret_cast<const ElfW(Sym) *>(value_of(mapped, DT_SYMTAB));
  const auto *const texts = reinterpret_cast<const char *>(value_of(mapped, DT_STRTAB));
  const auto *const relocations = reinterpret_cast<const ElfW(Rela) *>(value_of(mapped, relocations_tag));
  const size_t count = value_of(mapped, bytes_tag) / sizeof(ElfW(Rela));
  for (const ElfW(Rela) & relocation : std::span(relocations, relocations != nullptr ? count : 0)) {
    const ElfW(Sym) &symbol = symbols[ELF64_R_SYM(relocation.r_info)];
    if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) continue;
    const char *const name = texts + symbol.st_name;
    if (is_servers(name) && dlsym(RTLD_DEFAULT, name) == nullptr) return name;
  }
  return nullptr;
}

// AddressSanitizer would stop memcpy() and memcmp() at the gaps between the library's variables.
#ifdef __SANITIZE_ADDRESS__
[[gnu::no_sanitize("address")]] void copy_pages(void *to, const char *from, size_t bytes) {
  auto *const copies = static_cast<volatile char *>(to);
  for (size_t i = 0; i < bytes; ++i) copies[i] = from[i];
}
[[gnu::no_sanitize("address")]] bool are_same(const char *ours, const char *file, size_t bytes) {
  const volatile char *const watched_by_nobody = ours;
  for (size_t i = 0; i < bytes; ++i)
    if (watched_by_nobody[i] != file[i]) return false;
  return true;
}
#else
void copy_pages(void *to, const char *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
bool are_same(const char *ours, const char *file, size_t bytes) {
  return std::memcmp(ours, file, bytes) == 0;
}
#endif

/// Replaces the pages atomically by a copy, because other threads may be running in them.
bool copy_in_place(const Segment &segment) {
  void *const copy = mmap(nullptr, segment.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  copy_pages(copy, segment.begin, segment.bytes);
  if (mprotect(copy, segment.bytes, segment.access) == 0 &&
      mremap(copy, segment.bytes, segment.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, segment.begin) != MAP_FAILED)
    return true;
  munmap(copy, segment.bytes);
  return false;
}

bool holds(int file, const Segment &segment) {
  std::array<char, 65536> piece;
  for (size_t at = 0; at < segment.file_bytes;) {
    const size_t wanted = std::min(piece.size(), segment.file_bytes - at);
    const ssize_t read = pread(file, piece.data(), wanted, segment.file_offset + static_cast<off_t>(at));
    if (read <= 0 || !are_same(segment.begin + at, piece.data(), static_cast<size_t>(read))) return false;
    at += static_cast<size_t>(read);
  }
  return true;
}

bool is_data(const Segment &segment) {
  return (segment.access & PROT_WRITE) != 0;
}

}  // namespace

std::string missing_name() {
  const Mapped all = mapped();
  const char *const called = missing_of(all, DT_JMPREL, DT_PLTRELSZ);
  const char *const missing = called != nullptr ? called : missing_of(all, DT_RELA, DT_RELASZ);
  return missing != nullptr ? missing : "";
}

std::string path() {
  Dl_info about{};
  return dladdr(&here, &about) != 0 ? about.dli_fname : "";
}

void keep_data() {
  const Mapped all = mapped();
  for (const Segment &segment : all.segments) {
    if (!is_data(segment)) continue;
    char *const end = segment.begin + segment.bytes;
    char *const sealed_end = std::clamp(all.sealed_end, segment.begin, end);
    const auto part = [](char *from, char *to, int access) {
      if (from != to) (void)copy_in_place({.begin = from, .bytes = static_cast<size_t>(to - from), .access = access});
    };
    part(segment.begin, sealed_end, PROT_READ);
    part(sealed_end, end, segment.access);
  }
}

void stay() {
  static bool stays = false;
  if (stays) return;
  stays = dlopen(path().c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
  if (!stays) log::error("the library cannot be kept in memory: %s", dlerror());
  for (const Segment &segment : mapped().segments)
    if (!is_data(segment)) (void)copy_in_place(segment);
}

bool is_the_file() {
  const net::Fd file(open(path().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return true;
  for (const Segment &segment : mapped().segments)
    if (!is_data(segment) && !holds(file.get(), segment)) return false;
  return true;
}

}  // namespace postern::plugin::library
