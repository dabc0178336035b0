// request.h: what one request line says, as views into it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/op.h"

namespace postern::handlersocket {

/// What a line begins with.
enum class Command : uint8_t {
  unknown,
  open,          ///< P
  authenticate,  ///< A
  index,         ///< a number: the index id that the line acts on
};

/// `P <id> <database> <table> <index> <columns> [<filter columns>]`
struct OpenRequest {
  uint64_t id = 0;
  TableSpec spec;
};

/// `A <type> <key>`; the key as it came, for it is compared without unescaping.
struct AuthenticateRequest {
  Bytes type;
  Bytes key;
};

/// `<id> <operator> <key size> <key>... [<limit> [<offset> [<IN list>] [<filters>]]]`
struct FindRequest {
  Find find;
};

}  // namespace postern::handlersocket
