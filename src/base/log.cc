#include "base/log.h"

#include <cstdarg>
#include <cstdio>

#include "base/clock.h"

namespace postern::log {
namespace {

void to_stderr(Level level, const char *line) {
  static const char *const names[] = {"note", "warning", "error"};
  std::fprintf(stderr, "postern: %s: %s\n", names[static_cast<int>(level)], line);
}

std::atomic<Sink> sink{to_stderr};

void write(Level level, const char *format, va_list arguments) {
  char line[1024];
  std::vsnprintf(line, sizeof line, format, arguments);
  sink.load(std::memory_order_acquire)(level, line);
}

}  // namespace

void set_sink(Sink new_sink) {
  sink.store(new_sink != nullptr ? new_sink : to_stderr, std::memory_order_release);
}

void note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write(Level::note, format, arguments);
  va_end(arguments);
}

void warning(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write(Level::warning, format, arguments);
  va_end(arguments);
}

void error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write(Level::error, format, arguments);
  va_end(arguments);
}

bool Limited::pass(uint64_t &missed) {
  const int64_t now = clock_ms() / 1000;
  int64_t next = next_.load(std::memory_order_relaxed);
  if (now >= next && next_.compare_exchange_strong(next, now + seconds_, std::memory_order_relaxed)) {
    missed = missed_.exchange(0, std::memory_order_relaxed);
    return true;
  }
  missed_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace postern::log
