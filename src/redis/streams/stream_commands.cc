// stream_commands.cc: XADD, XLEN, XRANGE, XREVRANGE, XDEL, XTRIM, XSETID.
#include <utility>

#include "redis/registry/handlers.h"
#include "redis/streams/stream_arguments.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

class Add final : public StreamWork {
 public:
  Add(Call &call, OpenMap &open, const AddOptions &options) : StreamWork(call, open), options_(options) {
    if (options_.makes_stream && options_.trim.by == StreamTrim::By::nothing) set_ends_at_once();
  }

 private:
  Task<> run() override {
    Entry entry;
    StreamHead head;
    bool done = false;
    if (options_.makes_stream) done = co_await add_at_once(entry, head);
    else done = co_await add_if_there(entry, head);
    if (!done) co_return;
    const int64_t trimmed = co_await trim(entry, options_.trim);
    if (trimmed != 0) co_await store(entry, head);
    writer().bulk(head.last.text());
  }

  /// Writes the key's row and the entry in one step. False: the error was answered.
  Task<bool> add_at_once(Entry &entry, StreamHead &head) {
    const RowKey key = row_key(arguments_[1]);
    const std::string fields = pack_fields(arguments_.subspan(options_.fields_at));
    std::span<Value> row;
    Bytes refusal;
    const auto add = [&] {
      row = values(entry_fields + 1);
      row[0] = Value::of(key.text);
      row[entry_fields] = Value::of(fields);
      add_insert(streams(), row, OnDuplicate::fail);
    };
    const auto meet = [&] {
      head = StreamHead::of(entry.value);
      refusal = choose(head);
      if (!refusal.empty()) return false;
      row[entry_ms] = number(head.last.ms);
      row[entry_ms + 1] = number(head.last.number);
      ++entry.len;
      entry.value = head.text();
      return true;
    };
    const bool done = co_await add_elements_to(key, Type::stream, entry, Doing(add), Doing(meet));
    if (!done && (!entry.live || entry.type == Type::stream)) writer().error(refusal);
    co_return done;
  }

  Task<bool> add_if_there(Entry &entry, StreamHead &head) {
    entry = co_await lock(row_key(arguments_[1]));
    if (!entry.live) writer().nil();
    if (!entry.live || is_wrong_stream(entry)) co_return false;
    head = StreamHead::of(entry.value);
    const Bytes refusal = choose(head);
    if (!refusal.empty()) {
      writer().error(refusal);
      co_return false;
    }
    add_insert(streams(),
               {Value::of(entry.key), number(head.last.ms), number(head.last.number),
                Value::of(keep_text(pack_fields(arguments_.subspan(options_.fields_at))))},
               OnDuplicate::fail);
    co_await go();
    ++entry.len;
    co_await store(entry, head);
    co_return true;
  }

  /// Gives the entry its id, which `head` then has as its last one. Returns the error, or nothing.
  Bytes choose(StreamHead &head) const {
    if (head.last == last_stream_id)
      return "ERR The stream has exhausted the last possible ID, unable to add more items";
    StreamId id = options_.id.id;
    bool rises = true;
    switch (options_.id.how) {
      case WantedId::How::any: id = next_id(head.last); break;
      case WantedId::How::number:
        if (head.last.ms == id.ms) {
          rises = head.last.number != std::numeric_limits<uint64_t>::max();
          id.number = head.last.number + 1;
        }
        break;
      case WantedId::How::exact: break;
    }
    if (!rises || (options_.id.how != WantedId::How::any && id <= head.last))
      return "ERR The ID specified in XADD is equal or smaller than the target stream top item";
    head.last = id;
    ++head.added;
    return {};
  }

  StreamId next_id(StreamId last) const {
    const StreamId now{static_cast<uint64_t>(now_ms()), 0};
    if (now > last && now.ms > last.ms) return now;
    static_cast<void>(step_forward(last));
    return last;
  }

  const AddOptions options_;
};

class Range final : public StreamWork {
 public:
  struct Wanted {
    StreamId from{};
    StreamId to{};
    uint64_t count = all;
    bool backwards = false;
  };
  Range(Call &call, OpenMap &open, const Wanted &wanted) : StreamWork(call, open), wanted_(wanted) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return;
    std::vector<StreamEntry> found;
    if (entry.live && wanted_.count == 0) {
      writer().nil_array();
      co_return;
    }
    if (entry.live)
      found = co_await range(entry, wanted_.from, wanted_.to, wanted_.count, Reading::in_view, wanted_.backwards);
    Writer to = writer();
    to.array(found.size());
    for (const StreamEntry &one : found) write_entry(to, one);
  }

  const Wanted wanted_;
};

Next begin_range(Call &call, bool backwards) {
  const std::span<const Bytes> arguments = call.arguments;
  Range::Wanted wanted{.backwards = backwards};
  const Bytes from = arguments[backwards ? 3 : 2];
  const Bytes to = arguments[backwards ? 2 : 3];
  if (!read_interval(call, from, to, wanted.from, wanted.to)) return Next::go_on;
  for (size_t i = 4; i < arguments.size(); i += 2) {
    int64_t count = 0;
    if (!is_word(arguments[i], "count") || i + 1 == arguments.size()) return refuse(call, syntax_error);
    if (!read_number(call, arguments[i + 1], count)) return Next::go_on;
    wanted.count = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  }
  return begin_reading<Range>(
      call, arguments[1], [](Writer &writer) { writer.array(0); }, wanted);
}

