// secret.h: Secret, the secret for clients of a port. Any thread; it may be replaced at any time.
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
  /// Compares in a time that does not depend on the first difference.
  bool is(Bytes offered) const {
    return look([offered](Bytes text) { return equal_constant_time(text, offered); });
  }
};

}  // namespace postern::handlersocket
