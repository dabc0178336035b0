// globals.h: Globals, which makes SET GLOBAL effective on long-lived threads.
#pragma once

#include <cstdint>
#include <vector>

class THD;

namespace postern::mariadb {

/// A THD copies the global variables when it is made and never again. By SQL's rule new sessions take the global
/// values; for a thread that serves all clients for weeks each batch counts as a new session. So every session variable
/// is updated from batch to batch, except those that pin() in globals.cc fixes. Used by one thread.
class Globals {
 public:
  /// Whether a global may have been set since follow(): at once for the server's own variables, within a tenth of a
  /// second for those of storage engines. A few dozen instructions; a lock only for the latter. `thd` has the batch's
  /// time.
  bool changed(THD *thd);
  /// Gives the THD all current values. It must run no statement and have no table open, because an open table may cache
  /// results of expressions on them.
  void follow(THD *thd);

 private:
  bool engine_variables_changed();

  std::vector<char> seen_;                   // the global values that the THD has
  std::vector<char> seen_engine_variables_;  // variables that plugins have declared
  int64_t engine_variables_looked_ms_ = 0;
};

}  // namespace postern::mariadb