class Delete final : public StreamWork {
 public:
  Delete(Call &call, OpenMap &open, std::vector<StreamId> ids) : StreamWork(call, open), ids_(std::move(ids)) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return;
    int64_t deleted = 0;
    if (entry.live) {
      StreamHead head = StreamHead::of(entry.value);
      std::vector<const StepReply *> replies;
      replies.reserve(ids_.size());
      for (const StreamId id : ids_) replies.push_back(&add_erase(streams(), {.key = at(entry, id), .limit = 1}));
      co_await go();
      for (size_t i = 0; i < ids_.size(); ++i) {
        if (replies[i]->changed == 0) continue;
        ++deleted;
        head.deleted = std::max(head.deleted, ids_[i]);
      }
      entry.len = std::max<int64_t>(entry.len - deleted, 0);
      if (deleted != 0) co_await store(entry, head);
    }
    writer().integer(deleted);
  }

  const std::vector<StreamId> ids_;
};

class Trim final : public StreamWork {
 public:
  Trim(Call &call, OpenMap &open, const StreamTrim &trim) : StreamWork(call, open), trim_(trim) {}

 private:
  Task<> run() override {
    Entry entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return;
    int64_t trimmed = 0;
    if (entry.live) trimmed = co_await trim(entry, trim_);
    if (trimmed != 0) co_await store(entry, StreamHead::of(entry.value));
    writer().integer(trimmed);
  }

  const StreamTrim trim_;
};

class SetId final : public StreamWork {
 public:
  struct Wanted {
    StreamId last{};
    std::optional<int64_t> added{};
    std::optional<StreamId> deleted{};
  };
  SetId(Call &call, OpenMap &open, const Wanted &wanted) : StreamWork(call, open), wanted_(wanted) {}

 private:
  Task<> run() override {
    const Entry entry = co_await lock(row_key(arguments_[1]));
    if (!entry.live) {
      writer().error(no_such_key);
      co_return;
    }
    if (is_wrong_stream(entry)) co_return;
    StreamHead head = StreamHead::of(entry.value);
    const std::optional<StreamEntry> top = co_await edge(entry, true, Reading::locked);
    if (top && wanted_.last < top->id) {
      writer().error("ERR The ID specified in XSETID is smaller than the target stream top item");
    } else if (top && wanted_.added && entry.len > *wanted_.added) {
      writer().error("ERR The entries_added specified in XSETID is smaller than the target stream length");
    } else {
      head.last = wanted_.last;
      if (wanted_.added) head.added = static_cast<uint64_t>(*wanted_.added);
      if (wanted_.deleted && !wanted_.deleted->is_zero()) head.deleted = *wanted_.deleted;
      co_await store(entry, head);
      writer().ok();
    }
  }

  const Wanted wanted_;
};

}  // namespace

namespace lower {

Next xadd(Call &call) {
  AddOptions options;
  if (!read_add_options(call, options)) return Next::go_on;
  note_fed(call, call.arguments[1]);
  return begin_on<Add>(call, call.arguments[1], options);
}

Next xlen(Call &call) {
  return tell_length_of(call, Type::stream);
}

Next xrange(Call &call) {
  return begin_range(call, false);
}

Next xrevrange(Call &call) {
  return begin_range(call, true);
}

Next xdel(Call &call) {
  std::vector<StreamId> ids;
  if (!read_ids(call, call.arguments.subspan(2), ids)) return Next::go_on;
  return begin_on<Delete>(call, call.arguments[1], std::move(ids));
}

Next xtrim(Call &call) {
  StreamTrim trim;
  if (!read_trim_options(call, trim)) return Next::go_on;
  return begin_on<Trim>(call, call.arguments[1], trim);
}

Next xsetid(Call &call) {
  const std::span<const Bytes> arguments = call.arguments;
  SetId::Wanted wanted;
  if (!read_id(call, arguments[2], wanted.last)) return Next::go_on;
  for (size_t i = 3; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return refuse(call, syntax_error);
    if (is_word(arguments[i], "entriesadded")) {
      int64_t added = 0;
      if (!read_number(call, arguments[i + 1], added)) return Next::go_on;
      if (added < 0) return refuse(call, "ERR entries_added must be positive");
      wanted.added = added;
    } else if (is_word(arguments[i], "maxdeletedid")) {
      StreamId deleted;
      if (!read_id(call, arguments[i + 1], deleted)) return Next::go_on;
      if (wanted.last < deleted)
        return refuse(call, "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
      wanted.deleted = deleted;
    } else {
      return refuse(call, syntax_error);
    }
  }
  return begin_on<SetId>(call, arguments[1], wanted);
}

}  // namespace lower
}  // namespace postern::redis
