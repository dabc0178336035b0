// first_words.h: guesses about a statement by its first words, for a scheduler, before the server parses it. No answer
// depends on them.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern::sql {

/// A hash of the beginning of a text. Texts that differ only in numbers have the same one.
uint64_t kind_of_text(Bytes text);

/// Whether the statement may end with a commit, unless it calls a stored function that writes.
bool text_may_commit(Bytes text, bool in_transaction);

/// Whether its client may have to send it a file (LOAD DATA LOCAL).
bool text_asks_client(Bytes text);

/// Whether the statement waits until no other session has its tables open.
bool text_wants_tables(Bytes text);

}  // namespace postern::sql
