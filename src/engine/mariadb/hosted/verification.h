// verification.h: Verification, which compares a plan's answer with the server's (postern_verify).
//
// The thread that serves the session for the server makes the fast answer first and keeps it; then the server answers,
// in the same transaction, and the client gets that. If both differ, and a second fast answer equals the first, no rows
// have changed in between: the difference is logged and counted, and the plan is turned off.
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

/// One in so many answers is compared; 0: none. Any thread.
void verify_one_in(uint64_t answers);
/// Whether to verify this answer.
bool is_to_be_verified();

struct Verified {
  uint64_t same = 0;       ///< answers that were identical, byte for byte
  uint64_t different = 0;  ///< answers that differed although no rows changed
  uint64_t overtaken = 0;  ///< rows changed, or the server's statement was killed, meanwhile
};
/// Since the library was loaded. Any thread.
Verified verified();

/// Makes a fast answer without counting it; Asked::columns is unchanged. False: none can be made now.
bool answer_uncounted(const Asked &asked, KeptPlans *plans, Output &output);

/// Used on the thread that is attached to the session, for one statement with a plan.
class Verification {
 public:
  /// Bytes of an answer that can be compared.
  static constexpr size_t answer_bytes_max = size_t{4} << 20;

  /// Called before the server serves it; borrows `asked`. `first`: a fast answer made already; nullptr: none, which
  /// excludes a plan that needs_plans().
  Verification(const Asked &asked, std::unique_ptr<Output> first);
  /// Called after that with the server's answer; empty if it was too long.
  void compare(Bytes server);

 private:
  bool answer(Output &output);
  bool is_same(Bytes first, Bytes server) const;

  const Asked &asked_;
  const StatementPlan &plan_;
  std::unique_ptr<Output> first_;  // nullptr: none
};

}  // namespace postern::mariadb
