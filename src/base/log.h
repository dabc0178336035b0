// log.h: messages for the administrator, one line at a time.
//
// The plugin points the sink at the server's error log; without one, lines go to stderr. Never log a client's
// data. A line that clients can cause again and again goes through a Limited.
#pragma once

#include <atomic>
#include <cstdint>

namespace postern::log {

enum class Level : uint8_t { note, warning, error };
using Sink = void (*)(Level level, const char *line);

/// Sets where lines go; nullptr restores stderr. Not to be called while other threads log.
void set_sink(Sink sink);

/// printf-style; a line longer than 1,023 bytes is cut. Callable from any thread.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Lets one line pass every `seconds`. A static object beside the call that logs.
class Limited {
 public:
  explicit constexpr Limited(int64_t seconds = 10) : seconds_(seconds) {}
  /// True if the line may be logged; `missed` is then the number of lines held back since the last one.
  bool pass(uint64_t &missed);

 private:
  const int64_t seconds_;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> missed_{0};
};

}  // namespace postern::log
