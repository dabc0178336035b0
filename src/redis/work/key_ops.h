// key_ops.h: the base of commands on one key: its place, its row, and the ops that find and write it.
//
// Replies and edits are made in the batch's arena, or kept by the session's Tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/passage.h"
#include "contract/batch.h"
#include "contract/edit.h"
#include "redis/call.h"
#include "redis/keyspace/key_state.h"
#include "redis/keyspace/open_maps.h"

namespace postern::redis {

struct Watched;

/// The number of a database. Returns false after answering an error.
bool read_database(Call &call, Bytes text, int64_t &number);

/// The place of a command's key, in the database that the client has selected.
Place place_of(Call &call, Bytes key);
/// Answers the reason that a key cannot be written. Requires that place.state is not `there`.
Next refuse_place(Call &call, const Place &place);
/// Answers that the mapping does not allow the command, and the reason.
Next refuse_read_only(Call &call, const Place &place);
Next refuse_delete(Call &call, const Place &place);
Next refuse_expiry(Call &call, const Place &place);

/// Marks the key as pushed to: its waiters are woken after commit.
void note_fed(Call &call, Bytes key);

/// Adds the op that finds the key's row.
Op &add_find(Call &call, const Place &place, OpenTable &table, Reply &reply);
/// For reading a string of a generic keyspace.
OpenTable &open_strings(Call &call, OpenMap &open);
Op &add_op(Call &call, Verb verb, OpenTable &table, Reply &reply);

/// The outcome of an op that a script ran in place of the reply's own op.
struct EndedOp {
  bool ended = false;
  bool cleared = false;  ///< a key of another type existed, and was deleted
  Failure failure = Failure::none;
  uint64_t changed = 0;
  Bytes message{};  ///< lives until the batch is settled
};

/// Compares the row that a read finds, a script's too, with the one that WATCH has seen. Does nothing if the client
/// watches no key, as in EXEC, and in a generic keyspace.
class WatchedRead {
 public:
  WatchedRead(Call &call, const Place &place);
  explicit WatchedRead(Watched *watched) : watched_(watched) {}

  /// Rows must have all columns.
  bool needed() const { return watched_ != nullptr; }
  /// Called with the row that was read; `row` is empty if there was none.
  void note(const Map &map, Row row, int64_t now_ms) {
    if (watched_ != nullptr) compare(map, row, now_ms);
  }

 private:
  void compare(const Map &map, Row row, int64_t now_ms);

  Watched *const watched_;
};

/// A reply to one op on a key.
class KeyReply : public Reply {
 public:
  KeyReply(Call &call, OpenTable &table)
      : output_(call.output), passage_(call.output), table_(table), now_ms_(call.now_ms), resp_(call.resp) {}

  /// Whether the op replaces a key of another type.
  virtual bool replaces() const { return false; }
  /// Whether it replaces the key without reading it first.
  virtual bool clears() const { return replaces(); }
  EndedOp ended{};

 protected:
  ~KeyReply() = default;

  Writer begin() {
    passage_.begin();
    return {output_, resp_};
  }
  /// The same, to continue an answer.
  Writer again() { return {output_, resp_}; }
  /// The op's outcome: `outcome`, or that of the script that ran in its place.
  Outcome how(const Outcome &outcome) const {
    if (outcome.failure != Failure::none || !ended.ended) return outcome;
    return {.failure = ended.failure, .changed = ended.changed, .message = ended.message};
  }
  /// Takes back the written bytes and writes the op's failure.
  void fail(const Outcome &outcome);
  int64_t now_ms() const { return now_ms_; }
  Output &output_;
  Passage passage_;

 private:
  OpenTable &table_;
  const int64_t now_ms_;
  const Resp resp_;
};

/// Answers the found row: `tell(Writer &, const KeyState *, Row)`, with nullptr for a missing key. `read` makes the
/// state of a row.
template <class Tell, KeyState (*read)(const Map &, Row, int64_t) = state_of>
class FoundReply final : public KeyReply {
 public:
  FoundReply(Call &call, const Place &place, OpenTable &table, Tell tell)
      : KeyReply(call, table), open_(*place.open), watched_(call, place), tell_(std::move(tell)) {}

  Flow row(Row row) override {
    watched_.note(*open_.map, row, now_ms());
    met_ = true;
    const KeyState state = read(*open_.map, row, now_ms());
    if (!state.live) return Flow::more;
    const size_t bytes = state.value.kind() == Value::Kind::bytes ? state.value.bytes().size() : 0;
    const bool streaming = output_.streaming();
    if (!streaming && output_.flow(output_.mark(), bytes) == Flow::pause) return Flow::pause;
    Writer writer = begin();
    tell_(writer, &state, row);
    return streaming ? output_.flow(passage_.start()) : Flow::more;
  }
  void done(const Outcome &outcome) override {
    // No row has a key that does not fit its column.
    if (outcome.failure != Failure::none && outcome.failure != Failure::bad_key_value) return fail(outcome);
    if (!met_) watched_.note(*open_.map, {}, now_ms());
    if (passage_.begun()) return;
    Writer writer = begin();
    tell_(writer, nullptr, {});
  }
  void restart() override {
    passage_.take_back();
    met_ = false;
  }

 private:
  OpenMap &open_;
  WatchedRead watched_;
  Tell tell_;
  bool met_ = false;
};

/// Answers a command that reads one key, when no row can have it.
template <class Tell>
Next read_nothing(Call &call, const Place &place, Tell tell) {
  if (place.state == Place::State::broken) return refuse_place(call, place);
  answer(call, [tell](Writer &writer) mutable { tell(writer, nullptr, {}); });
  return Next::go_on;
}
/// Answers a command that reads one key.
template <class Tell>
Next read_place(Call &call, const Place &place, Tell tell) {
  if (place.state != Place::State::there) return read_nothing(call, place, std::move(tell));
  OpenTable &table = place.open->table;
  add_find(call, place, table, *call.arena().make<FoundReply<Tell>>(call, place, table, std::move(tell)));
  return Next::go_on;
}
template <class Tell>
Next read_key(Call &call, Bytes key, Tell tell) {
  return read_place(call, place_of(call, key), std::move(tell));
}
/// The same for strings, with fewer columns read. A transaction, which may have changed the row, uses the whole table.
/// The state is that of string_state_of().
template <class Tell>
Next read_string_key(Call &call, Bytes key, Tell tell) {
  const Place place = place_of(call, key);
  const bool narrow = place.state == Place::State::there && place.generic() && !call.in_unit;
  if (!narrow) return read_place(call, place, std::move(tell));
  OpenTable &table = open_strings(call, *place.open);
  using Found = FoundReply<Tell, string_state_of>;
  add_find(call, place, table, *call.arena().make<Found>(call, place, table, std::move(tell)));
  return Next::go_on;
}

}  // namespace postern::redis
