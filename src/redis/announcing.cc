#include "redis/announcing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

enum class NoticeKeys : uint8_t {
  first,
  second,
  pairs,    ///< every second argument
  replied,  ///< the one that the reply names
  written,  ///< those that it overwrites, by its options
  deleted,
};

enum class NoticeWhen : uint8_t {
  done,     ///< no error
  changed,  ///< not 0
  grown,    ///< more than 0
  found,    ///< not nil, and not empty
  expiring,
  persisting,
  left,
  right,
  lowest,
  highest,
  from_left,
  from_right,
  to_left,
  to_right,
  adding,
  incrementing,
  in_future,
  in_past,
};

struct NoticeRow {
  Bytes command;
  uint32_t of_class;
  Bytes event;
  NoticeKeys keys;
  NoticeWhen when;
};

constexpr NoticeRow notice_rows[] = {
#define NOTICE(command, of_class, event, keys, when) \
  {command, NoticeClass::of_class, event, NoticeKeys::keys, NoticeWhen::when},
#include "redis/notice_rows.def"
#undef NOTICE
};

/// By Command::place.
std::span<const NoticeRow *const> rows_of(const Command &command) {
  static const std::vector<std::vector<const NoticeRow *>> rows = [] {
    std::vector<std::vector<const NoticeRow *>> all(commands().size());
    for (const NoticeRow &row : notice_rows)
      if (const Command *const found = find_command(row.command)) all[found->place].push_back(&row);
    return all;
  }();
  return rows[command.place];
}

/// A command with its arguments and its reply.
struct Answered {
  const Command &command;
  std::span<const Bytes> arguments;
  Bytes reply;  ///< empty: it began before the command was done, and has a value
  int64_t now_ms;

  bool failed() const { return reply.starts_with('-'); }
  bool is_nothing() const {
    return reply.starts_with("$-1") || reply.starts_with("*-1") || reply.starts_with('_') || reply.starts_with("*0") ||
           reply.starts_with("~0");
  }
  bool has_option(std::initializer_list<Bytes> words, size_t from = 2) const {
    return std::any_of(
        arguments.begin() + static_cast<ptrdiff_t>(std::min(from, arguments.size())), arguments.end(), [&](Bytes one) {
          return std::any_of(words.begin(), words.end(), [one](Bytes word) { return is_word(one, word); });
        });
  }
  bool is_argument(size_t at, Bytes word) const { return at < arguments.size() && is_word(arguments[at], word); }
  /// A blocking command that has to wait answers nothing at first.
  bool has_found() const { return !is_nothing() && !(reply.empty() && command.has(CommandFlag::blocking)); }
  bool is_past() const {
    int64_t when = 0;
    if (arguments.size() < 3 || !parse_integer(arguments[2], when)) return false;
    const bool absolute = command.name.ends_with("at");
    const bool in_ms = command.name.starts_with('p');
    if (!absolute) return when <= 0;
    return in_ms ? when <= now_ms : when <= now_ms / 1'000;
  }
};

bool has_ended(const Answered &it, NoticeWhen when) {
  const bool changed = !it.reply.starts_with(":0\r");
  switch (when) {
    case NoticeWhen::done: return !it.command.has(CommandFlag::blocking) || !it.reply.empty();
    case NoticeWhen::changed: return changed && !it.is_nothing();
    case NoticeWhen::grown: return changed && !it.reply.starts_with(":-");
    case NoticeWhen::found: return it.has_found();
    case NoticeWhen::expiring: return !it.is_nothing() && it.has_option({"ex", "px", "exat", "pxat"});
    case NoticeWhen::persisting: return !it.is_nothing() && it.has_option({"persist"});
    case NoticeWhen::left: return it.has_found() && it.has_option({"left"});
    case NoticeWhen::right: return it.has_found() && it.has_option({"right"});
    case NoticeWhen::lowest: return it.has_found() && it.has_option({"min"});
    case NoticeWhen::highest: return it.has_found() && it.has_option({"max"});
    case NoticeWhen::from_left: return it.has_found() && it.is_argument(3, "left");
    case NoticeWhen::from_right: return it.has_found() && it.is_argument(3, "right");
    case NoticeWhen::to_left: return it.has_found() && it.is_argument(4, "left");
    case NoticeWhen::to_right: return it.has_found() && it.is_argument(4, "right");
    case NoticeWhen::adding: return !it.has_option({"incr"});
    case NoticeWhen::incrementing: return !it.is_nothing() && it.has_option({"incr"});
    case NoticeWhen::in_future: return changed && !it.is_past();
    case NoticeWhen::in_past: return changed && it.is_past();
  }
  return false;
}

