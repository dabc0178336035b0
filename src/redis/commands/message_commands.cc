// message_commands.cc: SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and their ends, PUBLISH, SPUBLISH, PUBSUB, MONITOR.
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/passage.h"
#include "redis/commands/flush.h"
#include "redis/messages/mailbox.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

/// To compare a pattern with a channel takes as many steps as the product of their lengths, at worst.
constexpr size_t pattern_bytes_max = 1'024;
constexpr size_t channel_bytes_max = size_t{64} << 10;

bool is_too_long(ChannelKind kind, Bytes name) {
  return name.size() > (kind == ChannelKind::pattern ? pattern_bytes_max : channel_bytes_max);
}

/// Subscribes to names, or ends subscriptions, with a reply for each. In EXEC it does so when its turn comes.
class ChangeSubscriptions final : public Kept, public Reply {
 public:
  ChangeSubscriptions(Call &call, ChannelKind kind, bool adds)
      : session_(call.session),
        output_(call.in_unit ? call.output : call.session.output()),
        passage_(output_),
        resp_(call.resp),
        word_(call.command.name),
        kind_(kind),
        adds_(adds),
        is_for_all_(call.arguments.size() == 1) {
    for (const Bytes name : call.arguments.subspan(1)) told_.push_back({.name = std::string(name)});
  }

  void apply() {
    applied_ = true;
    if (is_for_all_ && subscriber() != nullptr)
      for (const std::string &name : subscriber()->names(kind_)) told_.push_back({.name = name});
    for (Told &one : told_) {
      if (adds_ && !add(one)) break;
      if (!adds_) one.changed = subscriber() != nullptr && subscriber()->unsubscribe(kind_, one.name);
      one.count = count();
    }
    count_ = count();
    note();
  }

  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    passage_.begin();
    Writer writer(output_, resp_);
    if (outcome.failure != Failure::none) return write_failure(writer, outcome);
    if (!applied_) {
      by_op_ = true;
      apply();
    }
    for (const Told &one : told_) {
      if (one.failed) return writer.error("OOM too many subscriptions");
      write(writer, one.name, one.count);
    }
    if (told_.empty()) write(writer, std::nullopt, count_);
  }
  void restart() override {
    passage_.take_back();
    if (std::exchange(by_op_, false)) undo();
  }

 private:
  struct Told {
    std::string name{};
    size_t count = 0;
    bool changed = false;
    bool failed = false;
  };

  Subscriber *subscriber() { return session_.mailbox().subscriber(); }
  size_t count() { return subscriber() == nullptr ? 0 : subscriber()->told_count(kind_); }
  void note() {
    if (subscriber() != nullptr) session_.client().note_subscriptions(*subscriber());
  }

  bool add(Told &one) {
    Subscriber &its = session_.mailbox().subscriber(*session_.waker());
    const bool had = its.names(kind_).contains(one.name);
    one.failed = !its.subscribe(kind_, one.name);
    one.changed = !had && !one.failed;
    return !one.failed;
  }

  /// Without memory it stays unsubscribed.
  void undo() {
    applied_ = false;
    for (Told &one : told_) {
      if (!std::exchange(one.changed, false)) continue;
      if (adds_) subscriber()->unsubscribe(kind_, one.name);
      else static_cast<void>(subscriber()->subscribe(kind_, one.name));
    }
    if (is_for_all_) told_.clear();
    note();
  }

  void write(Writer &writer, std::optional<Bytes> name, size_t count) const {
    writer.push(3);
    writer.bulk(word_);
    if (name) writer.bulk(*name);
    else writer.nil();
    writer.integer(static_cast<int64_t>(count));
  }

  RedisSession &session_;
  Output &output_;
  Passage passage_;
  const Resp resp_;
  const Bytes word_;
  const ChannelKind kind_;
  const bool adds_;
  const bool is_for_all_;
  std::vector<Told> told_;
  size_t count_ = 0;  // commands that were pipelined after it may change it before it is answered
  bool applied_ = false;
  bool by_op_ = false;  // in EXEC
};

Next change(Call &call, ChannelKind kind, bool adds) {
  for (const Bytes name : call.arguments.subspan(1))
    if (is_too_long(kind, name)) return refuse(call, "ERR the name of a channel, or the pattern, is too long");
  auto &reply = call.session.tables().keep<ChangeSubscriptions>(call, kind, adds);
  if (!call.in_unit) {
    reply.apply();
    if (!adds) flush_letters(call);
  }
  call.batch.add().reply = &reply;
  return Next::go_on;
}

