// normalise.h: NormalText, a SELECT, UPDATE, DELETE, INSERT or REPLACE without the literals that vary between
// statements.
//
// It only serves to find a plan made from the same form. The server's own parser finds the meaning of a form, in which
// each removed literal is a ?, as in a prepared statement. So a literal may be removed anywhere; but everything removed
// here must be a literal for the server's lexer, too, and everything else must stay in the form. Unusual texts are
// refused, and left to the server.
//
//   select `id`, 1 from users /* Users::find */ where id=42 and name='Ann'  limit 1;
//   -> select `id`, 1 from users where id=? and name=? limit ?      values: 42, Ann, 1
//
// One for each session or worker: it keeps its memory. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "contract/server_session.h"
#include "contract/value.h"

namespace postern::sqldoor {

class NormalText {
 public:
  static constexpr size_t text_bytes_max = 16384;
  static constexpr size_t values_max = 256;

  /// Without TextRules::safe_characters only ASCII is accepted. False: no plan can be found for the text, and the other
  /// functions are invalid.
  bool read(Bytes text, TextRules rules);

  /// Valid until the next read().
  Bytes form() const { return {form_.get(), size_}; }
  /// The hash of form(). Not for uses where clients may provoke collisions.
  uint64_t hash() const { return hash_; }
  /// The values in place of the ? of form(). Valid as long as the text that was read, until the next read().
  std::span<const Value> values() const { return values_; }
  const TextFacts &facts() const { return facts_; }
  /// Buffer of values that were converted, such as those with escapes.
  Bytes rewritten() const { return rewritten_; }

 private:
  friend class FormReader;

  std::unique_ptr<char[]> form_;  // of text_bytes_max
  size_t size_ = 0;
  std::vector<Value> values_;
  std::string rewritten_;
  uint64_t hash_ = 0;
  TextFacts facts_;
};

}  // namespace postern::sqldoor
