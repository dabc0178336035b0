// normalise.h: NormalText, a SELECT, UPDATE, DELETE, INSERT or REPLACE without the literals that change from one
// statement to the next.
//
// It only finds a plan that was made of the same form. The server's own parser finds the meaning of a form, in which
// each literal that was taken out is a ?, as in a prepared statement. So a literal may be taken out anywhere; but
// everything taken for a literal here must be one for the server's lexer, and everything else in the text must be in
// the form. Everything odd is refused, and then the server alone answers the statement.
//
//   select `id`, 1 from users /* Users::find */ where id=42 and name='Ann'  limit 1;
//   -> select `id`, 1 from users where id=? and name=? limit ?      values: 42, Ann, 1
//
// One for each session or worker: it keeps its memory. One thread.
#pragma once

#include <cstdint>
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

  /// Without TextRules::safe_characters only ASCII is read. False: the text is not one to find a plan for, and nothing
  /// else here is good.
  bool read(Bytes text, TextRules rules);

  /// Valid until the next read().
  Bytes form() const { return form_; }
  /// Of form(). Not for what somebody may want to make collide.
  uint64_t hash() const { return hash_; }
  /// What stands where form() has a ?. Valid as long as the text that was read, until the next read().
  std::span<const Value> values() const { return values_; }
  /// Where the values are that stand otherwise in the text, as those with escapes do.
  Bytes rewritten() const { return rewritten_; }

 private:
  friend class FormReader;

  std::string form_;
  std::vector<Value> values_;
  std::string rewritten_;
  uint64_t hash_ = 0;
};

}  // namespace postern::sqldoor
