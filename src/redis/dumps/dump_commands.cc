// dump_commands.cc: DUMP, and the arguments of RESTORE.
#include <string>
#include <utility>
#include <vector>

#include "redis/collections/scores.h"
#include "redis/dumps/restore_work.h"
#include "redis/registry/handlers.h"
#include "redis/hashes/hash_ops.h"
#include "redis/streams/stream_work.h"
#include "redis/wire/numbers.h"
#include "redis/wire/rdb.h"
#include "redis/wire/rdb_value.h"

namespace postern::redis {
namespace {

class DumpWork final : public StreamWork {
 public:
  using StreamWork::StreamWork;

 private:
  using Kind = rdb::DumpedValue::Kind;

  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    rdb::DumpedValue value;
    switch (entry.live ? entry.type : Type::none) {
      case Type::none: writer().nil(); co_return;
      case Type::string: value.texts.push_back(entry.value); break;
      case Type::list:
        value.kind = Kind::list;
        co_await read(entry, column::value, column::value, value.texts);
        break;
      case Type::set:
        value.kind = Kind::set;
        co_await read(entry, column::member, column::member, value.texts);
        break;
      case Type::hash:
        value.kind = Kind::hash;
        co_await read(entry, element::field, element::value, value.texts);
        break;
      case Type::zset:
        value.kind = Kind::sorted_set;
        co_await read_scored(entry, value);
        break;
      case Type::stream:
        value.kind = Kind::stream;
        co_await read_stream(entry, value.stream);
        break;
    }
    writer().bulk(rdb::dump(value));
  }

  /// Moves the columns from `first` to `last` of all elements to `texts`.
  Task<> read(const Entry &entry, uint32_t first, uint32_t last, std::vector<std::string> &texts) {
    StepReply &found = add_read(*elements_of(entry.type), {.key = key_of(entry), .limit = all});
    co_await go();
    for (Cells &row : found.rows)
      for (uint32_t at = first; at <= last; ++at) texts.push_back(std::move(row[at].text));
  }

  Task<> read_scored(const Entry &entry, rdb::DumpedValue &value) {
    std::vector<std::string> texts;
    co_await read(entry, column::member, column::score, texts);
    for (size_t i = 0; i < texts.size(); i += 2) {
      value.texts.push_back(std::move(texts[i]));
      value.scores.push_back(score_in(Bytes(texts[i + 1])));
    }
  }

  Task<> read_stream(const Entry &entry, rdb::DumpedStream &stream) {
    const StreamHead head = StreamHead::of(entry.value);
    stream.last = head.last;
    stream.deleted = head.deleted;
    stream.added = head.added;
    const std::vector<StreamEntry> entries = co_await range(entry, {}, last_stream_id, all, Reading::in_view);
    for (const StreamEntry &one : entries) {
      rdb::DumpedEntry &dumped = stream.entries.emplace_back(rdb::DumpedEntry{.id = one.id});
      for (const Bytes text : unpack_fields(one.fields)) dumped.fields.emplace_back(text);
    }
    const std::vector<StreamGroup> groups = co_await all_groups(entry);
    for (const StreamGroup &group : groups) {
      rdb::DumpedGroup dumped{.name = group.name, .last = group.last, .read = group.read};
      const std::vector<StreamConsumer> consumers = co_await all_consumers(entry, group.name, Reading::in_view);
      for (const StreamConsumer &one : consumers)
        dumped.consumers.push_back({.name = one.name, .seen_ms = one.seen_ms});
      const auto keep = [](Pending one, std::vector<Pending> &found) {
        found.push_back(std::move(one));
        return true;
      };
      std::vector<Pending> pending =
          co_await find_pending(entry, group.name, {}, last_stream_id, Reading::in_view, keep);
      for (Pending &one : pending)
        dumped.pending.push_back({.id = one.id,
                                  .delivered_ms = one.delivered_ms,
                                  .times = static_cast<uint64_t>(one.times),
                                  .consumer = std::move(one.consumer)});
      stream.groups.push_back(std::move(dumped));
    }
  }
};

/// A mapped row is a hash, and a mapped value a string.
rdb::DumpedValue value_of_row(const Map &map, const KeyState &state, Row row) {
  rdb::DumpedValue value;
  char room[20];
  if (state.type == Type::string) {
    value.texts.emplace_back(text_of(state.value, room));
    return value;
  }
  value.kind = rdb::DumpedValue::Kind::hash;
  for (const Cells &cells : elements_of_row(map, row)) {
    value.texts.push_back(cells[element::field].text);
    value.texts.push_back(cells[element::value].text);
  }
  return value;
}

/// `IDLETIME seconds` or `FREQ frequency`: they are looked at, and no more. Returns an error, or nothing.
Bytes read_use(Bytes word, Bytes text, bool &has_idle, bool &has_frequency) {
  int64_t number = 0;
  const bool idle = is_word(word, "idletime") && !has_frequency;
  if (!idle && (!is_word(word, "freq") || has_idle)) return syntax_error;
  (idle ? has_idle : has_frequency) = true;
  if (!parse_integer(text, number)) return not_an_integer;
  if (idle) return number < 0 ? Bytes("ERR Invalid IDLETIME value, must be >= 0") : Bytes{};
  return number < 0 || number > 255 ? Bytes("ERR Invalid FREQ value, must be >= 0 and <= 255") : Bytes{};
}

/// Returns false after answering an error.
bool read_restore_options(Call &call, RestoreWork::Wanted &wanted) {
  const std::span<const Bytes> words = call.arguments;
  bool absolute = false;
  bool has_idle = false;
  bool has_frequency = false;
  for (size_t i = 4; i < words.size(); ++i) {
    Bytes error;
    if (is_word(words[i], "replace")) wanted.replaces = true;
    else if (is_word(words[i], "absttl")) absolute = true;
    else if (i + 1 == words.size()) error = syntax_error;
    else error = read_use(words[i], words[i + 1], has_idle, has_frequency), ++i;
    if (error.empty()) continue;
    refuse(call, error);
    return false;
  }
  if (!parse_integer(words[2], wanted.expires_ms)) {
    wanted.error = not_an_integer;
  } else if (wanted.expires_ms < 0) {
    wanted.error = "ERR Invalid TTL value, must be >= 0";
  } else if (wanted.expires_ms != 0 && !absolute &&
             __builtin_add_overflow(wanted.expires_ms, call.now_ms, &wanted.expires_ms)) {
    wanted.expires_ms = INT64_MIN;  // Redis wraps around, too: it has expired
  }
  return true;
}

}  // namespace

namespace lower {

Next dump(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (place.state == Place::State::there && !place.generic())
    return read_place(call, place, [map = place.open->map.get()](Writer &writer, const KeyState *state, Row row) {
      if (state == nullptr) return writer.nil();
      writer.bulk(rdb::dump(value_of_row(*map, *state, row)));
    });
  return begin_reading<DumpWork>(call, place, [](Writer &writer) { writer.nil(); });
}

Next restore(Call &call) {
  RestoreWork::Wanted wanted;
  if (!read_restore_options(call, wanted)) return Next::go_on;
  const Place place = place_of(call, call.arguments[1]);
  if (place.state == Place::State::there && !place.generic())
    return refuse(call, "ERR a row of a mapped table cannot be restored");
  note_fed(call, call.arguments[1]);
  return begin_on<RestoreWork>(call, call.arguments[1], wanted);
}

}  // namespace lower
}  // namespace postern::redis
