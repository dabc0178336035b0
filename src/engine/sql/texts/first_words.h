// first_words.h: guesses about a statement by its first words, for a scheduler, before the server parses it. No answer
// depends on them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "engine/sql/texts/tokens.h"

namespace postern::sql {

/// A hash of the beginning of a text. Texts that differ only in numbers have the same one.
uint64_t kind_of_text(Bytes text);

/// The first word of a statement. Borrows the text.
class FirstWord {
 public:
  explicit FirstWord(Bytes text);

  /// Whether the statement may end with a commit, unless it calls a stored function that writes.
  bool may_commit(bool in_transaction) const;
  /// Whether its client may have to send it a file (LOAD DATA LOCAL).
  bool asks_client() const;
  /// Whether the statement waits until no other session has its tables open.
  bool wants_tables() const;

 private:
  Token token_;
};

}  // namespace postern::sql