/// The first bulk string of an array.
Bytes first_of(Bytes reply) {
  const size_t line = reply.find("\r\n$");
  if (line == Bytes::npos) return {};
  Bytes rest = reply.substr(line + 3);
  size_t size = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (error != std::errc() || rest.size() < size + 2) return {};
  return rest.substr(2, size);
}

class NoticeReply final : public Reply {
 public:
  NoticeReply(Call &call, Reply &inner)
      : session_(call.session),
        output_(call.output),
        inner_(inner),
        command_(call.command),
        arguments_(call.arguments),
        now_ms_(call.now_ms) {}

  void shape(std::span<const ColumnShape> columns) override { inner_.shape(columns); }
  Flow row(Row row) override { return inner_.row(row); }
  Flow still_wanted(uint32_t columns) override { return inner_.still_wanted(columns); }
  void done(const Outcome &outcome) override {
    session_.erased().all.clear();
    const Output::Mark start = output_.mark();
    inner_.done(outcome);
    from_ = session_.notices().next_id();
    if (outcome.failure == Failure::none) tell({command_, arguments_, output_.written_since(start), now_ms_});
    to_ = session_.notices().next_id();
  }
  void restart() override {
    session_.notices().take_back(from_, to_);
    from_ = to_ = 0;
    inner_.restart();
  }

 private:
  void tell(const Answered &it) {
    if (it.failed()) return;
    for (const ErasedKeys::Erased &one : session_.erased().all)
      if (one.why == ErasedKeys::Why::expired) add(NoticeClass::expired, "expired", one.key);
    for (const NoticeRow *const row : rows_of(it.command))
      if (has_ended(it, row->when)) tell(it, *row);
    // Nothing comes in its place: a result is empty, or all elements were taken.
    const bool is_gone = it.reply.starts_with(":0\r") || it.command.name == "spop" || it.command.name == "ltrim";
    for (const ErasedKeys::Erased &one : session_.erased().all)
      if (one.why == ErasedKeys::Why::emptied || (one.why == ErasedKeys::Why::replaced && is_gone))
        add(NoticeClass::generic, "del", one.key);
  }

  void tell(const Answered &it, const NoticeRow &row) {
    const std::span<const Bytes> all = it.arguments;
    switch (row.keys) {
      case NoticeKeys::first:
        if (all.size() > 1) add(row.of_class, row.event, all[1]);
        break;
      case NoticeKeys::second:
        if (all.size() > 2) add(row.of_class, row.event, all[2]);
        break;
      case NoticeKeys::pairs:
        for (size_t i = 1; i < all.size(); i += 2) add(row.of_class, row.event, all[i]);
        break;
      case NoticeKeys::replied:
        if (const Bytes key = first_of(it.reply); key.data() != nullptr) add(row.of_class, row.event, key);
        break;
      case NoticeKeys::written:
        for (const FoundKey &one : keys_of(it.command, all))
          if ((one.flags & (KeyFlag::writes | KeyFlag::changes)) != 0) add(row.of_class, row.event, one.key);
        break;
      case NoticeKeys::deleted:
        if (all.size() == 2) add(row.of_class, row.event, all[1]);
        if (all.size() == 2) break;
        for (const ErasedKeys::Erased &one : session_.erased().all)
          if (one.why == ErasedKeys::Why::replaced) add(row.of_class, row.event, one.key);
        break;
    }
  }

  void add(uint32_t of_class, Bytes event, Bytes key) {
    session_.notices().add({of_class, session_.client().database(), event, std::string(key)});
  }

  RedisSession &session_;
  Output &output_;
  Reply &inner_;
  const Command &command_;
  const std::span<const Bytes> arguments_;
  const int64_t now_ms_;
  uint64_t from_ = 0;
  uint64_t to_ = 0;
};

}  // namespace

Next announce(Call &call) {
  const size_t first = call.batch.size();
  const Next next = call.command.handler(call);
  announce_ops(call, first);
  return next;
}

void announce_ops(Call &call, size_t first) {
  const std::span<Op> ops = call.batch.ops();
  if (ops.size() == first) return;
  Op &last = ops.back();
  if (last.verb == Verb::open) return;
  last.reply = call.arena().make<NoticeReply>(call, *last.reply);
}

}  // namespace postern::redis
