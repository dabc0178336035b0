/* no_memory.c: a library to be preloaded into a server, whose malloc() fails now and then for callers between two
   addresses, those of a library. What it does is in a file that the test maps, too; NO_MEMORY_CONTROL names it. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct control {
  uint64_t from, to; /* return addresses */
  uint64_t one_in;   /* 0: none fails */
  uint64_t dice;
  uint64_t failed;
};

extern void *__libc_malloc(size_t size);
static volatile struct control *control;

__attribute__((constructor)) static void map_control(void) {
  const char *path = getenv("NO_MEMORY_CONTROL");
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) control = mapped;
  close(fd);
}

void *malloc(size_t size) {
  uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (control != NULL && control->one_in != 0 && caller >= control->from && caller < control->to) {
    uint64_t mixed = __atomic_add_fetch(&control->dice, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED) * 0xbf58476d1ce4e5b9u;
    if ((mixed ^ mixed >> 31) % control->one_in == 0) {
      __atomic_add_fetch(&control->failed, 1, __ATOMIC_RELAXED);
      errno = ENOMEM;
      return NULL;
    }
  }
  return __libc_malloc(size);
}
