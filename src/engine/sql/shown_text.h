// shown_text.h: ShownText, the text of a thread of ours in the process list.
//
// The server reads it without a lock. SHOW PROCESSLIST copies its address, and reads the text when it sends the row,
// when the thread and its THD may be gone. So the memory of a text is never freed; the next thread reuses it.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace postern::sql {

/// Made, used and destroyed by its thread. A concurrent or later reader may see parts of two texts, or another thread's
/// text, but always a terminated one.
class ShownText {
 public:
  static constexpr size_t bytes_max = 127;

  /// Shows that the thread is starting. Throws std::bad_alloc.
  ShownText();
  ~ShownText();
  ShownText(const ShownText &) = delete;
  ShownText &operator=(const ShownText &) = delete;

  /// The text. The address is valid for ever.
  const char *now() const;
  /// Replaces now() by the text, truncated to its room.
  const char *set(Bytes text);

 private:
  struct Memory;
  class Spare;
  static Spare &spare();

  Memory *const memory_;
};

}  // namespace postern::sql
