// stream_group_commands.cc: XGROUP, XACK and XPENDING.
#include <map>
#include <string>
#include <utility>

#include "redis/registry/handlers.h"
#include "redis/streams/stream_arguments.h"

namespace postern::redis {
namespace {

constexpr Bytes name_too_long = "ERR the name of a group or consumer can have 512 bytes";

bool is_name(Bytes text) {
  return text.size() <= group_name_bytes_max;
}

/// A subcommand of XGROUP on a stream that is there.
class GroupWork : public StreamWork {
 public:
  using StreamWork::StreamWork;

 protected:
  Bytes key() const { return arguments_[2]; }
  Bytes name() const { return arguments_[3]; }
  /// Locks the stream. False: an error was written.
  Task<bool> find_stream(Entry &entry) {
    entry = co_await lock(row_key(key()));
    if (is_wrong_stream(entry)) co_return false;
    if (entry.live) co_return true;
    writer().error(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM "
        "option to create an empty stream automatically.");
    co_return false;
  }
  /// The same, and its group.
  Task<bool> find_both(Entry &entry, StreamGroup &group) {
    if (!co_await find_stream(entry)) co_return false;
    std::optional<StreamGroup> found = co_await find_group(entry, name(), Reading::locked);
    if (found) group = std::move(*found);
    else
      writer().error("NOGROUP No such consumer group '" + std::string(told_of(name())) + "' for key name '" +
                     std::string(told_of(key())) + "'");
    co_return found.has_value();
  }
};

/// The start of a group: `$` is after all entries.
struct GroupStart {
  bool at_end = false;
  StreamId id{};
  int64_t read = unknown_reads;
  bool makes_stream = false;
};

class CreateGroup final : public GroupWork {
 public:
  CreateGroup(Call &call, OpenMap &open, const GroupStart &start) : GroupWork(call, open), start_(start) {}

 private:
  Task<> run() override {
    Entry entry;
    if (!start_.makes_stream) {
      if (!co_await find_stream(entry)) co_return;
    } else {
      entry = co_await make(row_key(key()), Type::stream);
      if (is_wrong_stream(entry)) co_return;
    }
    const StreamHead head = StreamHead::of(entry.value);
    if (entry.live && co_await find_group(entry, name(), Reading::locked)) {
      writer().error("BUSYGROUP Consumer Group name already exists");
      co_return;
    }
    if (!entry.live) co_await store(entry, head);
    add_group(entry, {.name = std::string(name()), .last = start_.at_end ? head.last : start_.id, .read = start_.read});
    co_await go();
    writer().ok();
  }

  const GroupStart start_;
};

class SetGroup final : public GroupWork {
 public:
  SetGroup(Call &call, OpenMap &open, const GroupStart &start) : GroupWork(call, open), start_(start) {}

 private:
  Task<> run() override {
    Entry entry;
    StreamGroup group;
    if (!co_await find_both(entry, group)) co_return;
    group.last = start_.at_end ? StreamHead::of(entry.value).last : start_.id;
    group.read = start_.read;
    add_group(entry, group);
    co_await go();
    writer().ok();
  }

  const GroupStart start_;
};

class DestroyGroup final : public GroupWork {
 public:
  using GroupWork::GroupWork;

 private:
  Task<> run() override {
    Entry entry;
    if (!co_await find_stream(entry)) co_return;
    if (!is_name(name())) {
      writer().integer(0);
      co_return;
    }
    const StepReply &erased = add_erase(groups(), {.key = in_group(entry, name()), .limit = 1});
    add_erase(consumers(), {.key = in_group(entry, name()), .limit = all});
    add_erase(pending(), {.key = in_group(entry, name()), .limit = all});
    co_await go();
    writer().integer(static_cast<int64_t>(erased.changed));
  }
};

class CreateConsumer final : public GroupWork {
 public:
  using GroupWork::GroupWork;

 private:
  Task<> run() override {
    Entry entry;
    StreamGroup group;
    if (!co_await find_both(entry, group)) co_return;
    const bool is_there = (co_await find_consumer(entry, name(), arguments_[4], Reading::locked)).has_value();
    if (!is_there) add_consumer(entry, name(), arguments_[4]);
    co_await go();
    writer().integer(is_there ? 0 : 1);
  }
};

class DeleteConsumer final : public GroupWork {
 public:
  using GroupWork::GroupWork;

