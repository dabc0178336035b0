// stream_read_commands.cc: XREAD and XREADGROUP, which may wait.
#include <string>
#include <utility>

#include "redis/collections/algebra.h"
#include "redis/collections/blocking.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/streams/stream_arguments.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// The start of a read.
struct Since {
  enum class What : uint8_t { id, newest, undelivered } what = What::id;  ///< `ms-number`, `$`, `>`
  StreamId id{};
};

struct Reads {
  uint64_t count = 0;  ///< 0: all
  Bytes timeout{};     ///< empty: it does not wait
  Bytes group{};
  Bytes consumer{};
  bool has_group = false;
  bool acknowledges = false;  ///< NOACK
  std::span<const Bytes> keys{};
  std::span<const Bytes> ids{};
  std::vector<Source> sources{};
  OpenMap *open = nullptr;
};

/// The keys and ids after STREAMS.
bool read_streams(Call &call, size_t at, Reads &reads) {
  const std::span<const Bytes> rest = call.arguments.subspan(at);
  if (rest.size() % 2 != 0)
    return refused(call, "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.");
  reads.keys = rest.first(rest.size() / 2);
  reads.ids = rest.subspan(rest.size() / 2);
  return true;
}

bool read_arguments(Call &call, Reads &reads) {
  const std::span<const Bytes> arguments = call.arguments;
  const bool of_group = call.command.name == "xreadgroup";
  for (size_t i = 1; i < arguments.size() && reads.keys.empty(); ++i) {
    const size_t left = arguments.size() - 1 - i;
    if (is_word(arguments[i], "block") && left != 0) {
      int64_t ms = 0;
      reads.timeout = arguments[++i];
      if (!parse_integer(reads.timeout, ms)) return refused(call, "ERR timeout is not an integer or out of range");
      if (ms < 0) return refused(call, "ERR timeout is negative");
    } else if (is_word(arguments[i], "count") && left != 0) {
      int64_t count = 0;
      if (!read_number(call, arguments[++i], count)) return false;
      reads.count = static_cast<uint64_t>(std::max<int64_t>(count, 0));
    } else if (is_word(arguments[i], "streams") && left != 0) {
      if (!read_streams(call, i + 1, reads)) return false;
    } else if (is_word(arguments[i], "group") && left >= 2) {
      if (!of_group)
        return refused(call, "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
      reads.group = arguments[i + 1];
      reads.consumer = arguments[i + 2];
      reads.has_group = true;
      i += 2;
    } else if (is_word(arguments[i], "noack")) {
      if (!of_group)
        return refused(call, "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
      reads.acknowledges = true;
    } else {
      return refused(call, syntax_error);
    }
  }
  if (reads.keys.empty()) return refused(call, syntax_error);
  if (of_group && !reads.has_group) return refused(call, "ERR Missing GROUP option for XREADGROUP");
  if (reads.consumer.size() > group_name_bytes_max)
    return refused(call, "ERR the name of a group or consumer can have 512 bytes");
  return true;
}

/// XREAD and XREADGROUP of several keys, once.
class Read final : public Trying<StreamWork> {
 public:
  Read(Call &call, Reads reads, Attempt *attempt)
      : Trying(attempt, call, *reads.open), reads_(std::move(reads)), sinces_(attempt_sinces(attempt)) {}

 private:
  /// The ids that the first try has read for `$` are used by later ones.
  std::vector<StreamId> &attempt_sinces(Attempt *attempt) { return attempt != nullptr ? attempt->since : own_sinces_; }

  Task<> run() override {
    begin_try();
    told_ = 0;
    body_.clear();
    std::vector<Since> from;
    if (!co_await look_at_all(from)) co_return;
    for (size_t i = 0; i < from.size(); ++i) {
      if (reads_.sources[i].open == nullptr) continue;
      use(*reads_.sources[i].open);
      if (reads_.has_group) co_await read_group(i, from[i]);
      else co_await read(i, from[i].id);
    }
    if (told_ == 0) {
      if (!waits()) writer().nil_array();
      co_return;
    }
    Writer to = writer();
    if (to.three()) to.map(told_);
    else to.array(told_);
    for (const Found &found : body_) {
      if (!to.three()) to.array(2);
      to.bulk(reads_.keys[found.key]);
      to.array(found.entries.size());
      for (size_t i = 0; i < found.entries.size(); ++i) write(to, found, i);
    }
  }

  struct Found {
    size_t key = 0;
    std::vector<StreamEntry> entries{};
    std::vector<bool> gone{};  // deleted, and pending yet
  };

  void write(Writer &to, const Found &found, size_t i) const {
    if (found.gone.empty() || !found.gone[i]) return write_entry(to, found.entries[i]);
    to.array(2);
    to.bulk(found.entries[i].id.text());
    to.nil_array();
  }

  /// False: an error was written.
  Task<bool> look_at_all(std::vector<Since> &from) {
    const bool first = sinces_.empty();
    has_seen_ = is_repeated() || (&sinces_ != &own_sinces_ && !first);
    for (size_t i = 0; i < reads_.keys.size(); ++i) {
      Entry entry;
      if (reads_.sources[i].open != nullptr) {
        use(*reads_.sources[i].open);
        entry = co_await look(row_key(reads_.keys[i]));
        if (has_seen_ && entry.type != Type::stream) entry = Entry{.key = entry.key};
        if (is_wrong_stream(entry)) co_return false;
      }
      if (reads_.has_group && !co_await find_group(entry, reads_.group, Reading::in_view)) {
        refuse_group(i, entry.live);
        co_return false;
      }
      Since &since = from.emplace_back();
      if (!since_of(reads_.ids[i], StreamHead::of(entry.value).last, since)) co_return false;
      if (first) sinces_.push_back(since.id);
      else if (since.what == Since::What::newest) since.id = sinces_[i];
    }
    co_return true;
  }

  void refuse_group(size_t i, bool has_stream) {
    if (has_seen_)
      return writer().error(has_stream ? "NOGROUP the consumer group this client was blocked on no longer exists"
                                       : "UNBLOCKED the stream key no longer exists");
    writer().error("NOGROUP No such key '" + std::string(told_of(reads_.keys[i])) + "' or consumer group '" +
                   std::string(told_of(reads_.group)) + "' in XREADGROUP with GROUP option");
  }

  bool since_of(Bytes text, StreamId last, Since &since) {
    if (text == "$") {
      if (reads_.has_group) {
        writer().error(
            "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer "
            "by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty "
            "result "
            "set.");
        return false;
      }
      since = {.what = Since::What::newest, .id = last};
      return true;
    }
    if (text == ">") {
      since.what = Since::What::undelivered;
      if (reads_.has_group) return true;
      writer().error(
          "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.");
      return false;
    }
    if (parse_stream_id(text, 0, since.id)) return true;
    writer().error(bad_stream_id);
    return false;
  }

  uint64_t count() const { return reads_.count == 0 ? all : reads_.count; }

  void tell(size_t key, std::vector<StreamEntry> entries, std::vector<bool> gone = {}) {
    ++told_;
    body_.push_back({key, std::move(entries), std::move(gone)});
  }

  Task<> read(size_t i, StreamId since) {
    const Entry entry = co_await look(row_key(reads_.keys[i]));
    if (!entry.live || entry.type != Type::stream || !step_forward(since)) co_return;
    std::vector<StreamEntry> entries = co_await range(entry, since, last_stream_id, count(), Reading::in_view);
    if (!entries.empty()) tell(i, std::move(entries));
  }

  Task<> read_group(size_t i, const Since &since) {
    const bool is_new = since.what == Since::What::undelivered;
    if (is_new && !in_unit_) {
      // Most tries find nothing: they lock nothing.
      const Entry seen = co_await look(row_key(reads_.keys[i]));
      const std::optional<StreamGroup> group = co_await find_group(seen, reads_.group, Reading::in_view);
      if (!group || StreamHead::of(seen.value).last <= group->last) co_return;
    }
    const Entry entry = co_await lock(row_key(reads_.keys[i]));
    if (entry.type != Type::stream) co_return;
    std::optional<StreamGroup> group = co_await find_group(entry, reads_.group, Reading::locked);
    if (!group) co_return;
    if (is_new) co_await deliver_new(i, entry, *group);
    else co_await deliver_pending(i, entry, since.id);
  }

  Task<> deliver_new(size_t i, const Entry &entry, StreamGroup &group) {
    const StreamHead head = StreamHead::of(entry.value);
    StreamId from = group.last;
    if (!step_forward(from)) co_return;
    std::vector<StreamEntry> entries = co_await range(entry, from, head.last, count(), Reading::locked);
    if (entries.empty()) co_return;
    const std::optional<StreamEntry> first_entry = co_await edge(entry, false, Reading::locked);
    const StreamId first = first_entry ? first_entry->id : StreamId{};
    for (const StreamEntry &one : entries) {
      if (group.read != unknown_reads && !has_gaps(entry, head, first, one.id)) ++group.read;
      else if (head.added != 0) group.read = entries_until(entry, head, first, one.id);
      group.last = one.id;
      if (!reads_.acknowledges)
        add_pending(entry, reads_.group,
                    {.id = one.id, .consumer = std::string(reads_.consumer), .delivered_ms = now_ms(), .times = 1});
    }
    add_consumer(entry, reads_.group, reads_.consumer);
    add_group(entry, group);
    co_await go();
    tell(i, std::move(entries));
  }

  /// The consumer's history.
  Task<> deliver_pending(size_t i, const Entry &entry, StreamId since) {
    std::vector<Pending> mine;
    if (step_forward(since)) {
      mine = co_await find_pending(entry, reads_.group, since, last_stream_id, Reading::locked,
                                   [this](Pending one, std::vector<Pending> &found) {
                                     if (one.consumer == reads_.consumer) found.push_back(std::move(one));
                                     return found.size() < count();
                                   });
    }
    std::vector<StreamEntry> entries;
    std::vector<bool> gone;
    for (const Pending &one : mine) {
      std::optional<StreamEntry> entry_now = co_await find(entry, one.id, Reading::locked);
      gone.push_back(!entry_now);
      entries.push_back(entry_now ? std::move(*entry_now) : StreamEntry{.id = one.id});
    }
    for (size_t at = 0; at < mine.size(); ++at) {
      if (gone[at]) continue;
      mine[at].delivered_ms = now_ms();
      ++mine[at].times;
      add_pending(entry, reads_.group, mine[at]);
    }
    add_consumer(entry, reads_.group, reads_.consumer);
    co_await go();
    tell(i, std::move(entries), std::move(gone));
  }

  const Reads reads_;
  std::vector<StreamId> own_sinces_;
  std::vector<StreamId> &sinces_;
  std::vector<Found> body_;
  size_t told_ = 0;
  bool has_seen_ = false;  // an earlier try has found all streams and groups
};

Next try_read(Call &call, Attempt *attempt) {
  Reads reads;
  if (!read_arguments(call, reads)) return Next::go_on;
  if (!add_sources(call, reads.keys, reads.sources, reads.open)) return Next::go_on;
  if (reads.open == nullptr) return nothing_there(call, attempt);
  const bool writes = reads.has_group;
  Read &read = tables_of(call).keep<Read>(call, std::move(reads), attempt);
  return writes ? begin_work(call, read) : begin_reading_work(call, read);
}

}  // namespace

namespace lower {

Next xread(Call &call) {
  Reads reads;
  if (!read_arguments(call, reads)) return Next::go_on;
  if (reads.timeout.empty()) return try_read(call, nullptr);
  return wait_for_elements(call, {.type = Type::stream,
                                  .keys = reads.keys,
                                  .timeout = reads.timeout,
                                  .in_milliseconds = true,
                                  .attempt = try_read});
}

}  // namespace lower
}  // namespace postern::redis
