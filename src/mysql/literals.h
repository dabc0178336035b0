// literals.h: texts, bytes and numbers of a statement, read as the server's lexer reads them.
//
// Each function looks at the beginning of a text and tells how much of it the literal is, quotes and all; 0: there is
// none, or one that is left to the server. Values point into the text, or into `room` where they are not written there
// as they are. Nothing here knows of more than one thread.
//
//   read_text("'it''s', 5", rules, room, value) == 7; value is it's
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "contract/value.h"

namespace postern::mysql {

/// At a quote. `room` never grows by more than the literal has bytes, and must have that much memory already: what was
/// read before points there.
size_t read_text(Bytes text, TextRules rules, std::string &room, Value &value);

/// At x'61'.
size_t read_hex_text(Bytes text, std::string &room, Value &value);

/// At a digit, or at a minus before one: an integer of at most 18 digits, 0x61, 1.5 or 1.5e3.
size_t read_number(Bytes text, std::string &room, Value &value);

}  // namespace postern::mysql
