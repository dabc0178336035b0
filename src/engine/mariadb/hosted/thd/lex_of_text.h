// lex_of_text.h: LexOfText, the server's parse tree of a text, without a trace in the THD that lends itself.
#pragma once

#include "base/bytes.h"

class THD;
struct LEX;

namespace postern::mariadb {

/// The THD may be in the middle of a statement, and has its own back when this dies. Nothing else may use it meanwhile.
class LexOfText {
 public:
  /// Parses as PREPARE does, each ? being an argument, under the THD's current database, sql_mode and character sets.
  /// Neither errors nor warnings are left in it. Only for text that begins with SELECT, UPDATE, DELETE or INSERT.
  LexOfText(THD *thd, Bytes text);
  ~LexOfText();
  LexOfText(const LexOfText &) = delete;
  LexOfText &operator=(const LexOfText &) = delete;

  /// nullptr: the text has an error, or there is no memory.
  LEX *lex() const;

 private:
  struct Parsed;
  Parsed *parsed_;
};

}  // namespace postern::mariadb