/// A message and its number of receivers.
class Publish final : public Kept, public Reply {
 public:
  Publish(Call &call, ChannelKind kind, SharedMessage message)
      : session_(call.session),
        output_(call.output),
        passage_(output_),
        resp_(call.resp),
        posting_{.kind = kind, .message = std::move(message)} {}

  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    passage_.begin();
    Writer writer(output_, resp_);
    if (outcome.failure != Failure::none) return write_failure(writer, outcome);
    session_.mailbox().post(posting_);
    const Subscriptions &all = session_.protocol().subscriptions();
    writer.integer(static_cast<int64_t>(all.receivers(posting_.kind, posting_.message->channel)));
  }
  void restart() override {
    passage_.take_back();
    session_.mailbox().take_back(posting_);
  }

 private:
  RedisSession &session_;
  Output &output_;
  Passage passage_;
  const Resp resp_;
  const Posting posting_;
};

Next publish_to(Call &call, ChannelKind kind) {
  const Bytes channel = call.arguments[1];
  if (is_too_long(kind, channel)) return refuse(call, "ERR the name of a channel, or the pattern, is too long");
  if (!call.session.protocol().subscriptions().any()) return answer_integer(call, 0);
  SharedMessage message = make_message(channel, call.arguments[2]);
  if (message == nullptr) return refuse(call, "OOM there is no memory for the message");
  call.batch.add().reply = &call.session.tables().keep<Publish>(call, kind, std::move(message));
  return Next::go_on;
}

Next answer_channels(Call &call, ChannelKind kind) {
  if (call.arguments.size() > 3) {
    std::string text = "ERR unknown subcommand or wrong number of arguments for '";
    text.append(told_of(call.arguments[1], 128)).append("'. Try PUBSUB HELP.");
    return refuse(call, text);
  }
  std::optional<Bytes> pattern;
  if (call.arguments.size() == 3) pattern = call.arguments[2];
  if (pattern && is_too_long(ChannelKind::pattern, *pattern)) return refuse(call, "ERR the pattern is too long");
  const Subscriptions &all = call.session.protocol().subscriptions();
  answer(call, [&all, kind, pattern](Writer &writer) {
    const std::vector<std::string> names = all.channels(kind, pattern);
    writer.array(names.size());
    for (const std::string &name : names) writer.bulk(name);
  });
  return Next::go_on;
}

Next answer_numbers(Call &call, ChannelKind kind) {
  const Subscriptions &all = call.session.protocol().subscriptions();
  answer(call, [&all, kind, names = call.arguments.subspan(2)](Writer &writer) {
    writer.array(2 * names.size());
    for (const Bytes name : names) {
      writer.bulk(name);
      writer.integer(static_cast<int64_t>(all.subscribers(kind, name)));
    }
  });
  return Next::go_on;
}

struct Letters final : Kept {
  std::deque<Letter> all{};
};

}  // namespace

void flush_letters(Call &call) {
  Subscriber *const subscriber = call.session.mailbox().subscriber();
  if (subscriber == nullptr) return;
  Letters &letters = call.session.tables().keep<Letters>();
  letters.all = subscriber->take_all();
  if (letters.all.empty()) return;
  answer_to(call.session.output(), call, [&letters](Writer &writer) {
    for (const Letter &letter : letters.all) letter.write(writer.output(), writer.resp());
  });
}

namespace lower {

Next subscribe(Call &call) {
  return change(call, ChannelKind::channel, true);
}

Next psubscribe(Call &call) {
  return change(call, ChannelKind::pattern, true);
}

Next ssubscribe(Call &call) {
  return change(call, ChannelKind::shard, true);
}

Next unsubscribe(Call &call) {
  return change(call, ChannelKind::channel, false);
}

Next punsubscribe(Call &call) {
  return change(call, ChannelKind::pattern, false);
}

Next sunsubscribe(Call &call) {
  return change(call, ChannelKind::shard, false);
}

Next publish(Call &call) {
  return publish_to(call, ChannelKind::channel);
}

Next spublish(Call &call) {
  return publish_to(call, ChannelKind::shard);
}

Next pubsub_channels(Call &call) {
  return answer_channels(call, ChannelKind::channel);
}

Next pubsub_shardchannels(Call &call) {
  return answer_channels(call, ChannelKind::shard);
}

Next pubsub_numsub(Call &call) {
  return answer_numbers(call, ChannelKind::channel);
}

Next pubsub_shardnumsub(Call &call) {
  return answer_numbers(call, ChannelKind::shard);
}

Next pubsub_numpat(Call &call) {
  const Subscriptions &all = call.session.protocol().subscriptions();
  answer(call, [&all](Writer &writer) { writer.integer(static_cast<int64_t>(all.count(ChannelKind::pattern))); });
  return Next::go_on;
}

/// It sees commands that are read after it. A repeated MONITOR gets no answer, as in Redis.
Next monitor(Call &call) {
  if (call.in_unit) return refuse(call, "ERR MONITOR isn't allowed for DENY BLOCKING client");
  if (call.session.mailbox().is_monitor()) return Next::go_on;
  call.session.monitor();
  return answer_ok(call);
}

}  // namespace lower
}  // namespace postern::redis
