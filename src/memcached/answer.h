// answer.h: Answer, the reply of an op that tells a client what became of its request, and those answers that need
// nothing of an item.
//
// Answers live in the batch's arena, and are heard on the thread that runs the batch. What they look like is up to the
// request's Form. table_answers.h has those to commands on rows, memory_answer.h the one to commands in memory.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "base/passage.h"
#include "contract/reply.h"
#include "memcached/wire/form.h"
#include "memcached/open_container.h"
#include "memcached/wire/request.h"
#include "memcached/statistics.h"
#include "memcached/surroundings.h"

namespace postern::memcached {

/// What all answers have in common: where they go, and how they are taken back.
class Answer : public Reply {
 public:
  Answer(const Request &request, const Surroundings &with)
      : request_(request), output_(with.output), statistics_(with.statistics), passage_(with.output) {}

  Flow row(Row) override { return Flow::more; }
  void restart() override { passage_.take_back(); }

 protected:
  const Form &form() const { return form_of(request_.dialect); }
  void begin() { passage_.begin(); }
  template <class... Each>
  void count(Each... each) {
    statistics_.add(each...);
  }

  void count_get(bool hit) {
    count(hit ? Statistic::get_hits : Statistic::get_misses);
    count_prefix(hit);
  }
  void count_prefix(bool hit) {
    if (statistics_.prefixes().on()) statistics_.prefixes().count(request_.action, request_.key, hit);
  }

  const Request &request_;
  Output &output_;
  Statistics &statistics_;
  Passage passage_;

  ~Answer() = default;
};

/// Why a request failed.
struct Reason {
  Failure failure;
  Bytes message;
};

/// An answer that may be one of several keys of a `get`.
class KeyAnswer : public Answer {
 public:
  KeyAnswer(const Request &request, const OpenContainer *target, Group *group, const Surroundings &with)
      : Answer(request, with), target_(target), group_(group) {}

  void restart() override;

 protected:
  bool silent() const { return group_ != nullptr && group_->failed; }
  void fail(const Reason &why);
  /// An op on the container failed: if that is not open, for the reason why it could not be opened.
  void fail(const Outcome &outcome);
  void tell(Result result, uint64_t cas = 0) {
    if (silent()) return;
    begin();
    form().result(output_, request_, result, cas);
  }

  ~KeyAnswer() = default;

  const OpenContainer *const target_;

 private:
  Group *const group_;
  bool failed_here_ = false;
};

/// See Form::plain().
class PlainAnswer final : public Answer {
 public:
  PlainAnswer(const Request &request, Bytes value, const Group *group, const Surroundings &with)
      : Answer(request, with), value_(value), group_(group) {}
  void done(const Outcome &outcome) override;

 private:
  const Bytes value_;
  const Group *const group_;
};

/// Of a request that was not tried.
class FailedAnswer final : public KeyAnswer {
 public:
  FailedAnswer(const Request &request, Bytes message, Group *group, const Surroundings &with)
      : KeyAnswer(request, nullptr, group, with), message_(message) {}
  void done(const Outcome &outcome) override;

 private:
  const Bytes message_;
};

/// `get @@name`.
class PlaceAnswer final : public KeyAnswer {
 public:
  PlaceAnswer(const Request &request, OpenContainer &target, Group *group, const Surroundings &with)
      : KeyAnswer(request, &target, group, with) {}
  void done(const Outcome &outcome) override;
};

/// Of a request that acts nowhere.
class DisabledAnswer final : public KeyAnswer {
 public:
  DisabledAnswer(const Request &request, Group *group, const Surroundings &with)
      : KeyAnswer(request, nullptr, group, with) {}
  void done(const Outcome &outcome) override;
};

class LoginAnswer final : public Answer {
 public:
  using Answer::Answer;
  void done(const Outcome &outcome) override;
};

class StatisticsAnswer final : public Answer {
 public:
  StatisticsAnswer(const Request &request, const Teller &teller, const Surroundings &with)
      : Answer(request, with), teller_(teller) {}
  void done(const Outcome &outcome) override;

 private:
  const Teller &teller_;
};

}  // namespace postern::memcached
