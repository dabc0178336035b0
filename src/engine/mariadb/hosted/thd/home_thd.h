// home_thd.h: HomeThd, a THD of a worker's own in which tables stay open for statements of many sessions.
//
// It is not visible: it has no transaction and no waits, except together with a session of its worker. Such a table is
// lent to a session for a statement by setting TABLE::in_use, until end_loan().
#pragma once

#include "engine/mariadb/basics/attachment.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// Owned by a worker, as are all its tables, which are closed before it ends.
class HomeThd {
 public:
  HomeThd() = default;
  ~HomeThd();
  HomeThd(const HomeThd &) = delete;
  HomeThd &operator=(const HomeThd &) = delete;

  /// Called when the thread acts as its own THD; the first call that succeeds makes this one.
  bool ready() { return thd_ != nullptr || make(); }
  /// nullptr: there is none yet.
  THD *thd() const { return thd_; }

 private:
  bool make();

  THD *thd_ = nullptr;
};

/// Ends the loan of a table: its THD is `home` again. Afterwards no other thread refers to the session by the table.
void end_loan(TABLE &table, THD *home);

/// While one lives the thread acts as the THD. The thread may have changed since, and acts as a session's or its own
/// THD at that time.
class AtHome {
 public:
  explicit AtHome(THD *home);

 private:
  Attachment attachment_;
};

}  // namespace postern::mariadb
