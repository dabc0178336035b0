// charsets.h: texts between a client that speaks utf8mb4 and columns of other character sets, for tables opened with
// TableSpec::unicode.
#pragma once

#include <string>

#include "engine/server/server.h"

#include "base/bytes.h"

namespace postern::rows {

/// The text, which is utf8mb4, in another character set, written to `room`. False: it is no text, or has a character
/// that the other has not. May throw std::bad_alloc.
bool from_unicode(const CHARSET_INFO *charset, Bytes text, std::string &room);

/// The text of a column as a client sees it: a character that is none is a question mark, as for SQL. Written to
/// `room`. May throw std::bad_alloc.
Bytes to_unicode(const CHARSET_INFO *charset, Bytes text, String &room);

}  // namespace postern::rows
