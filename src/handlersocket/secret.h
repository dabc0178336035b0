// secret.h: Secret, what clients of a port have to know. Any thread; it may be replaced while they ask.
#pragma once

#include "base/bytes.h"
#include "base/changing.h"

namespace postern::handlersocket {

class Secret : public ChangingText {
 public:
  using ChangingText::ChangingText;

  bool empty() const {
    return look([](Bytes text) { return text.empty(); });
  }
  /// In a time that does not depend on where they differ.
  bool is(Bytes offered) const {
    return look([offered](Bytes text) { return equal_constant_time(text, offered); });
  }
};

}  // namespace postern::handlersocket
