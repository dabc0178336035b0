// stream_info_commands.cc: XINFO.
#include <map>
#include <string>
#include <utility>

#include "redis/registry/handlers.h"
#include "redis/streams/stream_arguments.h"

namespace postern::redis {
namespace {

void tell_no_such_key(Writer &writer) {
  writer.error(no_such_key);
}

class InfoWork : public StreamWork {
 public:
  using StreamWork::StreamWork;

 protected:
  /// False: an error was written.
  Task<bool> find_stream(Entry &entry) {
    entry = co_await look(row_key(arguments_[2]));
    if (is_wrong_stream(entry)) co_return false;
    if (!entry.live) writer().error(no_such_key);
    co_return entry.live;
  }
  /// Shows all pending entries to `sees(Pending)`, and keeps none.
  template <class Sees>
  Task<> each_pending(const Entry &entry, Bytes group, Sees sees) {
    co_await find_pending(entry, group, {}, last_stream_id, Reading::in_view,
                          [sees](Pending one, std::vector<Pending> &) {
                            sees(std::move(one));
                            return true;
                          });
  }

  static void tell(Writer &to, Bytes name, int64_t number) {
    to.bulk(name);
    to.integer(number);
  }
  static void tell(Writer &to, Bytes name, Bytes text) {
    to.bulk(name);
    to.bulk(text);
  }
  static void tell_entry(Writer &to, Bytes name, const std::optional<StreamEntry> &entry) {
    to.bulk(name);
    if (entry) write_entry(to, *entry);
    else to.nil();
  }
  /// A node of Redis's has so many entries.
  static void tell_nodes(Writer &to, const Entry &entry) {
    constexpr int64_t entries_per_node = 100;
    const int64_t nodes = (entry.len + entries_per_node - 1) / entries_per_node;
    tell(to, "radix-tree-keys", nodes);
    tell(to, "radix-tree-nodes", nodes + 1);
  }
  static void tell_head(Writer &to, const Entry &entry, const StreamHead &head, StreamId first) {
    tell(to, "length", entry.len);
    tell_nodes(to, entry);
    tell(to, "last-generated-id", head.last.text());
    tell(to, "max-deleted-entry-id", head.deleted.text());
    tell(to, "entries-added", static_cast<int64_t>(head.added));
    tell(to, "recorded-first-entry-id", first.text());
  }
  static void tell_reads(Writer &to, const Entry &entry, const StreamHead &head, StreamId first,
                         const StreamGroup &group) {
    to.bulk("entries-read");
    if (group.read == unknown_reads) to.nil();
    else to.integer(group.read);
    to.bulk("lag");
    const auto added = static_cast<int64_t>(head.added);
    int64_t read = group.read;
    if (read == unknown_reads || has_gaps(entry, head, first, group.last))
      read = entries_until(entry, head, first, group.last);
    if (head.added == 0) to.integer(0);
    else if (read == unknown_reads) to.nil();
    else to.integer(added - read);
  }
};

class TellStream final : public InfoWork {
 public:
  using InfoWork::InfoWork;

 private:
  Task<> run() override {
    Entry entry;
    if (!co_await find_stream(entry)) co_return;
    const StreamHead head = StreamHead::of(entry.value);
    const std::optional<StreamEntry> first = co_await edge(entry, false, Reading::in_view);
    const std::optional<StreamEntry> last = co_await edge(entry, true, Reading::in_view);
    const std::vector<StreamGroup> groups = co_await all_groups(entry);
    Writer to = writer();
    to.map(10);
    tell_head(to, entry, head, first ? first->id : StreamId{});
    tell(to, "groups", static_cast<int64_t>(groups.size()));
    tell_entry(to, "first-entry", first);
    tell_entry(to, "last-entry", last);
  }
};

class TellAllOfStream final : public InfoWork {
 public:
  TellAllOfStream(Call &call, OpenMap &open, uint64_t count) : InfoWork(call, open), count_(count) {}

 private:
  Task<> run() override {
    Entry entry;
    if (!co_await find_stream(entry)) co_return;
    const StreamHead head = StreamHead::of(entry.value);
    const std::vector<StreamEntry> entries =
        co_await range(entry, {}, last_stream_id, count_ == 0 ? all : count_, Reading::in_view);
    const StreamId first = entries.empty() ? StreamId{} : entries.front().id;
    const std::vector<StreamGroup> groups = co_await all_groups(entry);
    {
      Writer to = writer();
      to.map(9);
      tell_head(to, entry, head, first);
      to.bulk("entries");
      to.array(entries.size());
      for (const StreamEntry &one : entries) write_entry(to, one);
      to.bulk("groups");
      to.array(groups.size());
    }
    kept_ = 0;
    for (const StreamGroup &group : groups) co_await tell_group(entry, head, first, group);
    if (kept_ <= pending_told_max) co_return;
    unanswer();
    writer().error(too_many_pending);
  }

  /// The first pending entries of a group, or of a consumer, and their number.
  struct Beginning {
    int64_t number = 0;
    std::vector<Pending> first{};
  };

  void note(Beginning &beginning, const Pending &one) {
    ++beginning.number;
    if ((count_ != 0 && beginning.first.size() == count_) || kept_ > pending_told_max) return;
    beginning.first.push_back(one);
    ++kept_;
  }

