// globals.h: Globals, what SET GLOBAL says, on a thread that lives through it.
#pragma once

#include <cstdint>
#include <vector>

class THD;

namespace postern::mariadb {

/// A THD copies the global variables at its birth and never again. What SQL's rule "new sessions take the global value"
/// means for a thread that serves everybody for weeks is: each batch is a session of its own. So every variable of
/// sessions is followed from batch to batch, but for those that pin() in globals.cc fixes. Used by one thread.
class Globals {
 public:
  /// Whether a global may have been set since follow(): at once for the server's own variables, within a
  /// tenth of a second for those of storage engines. A few dozen instructions, no lock but for the
  /// latter. `thd` has the batch's time.
  bool changed(THD *thd);
  /// Gives the THD all values as they are now. It runs no statement and has no table open, as an open table may
  /// keep what an expression made of them.
  void follow(THD *thd);

 private:
  bool engine_variables_changed();

  std::vector<char> seen_;                   // the global values that the THD has
  std::vector<char> seen_engine_variables_;  // those that plugins have declared
  int64_t engine_variables_looked_ms_ = 0;
};

}  // namespace postern::mariadb
