// charsets.h: converts texts between a utf8mb4 client and columns of other character sets, for tables opened with
// TableSpec::unicode.
#pragma once

#include <string>

#include "engine/server/server.h"

#include "base/bytes.h"

namespace postern::rows {

/// Converts a utf8mb4 text to another character set, in `room`. False: invalid, or with a character that the other
/// lacks. May throw std::bad_alloc.
bool from_unicode(const CHARSET_INFO *charset, Bytes text, std::string &room);

/// Converts a column's text for the client, in `room`: invalid characters become question marks, as in SQL. May throw
/// std::bad_alloc.
Bytes to_unicode(const CHARSET_INFO *charset, Bytes text, String &room);

}  // namespace postern::rows
