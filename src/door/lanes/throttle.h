// throttle.h: Throttle, how long a login waits after others have failed.
//
// Failures are counted for an account from one place, for a place, and for an account from anywhere. So it is cheap
// neither to try many accounts from one place nor one account from many, and a client with a wrong password does not
// slow down clients at its address that have other accounts. One per door; thread-safe.
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
    bool refused = false;  ///< without being tried: too many wait before it
    int64_t due_ms = 0;    ///< when to try it; not later than now if at once
  };

  /// Whether, and when, a login of `user` from `place` may be tried. The login has its turn from then on: ask once.
  Verdict ask(Bytes place, Bytes user, int64_t now_ms);
  /// The login was tried.
  void note(Bytes place, Bytes user, bool succeeded, int64_t now_ms);

 private:
  /// What failures cost the logins that follow.
  struct Rule {
    uint32_t free;     // so many failures cost nothing
    int64_t delay_ms;  // after the first that costs something; each further failure doubles it
    int64_t delay_ms_max;
    int64_t backlog_ms;  // a login that would have to wait longer than this is refused
    bool turns;          // logins wait one after the other; else each waits from now
  };
  struct Entry {
    std::string key;
    uint32_t failures = 0;
    int64_t failed_ms = 0;     // the last time
    int64_t next_turn_ms = 0;  // no login is tried before
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