 private:
  Task<> run() override {
    Entry entry;
    StreamGroup group;
    if (!co_await find_both(entry, group)) co_return;
    const Bytes consumer = arguments_[4];
    const std::vector<Pending> mine = co_await find_pending(entry, name(), {}, last_stream_id, Reading::locked,
                                                            [consumer](Pending one, std::vector<Pending> &found) {
                                                              if (one.consumer == consumer)
                                                                found.push_back(std::move(one));
                                                              return true;
                                                            });
    for (const Pending &one : mine) erase_pending(entry, name(), one.id);
    if (is_name(consumer))
      add_erase(consumers(),
                {.key = values({Value::of(entry.key), Value::of(name()), Value::of(consumer)}), .limit = 1});
    co_await go();
    writer().integer(static_cast<int64_t>(mine.size()));
  }
};

/// It locks nothing but the rows that it deletes.
class Acknowledge final : public StreamWork {
 public:
  using StreamWork::StreamWork;

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return;
    if (!co_await find_group(entry, arguments_[2], Reading::in_view)) {
      writer().integer(0);
      co_return;
    }
    std::vector<StreamId> ids;
    for (const Bytes text : arguments_.subspan(3)) {
      if (parse_stream_id(text, 0, ids.emplace_back())) continue;
      writer().error(bad_stream_id);
      co_return;
    }
    std::vector<const StepReply *> replies;
    replies.reserve(ids.size());
    for (const StreamId id : ids) replies.push_back(&erase_pending(entry, arguments_[2], id));
    co_await go();
    int64_t count = 0;
    for (const StepReply *const reply : replies) count += static_cast<int64_t>(reply->changed);
    writer().integer(count);
  }
};

/// The options of an XPENDING that lists entries.
struct PendingList {
  bool lists = false;
  StreamId from{};
  StreamId to = last_stream_id;
  int64_t count = 0;
  int64_t idle_ms = 0;
  bool of_one = false;
  Bytes consumer{};
};

class TellPending final : public StreamWork {
 public:
  TellPending(Call &call, OpenMap &open, const PendingList &list) : StreamWork(call, open), list_(list) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return;
    if (!co_await find_group(entry, arguments_[2], Reading::in_view)) {
      writer().error("NOGROUP No such key '" + std::string(told_of(arguments_[1])) + "' or consumer group '" +
                     std::string(told_of(arguments_[2])) + "'");
      co_return;
    }
    if (list_.lists) co_await tell_list(entry);
    else co_await tell_summary(entry);
  }

  Task<> tell_summary(const Entry &entry) {
    uint64_t count = 0;
    StreamId first;
    StreamId last;
    std::map<std::string, uint64_t> by_consumer;
    co_await find_pending(entry, arguments_[2], {}, last_stream_id, Reading::in_view,
                          [&](Pending one, std::vector<Pending> &) {
                            if (count++ == 0) first = one.id;
                            last = one.id;
                            ++by_consumer[std::move(one.consumer)];
                            return true;
                          });
    Writer to = writer();
    to.array(4);
    to.integer(static_cast<int64_t>(count));
    if (count == 0) {
      to.nil();
      to.nil();
      to.nil_array();
      co_return;
    }
    to.bulk(first.text());
    to.bulk(last.text());
    to.array(by_consumer.size());
    for (const auto &[name, number] : by_consumer) {
      to.array(2);
      to.bulk(name);
      to.bulk(std::to_string(number));
    }
  }

  Task<> tell_list(const Entry &entry) {
    const int64_t now = now_ms();
    const uint64_t count = list_.count > 0 ? static_cast<uint64_t>(list_.count) : 0;
    std::vector<Pending> found;
    if (count > 0)
      found = co_await find_pending(entry, arguments_[2], list_.from, list_.to, Reading::in_view,
                                    [this, now, count](Pending one, std::vector<Pending> &wanted) {
                                      const bool takes = (!list_.of_one || one.consumer == list_.consumer) &&
                                                         now - one.delivered_ms >= list_.idle_ms;
                                      if (takes) wanted.push_back(std::move(one));
                                      return wanted.size() < count && wanted.size() <= pending_told_max;
                                    });
    Writer to = writer();
    if (found.size() > pending_told_max) {
      to.error(too_many_pending);
      co_return;
    }
    to.array(found.size());
    for (const Pending &one : found) {
      to.array(4);
      to.bulk(one.id.text());
      to.bulk(one.consumer);
      to.integer(std::max<int64_t>(now - one.delivered_ms, 0));
      to.integer(one.times);
    }
  }

