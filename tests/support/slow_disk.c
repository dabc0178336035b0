/* slow_disk.c: a library to be preloaded into a server: flushes of the plugin's threads take longer, or do not end. What
   it does is in a file that the test maps, too; SLOW_DISK_CONTROL names it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct control {
  uint64_t flush_us; /* more than the disk takes */
  uint64_t held;     /* flushes end when it is 0 */
  uint64_t flushing; /* how many are under way */
};

static volatile struct control *control;

__attribute__((constructor)) static void map_control(void) {
  const char *path = getenv("SLOW_DISK_CONTROL");
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) control = mapped;
  close(fd);
}

int fdatasync(int fd) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (control != NULL && strncmp(name, "postern", 7) == 0) {
    __atomic_add_fetch(&control->flushing, 1, __ATOMIC_SEQ_CST);
    usleep((useconds_t)control->flush_us);
    while (control->held != 0) usleep(1000);
    __atomic_sub_fetch(&control->flushing, 1, __ATOMIC_SEQ_CST);
  }
  return (int)syscall(SYS_fdatasync, fd);
}