  Task<> tell_group(const Entry &entry, const StreamHead &head, StreamId first, const StreamGroup &group) {
    Beginning of_all;
    std::map<std::string, Beginning> of_consumers;
    co_await each_pending(entry, group.name, [&](const Pending &one) {
      note(of_all, one);
      note(of_consumers[one.consumer], one);
    });
    const std::vector<StreamConsumer> consumers = co_await all_consumers(entry, group.name, Reading::in_view);
    Writer to = writer();
    to.map(7);
    tell(to, "name", group.name);
    tell(to, "last-delivered-id", group.last.text());
    tell_reads(to, entry, head, first, group);
    tell(to, "pel-count", of_all.number);
    tell_pending(to, of_all.first, true);
    to.bulk("consumers");
    to.array(consumers.size());
    for (const StreamConsumer &consumer : consumers) {
      const Beginning &mine = of_consumers[consumer.name];
      to.map(4);
      tell(to, "name", consumer.name);
      tell(to, "seen-time", consumer.seen_ms);
      tell(to, "pel-count", mine.number);
      tell_pending(to, mine.first, false);
    }
  }

  static void tell_pending(Writer &to, const std::vector<Pending> &pending, bool with_consumer) {
    to.bulk("pending");
    to.array(pending.size());
    for (const Pending &one : pending) {
      to.array(with_consumer ? 4 : 3);
      to.bulk(one.id.text());
      if (with_consumer) to.bulk(one.consumer);
      to.integer(one.delivered_ms);
      to.integer(one.times);
    }
  }

  const uint64_t count_;
  size_t kept_ = 0;  // pending entries
};

class TellGroups final : public InfoWork {
 public:
  using InfoWork::InfoWork;

 private:
  Task<> run() override {
    Entry entry;
    if (!co_await find_stream(entry)) co_return;
    const StreamHead head = StreamHead::of(entry.value);
    const std::optional<StreamEntry> first = co_await edge(entry, false, Reading::in_view);
    const std::vector<StreamGroup> groups = co_await all_groups(entry);
    writer().array(groups.size());
    for (const StreamGroup &group : groups) {
      int64_t pending = 0;
      co_await each_pending(entry, group.name, [&](const Pending &) { ++pending; });
      const std::vector<StreamConsumer> consumers = co_await all_consumers(entry, group.name, Reading::in_view);
      Writer to = writer();
      to.map(6);
      tell(to, "name", group.name);
      tell(to, "consumers", static_cast<int64_t>(consumers.size()));
      tell(to, "pending", pending);
      tell(to, "last-delivered-id", group.last.text());
      tell_reads(to, entry, head, first ? first->id : StreamId{}, group);
    }
  }
};

class TellConsumers final : public InfoWork {
 public:
  using InfoWork::InfoWork;

 private:
  Task<> run() override {
    Entry entry;
    if (!co_await find_stream(entry)) co_return;
    const Bytes group = arguments_[3];
    if (!co_await find_group(entry, group, Reading::in_view)) {
      writer().error("NOGROUP No such consumer group '" + std::string(told_of(group)) + "' for key name '" +
                     std::string(told_of(arguments_[2])) + "'");
      co_return;
    }
    std::map<std::string, int64_t> counts;
    co_await each_pending(entry, group, [&](const Pending &one) { ++counts[one.consumer]; });
    const std::vector<StreamConsumer> consumers = co_await all_consumers(entry, group, Reading::in_view);
    Writer to = writer();
    to.array(consumers.size());
    for (const StreamConsumer &consumer : consumers) {
      to.map(3);
      tell(to, "name", consumer.name);
      tell(to, "pending", counts[consumer.name]);
      tell(to, "idle", std::max<int64_t>(now_ms() - consumer.seen_ms, 0));
    }
  }
};

}  // namespace

namespace lower {

Next xinfo_stream(Call &call) {
  const std::span<const Bytes> arguments = call.arguments;
  // Redis looks the key up first.
  const auto wrong = [&call, arguments] {
    return read_key(call, arguments[2], [name = arguments[1]](Writer &writer, const KeyState *state, Row) {
      if (state == nullptr) return writer.error(no_such_key);
      if (state->type != Type::stream) return writer.error(wrong_type);
      std::string text = "ERR unknown subcommand or wrong number of arguments for '";
      text.append(told_of(name, 128)).append("'. Try XINFO HELP.");
      writer.error(text);
    });
  };
  if (arguments.size() == 3) return begin_reading<TellStream>(call, arguments[2], tell_no_such_key);
  if (!is_word(arguments[3], "full") || (arguments.size() != 4 && arguments.size() != 6)) return wrong();
  int64_t count = 10;
  if (arguments.size() == 6) {
    if (!is_word(arguments[4], "count")) return wrong();
    if (!read_number(call, arguments[5], count)) return Next::go_on;
    if (count < 0) count = 10;
  }
  return begin_reading<TellAllOfStream>(call, arguments[2], tell_no_such_key, static_cast<uint64_t>(count));
}

Next xinfo_groups(Call &call) {
  return begin_reading<TellGroups>(call, call.arguments[2], tell_no_such_key);
}

Next xinfo_consumers(Call &call) {
  return begin_reading<TellConsumers>(call, call.arguments[2], tell_no_such_key);
}

}  // namespace lower
}  // namespace postern::redis
