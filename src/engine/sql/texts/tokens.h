// tokens.h: cuts a text of SQL into tokens, as far as that does not depend on a session. Comments are tokens, too: the
// caller decides whether to skip them.
//
// Pure; any thread. A token points into the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern::sql {

struct Token {
  enum class Kind : uint8_t {
    end,      ///< of the text
    word,     ///< letters, digits, _ and $, and bytes that are not ASCII; it may begin with a digit
    number,   ///< digits and points alone
    name,     ///< in backquotes
    literal,  ///< in single quotes
    mark,     ///< one byte
    comment,  ///< of any kind
    other,    ///< in double quotes: a literal or a name, depending on the session
  };

  Kind kind = Kind::end;
  Bytes text{};  ///< the text inside the quotes
  size_t from = 0;
  size_t to = 0;
  bool closed = true;  ///< false: the text ends within quotes or a comment

  /// Whether it is this word, given in lower case.
  bool is_word(Bytes word) const;
  bool is_word_of(std::span<const Bytes> words) const;
  bool is_mark(char mark) const { return kind == Kind::mark && text[0] == mark; }
  /// Whether the server executes the comment.
  bool is_executed() const;
};

/// The token that begins at `at` or after the white space there.
Token token_at(Bytes text, size_t at);

/// `word` is in lower case.
bool is_same_word(Bytes text, Bytes word);

}  // namespace postern::sql
