// throttle.h: Throttle, which delays logins after others have failed.
//
// Failures are counted for each account from one place, for each place, and for each account from anywhere. So trying
// many accounts from one place is slow, and so is one account from many places; yet a client with a wrong password does
// not slow down other accounts at its address. One per door; thread-safe.
//
//   Throttle::Verdict verdict = throttle.ask("10.0.0.7", "ann", now_ms);
//   if (!verdict.refused) ... try the login at verdict.due_ms, then throttle.note("10.0.0.7", "ann", success, now_ms);
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/bytes.h"

namespace postern::door {

class Throttle {
 public:
  struct Verdict {
    bool refused = false;  ///< not tried: too many wait before it
    int64_t due_ms = 0;    ///< when to try it; now or earlier: at once
  };

  /// Whether, and when, a login of `user` from `place` may be tried. This reserves the login's turn: call it once.
  Verdict ask(Bytes place, Bytes user, int64_t now_ms);
  /// The login was tried.
  void note(Bytes place, Bytes user, bool succeeded, int64_t now_ms);

 private:
  /// The delay that failures cause for later logins.
  struct Rule {
    uint32_t free;     // so many failures cost nothing
    int64_t delay_ms;  // after the first that costs something; each further failure doubles it
    int64_t delay_ms_max;
    int64_t backlog_ms;  // a login that would have to wait longer than this is refused
    bool turns;          // logins wait one after the other; false: each waits from now
  };
  struct Entry {
    std::string key;
    uint32_t failures = 0;
    int64_t failed_ms = 0;     // the last time
    int64_t next_turn_ms = 0;  // no login is tried earlier
  };
  static constexpr size_t rule_count = 3;
  static const Rule rules_[rule_count];

  static std::string key(size_t rule, Bytes place, Bytes user);
  static int64_t delay_ms(const Rule &rule, const Entry &entry, int64_t now_ms);
  Entry *find(const std::string &key);
  Entry &find_or_add(const std::string &key);

  std::mutex mutex_;          // a leaf
  std::list<Entry> entries_;  // the latest first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace postern::door