  const PendingList list_;
};

bool read_start(Call &call, bool creates, GroupStart &start) {
  const std::span<const Bytes> arguments = call.arguments;
  for (size_t i = 5; i < arguments.size(); ++i) {
    if (creates && is_word(arguments[i], "mkstream")) {
      start.makes_stream = true;
    } else if (is_word(arguments[i], "entriesread") && i + 1 < arguments.size()) {
      if (!read_number(call, arguments[++i], start.read)) return false;
      if (start.read < 0 && start.read != unknown_reads) {
        refuse(call, "ERR value for ENTRIESREAD must be positive or -1");
        return false;
      }
    } else {
      std::string text = "ERR unknown subcommand or wrong number of arguments for '";
      text.append(told_of(arguments[1], 128)).append("'. Try XGROUP HELP.");
      refuse(call, text);
      return false;
    }
  }
  start.at_end = arguments[4] == "$";
  // XGROUP SETID takes `-` and `+`, too.
  const bool is_id = creates ? parse_stream_id(arguments[4], 0, start.id) : parse_stream_end(arguments[4], 0, start.id);
  if (start.at_end || is_id) return true;
  refuse(call, "ERR Invalid stream ID specified as stream command argument");
  return false;
}

bool read_pending_list(Call &call, PendingList &list) {
  const std::span<const Bytes> arguments = call.arguments;
  if (arguments.size() == 3) return true;
  const auto refused = [&call] {
    refuse(call, syntax_error);
    return false;
  };
  if (arguments.size() < 6 || arguments.size() > 9) return refused();
  size_t at = 3;
  if (is_word(arguments[3], "idle")) {
    if (!read_number(call, arguments[4], list.idle_ms)) return false;
    if (arguments.size() < 8) return refused();
    at = 5;
  }
  list.lists = true;
  if (!read_number(call, arguments[at + 2], list.count)) return false;
  if (!read_interval(call, arguments[at], arguments[at + 1], list.from, list.to)) return false;
  list.of_one = at + 3 < arguments.size();
  if (list.of_one) list.consumer = arguments[at + 3];
  return true;
}

}  // namespace

namespace lower {

Next xgroup_create(Call &call) {
  GroupStart start;
  if (!is_name(call.arguments[3])) return refuse(call, name_too_long);
  if (!read_start(call, true, start)) return Next::go_on;
  return begin_on<CreateGroup>(call, call.arguments[2], start);
}

Next xgroup_setid(Call &call) {
  GroupStart start;
  if (!read_start(call, false, start)) return Next::go_on;
  return begin_on<SetGroup>(call, call.arguments[2], start);
}

Next xgroup_destroy(Call &call) {
  note_fed(call, call.arguments[2]);
  return begin_on<DestroyGroup>(call, call.arguments[2]);
}

Next xgroup_createconsumer(Call &call) {
  if (!is_name(call.arguments[4])) return refuse(call, name_too_long);
  return begin_on<CreateConsumer>(call, call.arguments[2]);
}

Next xgroup_delconsumer(Call &call) {
  return begin_on<DeleteConsumer>(call, call.arguments[2]);
}

Next xack(Call &call) {
  return begin_on<Acknowledge>(call, call.arguments[1]);
}

Next xpending(Call &call) {
  PendingList list;
  if (!read_pending_list(call, list)) return Next::go_on;
  const Bytes group = call.arguments[2];
  const Bytes key = call.arguments[1];
  return begin_reading<TellPending>(
      call, key,
      [key, group](Writer &writer) {
        writer.error("NOGROUP No such key '" + std::string(told_of(key)) + "' or consumer group '" +
                     std::string(told_of(group)) + "'");
      },
      list);
}

}  // namespace lower
}  // namespace postern::redis
