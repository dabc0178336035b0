// lex_of_text.h: LexOfText, the server's parse tree of a text, which leaves no trace in the THD used for it.
#pragma once

#include "base/bytes.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// The THD may be in the middle of a statement, which is restored when this dies. Nothing else may use it meanwhile.
class LexOfText {
 public:
  /// Parses like PREPARE, with each ? as an argument, under the THD's current database, sql_mode and character sets.
  /// Leaves no errors or warnings. Only for text that begins with SELECT, UPDATE, DELETE or INSERT.
  LexOfText(THD *thd, Bytes text);
  ~LexOfText();
  LexOfText(const LexOfText &) = delete;
  LexOfText &operator=(const LexOfText &) = delete;

  /// nullptr: a syntax error, or out of memory.
  LEX *lex() const;

 private:
  struct Parsed;
  Parsed *parsed_;
};

}  // namespace postern::mariadb
