// shown_text.h: ShownText, the text of a thread of ours in the process list.
//
// The server reads it without a lock. SHOW PROCESSLIST notes where it is, and reads it when it sends the row, by which
// time the thread and its THD may have gone. So the memory of a text is never freed; the next thread that comes gets
// it.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace postern::sql {

/// Made, used and destroyed by the thread that it stands for. A reader meanwhile, or later, may see half of one text
/// and half of another, or another thread's, but always one that ends.
class ShownText {
 public:
  static constexpr size_t bytes_max = 127;

  /// Shows that the thread is starting. Throws std::bad_alloc.
  ShownText();
  ~ShownText();
  ShownText(const ShownText &) = delete;
  ShownText &operator=(const ShownText &) = delete;

  /// The text. The address is good for ever.
  const char *now() const;
  /// Makes now() another one: so much of the text.
  const char *set(Bytes text);

 private:
  struct Memory;
  class Spare;
  static Spare &spare();

  Memory *const memory_;
};

}  // namespace postern::sql
