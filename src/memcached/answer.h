// answer.h: Answer, the base of replies that answer a client's request, and the replies that need no item.
//
// Answers live in the batch's arena, and are called on the thread that runs the batch. The request's Form chooses their
// bytes. item_answer.h has the answer to commands on items.
#pragma once

#include <cstdint>

#include "base/output.h"
#include "base/passage.h"
#include "contract/reply.h"
#include "memcached/containers.h"
#include "memcached/reply_context.h"
#include "memcached/statistics.h"
#include "memcached/wire/form.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

/// The destination of an answer.
class Answer {
 protected:
  Answer(const Request &request, const ReplyContext &with)
      : request_(request), output_(with.output), statistics_(with.statistics), passage_(with.output) {}
  ~Answer() = default;

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
    if (statistics_.prefixes().on()) statistics_.prefixes().count(request_.item.action, request_.key, hit);
  }

  const Request &request_;
  Output &output_;
  Statistics &statistics_;
  Passage passage_;
};

/// An answer that may be one of several keys of a `get`.
class KeyAnswer : public Answer {
 protected:
  KeyAnswer(const Request &request, MultiGet *multi_get, const ReplyContext &with)
      : Answer(request, with), multi_get_(multi_get) {}
  ~KeyAnswer() = default;

  bool silent() const { return multi_get_ != nullptr && multi_get_->failed; }
  void fail(Failure failure, Bytes message);
  void tell(Result result, uint64_t cas = 0) {
    if (silent()) return;
    begin();
    if (result == Result::not_a_number) output_.note_errors();
    form().result(output_, request_, result, cas);
  }
  void forget();

 private:
  MultiGet *const multi_get_;
  bool failed_here_ = false;
};

/// See Form::plain().
class PlainAnswer final : public Reply, Answer {
 public:
  PlainAnswer(const Request &request, Bytes value, const MultiGet *multi_get, const ReplyContext &with)
      : Answer(request, with), value_(value), multi_get_(multi_get) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { passage_.take_back(); }

 private:
  void tell();

  const Bytes value_;
  const MultiGet *const multi_get_;
};

/// Answers a request that was not tried.
class FailedAnswer final : public Reply, KeyAnswer {
 public:
  FailedAnswer(const Request &request, Bytes message, MultiGet *multi_get, const ReplyContext &with)
      : KeyAnswer(request, multi_get, with), message_(message) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { forget(); }

 private:
  const Bytes message_;
};

/// `get @@name`.
class PlaceAnswer final : public Reply, KeyAnswer {
 public:
  PlaceAnswer(const Request &request, const OpenContainer &target, MultiGet *multi_get, const ReplyContext &with)
      : KeyAnswer(request, multi_get, with), target_(target) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { forget(); }

 private:
  const OpenContainer &target_;
};

/// Answers a request under the policy `disabled`.
class DisabledAnswer final : public Reply, KeyAnswer {
 public:
  DisabledAnswer(const Request &request, MultiGet *multi_get, const ReplyContext &with)
      : KeyAnswer(request, multi_get, with) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { forget(); }
};

class LoginAnswer final : public Reply, Answer {
 public:
  LoginAnswer(const Request &request, const ReplyContext &with) : Answer(request, with) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { passage_.take_back(); }
};

class StatisticsAnswer final : public Reply, Answer {
 public:
  StatisticsAnswer(const Request &request, const StatsSource &source, const ReplyContext &with)
      : Answer(request, with), source_(source) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override { passage_.take_back(); }

 private:
  const StatsSource &source_;
};

}  // namespace postern::memcached
