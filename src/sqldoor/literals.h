// literals.h: reads the strings, bytes and numbers of a statement like the server's lexer.
//
// Each function reads the beginning of a text and returns the literal's size, including quotes; 0: none, or one that is
// left to the server. Values point into the text, or into `room` if they had to be converted. One thread.
//
//   read_text("'it''s', 5", rules, room, value) == 7; value is it's
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "contract/value.h"

namespace postern::sqldoor {

/// At a quote. `room` grows by at most the literal's bytes, and must have that capacity already, because earlier values
/// point there.
size_t read_text(Bytes text, TextRules rules, std::string &room, Value &value);

/// At x'61'.
size_t read_hex_text(Bytes text, std::string &room, Value &value);

/// At the word of DATE'2026-01-31', TIMESTAMP'...', N'a' or _utf8mb4'a': kept as written, with the word, like a number
/// of Spelling::real. Without quotes and escapes inside; N and _utf8 only before ASCII.
size_t read_typed_text(Bytes text, TextRules rules, Value &value);

/// At a digit, or at a minus before one: an integer of 64 bits, 0x61, 1.5 or 1.5e3.
size_t read_number(Bytes text, std::string &room, Value &value);

/// At a digit: the size of 5, 1.5 or 1.5e3, for any value. 0: a name may begin there.
size_t size_of_number(Bytes text);

}  // namespace postern::sqldoor
