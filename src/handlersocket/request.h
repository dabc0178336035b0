// request.h: the contents of one request line, as views into it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "contract/op.h"

namespace postern::handlersocket {

/// The command of a line, by its first token.
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

/// `A <type> <key>`; the key as received, because it is compared without unescaping. After type `2` come a user and a
/// password, which parse_login() reads.
struct AuthenticateRequest {
  Bytes type;
  Bytes key;
};

/// The last option of a request: how to change the rows it finds.
enum class Modification : uint8_t {
  none,
  update,     ///< U: the columns take the values
  erase,      ///< D
  increment,  ///< +: the values are added to the columns
  decrement,  ///< -: the values are subtracted, unless a column would change its sign
};

/// `<id> <operator> <n> <value>{n} ...`: a find, a find with a modification, or an insert.
struct IndexRequest {
  /// find, insert or edit
  Verb verb = Verb::find;
  Find find{};                                     ///< find, edit
  Modification modification = Modification::none;  ///< edit
  bool rows_wanted = false;                        ///< edit: with `?`, the reply has the old rows
  OnDuplicate on_duplicate = OnDuplicate::fail;    ///< insert
  std::span<const Value> values{};                 ///< insert: the row's; edit: the modification's
};

}  // namespace postern::handlersocket
