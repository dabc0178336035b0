/* slow_disk.c: a library to be preloaded into a server: flushes of the plugin's threads take longer, or do not end; and
   what is written to InnoDB's log is kept in memory until it is flushed, so that SIGKILL loses what a power failure would.
   What it does is in a file that the test maps, too; SLOW_DISK_CONTROL names it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
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
  uint64_t keeps;    /* writes to the log, from now on, until they are flushed */
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

/* A write that is not flushed. */
struct kept {
  struct kept *next;
  int fd;
  off_t offset;
  size_t size;
  char bytes[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept *first;
static struct kept **last = &first;

static int is_log(int fd) {
  char link[32];
  char path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, "/ib_logfile") != NULL;
}

static ssize_t write_at(int fd, const void *bytes, size_t size, off_t offset) {
  if (control == NULL || control->keeps == 0 || !is_log(fd)) return syscall(SYS_pwrite64, fd, bytes, size, offset);
  struct kept *kept = malloc(sizeof *kept + size);
  if (kept == NULL) abort();
  kept->next = NULL;
  kept->fd = fd;
  kept->offset = offset;
  kept->size = size;
  memcpy(kept->bytes, bytes, size);
  pthread_mutex_lock(&mutex);
  *last = kept;
  last = &kept->next;
  pthread_mutex_unlock(&mutex);
  return (ssize_t)size;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) { return write_at(fd, bytes, size, offset); }

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) { return write_at(fd, bytes, size, offset); }

/* What was written before the flush began. */
static struct kept *take_kept(void) {
  pthread_mutex_lock(&mutex);
  struct kept *taken = first;
  first = NULL;
  last = &first;
  pthread_mutex_unlock(&mutex);
  return taken;
}

static void let_go(struct kept *kept) {
  while (kept != NULL) {
    struct kept *next = kept->next;
    if (syscall(SYS_pwrite64, kept->fd, kept->bytes, kept->size, kept->offset) != (ssize_t)kept->size) abort();
    free(kept);
    kept = next;
  }
}

static int flush(long call, int fd) {
  struct kept *kept = control != NULL && is_log(fd) ? take_kept() : NULL;
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (control != NULL && strncmp(name, "postern", 7) == 0) {
    __atomic_add_fetch(&control->flushing, 1, __ATOMIC_SEQ_CST);
    usleep((useconds_t)control->flush_us);
    while (control->held != 0) usleep(1000);
    __atomic_sub_fetch(&control->flushing, 1, __ATOMIC_SEQ_CST);
  }
  let_go(kept);
  return (int)syscall(call, fd);
}

int fdatasync(int fd) { return flush(SYS_fdatasync, fd); }

int fsync(int fd) { return flush(SYS_fsync, fd); }
