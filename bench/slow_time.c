// slow_time.c: makes a program's monotonic time pass more slowly, for one that valgrind slows down.
//
// Preloaded by bench/instructions: without it each statement would look like one that lasts, and the door would serve
// it elsewhere. Deadlines and timers of monotonic time are changed to match.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <dlfcn.h>

enum { slower = 100 };
static const int64_t second = 1000000000;

static int64_t real_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * second + now.tv_nsec;
}

static int64_t begun_ns;
__attribute__((constructor)) static void begin(void) {
  begun_ns = real_ns();
}

static struct timespec in_parts(int64_t ns) {
  const struct timespec parts = {.tv_sec = ns / second, .tv_nsec = ns % second};
  return parts;
}

/// The real time of a deadline.
static struct timespec real_deadline(const struct timespec *slow) {
  const int64_t ns = slow->tv_sec * second + slow->tv_nsec;
  return in_parts(ns <= begun_ns ? ns : begun_ns + (ns - begun_ns) * slower);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (clock != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, clock, now);
  *now = in_parts(begun_ns + (real_ns() - begun_ns) / slower);
  return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *wanted, struct itimerspec *before) {
  const int64_t ns = (wanted->it_value.tv_sec * second + wanted->it_value.tv_nsec) * slower;
  const struct itimerspec slow = {.it_interval = wanted->it_interval, .it_value = in_parts(ns)};
  return (int)syscall(SYS_timerfd_settime, fd, flags, &slow, before);
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
  static int (*next)(sem_t *, clockid_t, const struct timespec *);
  if (next == NULL) next = (int (*)(sem_t *, clockid_t, const struct timespec *))dlsym(RTLD_NEXT, "sem_clockwait");
  const struct timespec later = real_deadline(until);
  return next(semaphore, clock, clock == CLOCK_MONOTONIC ? &later : until);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  if (next == NULL)
    next = (int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))dlsym(
        RTLD_NEXT, "pthread_cond_clockwait");
  const struct timespec later = real_deadline(until);
  return next(condition, mutex, clock, clock == CLOCK_MONOTONIC ? &later : until);
}
