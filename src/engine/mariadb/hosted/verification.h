// verification.h: Verification, one answer of the fast lane compared with the server's (postern_verify).
//
// The thread that serves the session for the server makes the fast answer first and keeps it; then the server answers,
// in the same transaction, and the client gets that. If both differ, and a second fast answer equals the first, nobody
// has changed the rows in between: the difference is logged and counted, and the plan answers nothing any more.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "contract/server_session.h"

class THD;

namespace postern::mariadb {

class KeptPlans;
class StatementPlan;
struct Asked;
struct ClientMetadata;

/// One in how many answers is compared; 0: none. Any thread.
void verify_one_in(uint64_t answers);
/// Whether to verify this one.
bool is_to_be_verified();

struct Verified {
  uint64_t same = 0;       ///< answers that were identical, byte for byte
  uint64_t different = 0;  ///< that were not, though nobody changed rows
  uint64_t overtaken = 0;  ///< somebody changed the rows, or ended the server's statement, meanwhile
};
/// Since the library was loaded. Any thread.
Verified verified();

/// A fast answer that nothing counts; Asked::columns stays as it is. False: there is none now.
bool answer_uncounted(const Asked &asked, KeptPlans *plans, Output &output);

/// On the thread that is attached to the session, for one statement with a plan.
class Verification {
 public:
  /// Bytes of an answer that can be compared.
  static constexpr size_t answer_bytes_max = size_t{4} << 20;

  /// Before the server serves it; borrows `asked`. `first`: a fast answer that has been made already; nullptr: there is
  /// none, and a plan that needs_plans() has none.
  Verification(const Asked &asked, std::unique_ptr<Output> first);
  /// After that: the server's answer; empty if it was too long.
  void compare(Bytes server);

 private:
  bool answer(Output &output);
  bool is_same(Bytes first, Bytes server) const;

  const Asked &asked_;
  const StatementPlan &plan_;
  std::unique_ptr<Output> first_;  // nullptr: none
};

}  // namespace postern::mariadb
