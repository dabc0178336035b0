// element_reads.h: reads the elements of a key of the generic keyspace by two finds with one view: the key's row and
// the rows of elements.
//
// A command passes a Tell, a value in the arena, which writes the answer:
//   void absent(Writer &)                 the key does not exist
//   void begin(Writer &, uint64_t count)  it exists; called before the first row
//   void row(Writer &, Row)               an element
//   void end(Writer &, uint64_t rows)     called after the last row
//   bool counted                          begin() writes the number of rows that count() expects; if another number
//   uint64_t count(const KeyState &)      comes, everything is written again with that one
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "redis/call_tables.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// A Tell for elements that a command names, a reply for each; rows come in the order of the names. `Each` writes one:
/// `there(Writer &, Row)`, or `absent(Writer &)` for one without a row.
template <class Each>
struct NamedTell {
  std::span<const Bytes> names;
  size_t at = 0;
  static constexpr bool counted = false;
  static constexpr uint32_t name_column = 1;  //   after the key

  void absent(Writer &writer) const {
    writer.array(names.size());
    for (size_t i = 0; i < names.size(); ++i) Each::absent(writer);
  }
  void begin(Writer &writer, uint64_t) const { writer.array(names.size()); }
  void row(Writer &writer, Row row) {
    for (; at < names.size() && names[at] != row[name_column].bytes(); ++at) Each::absent(writer);
    if (at == names.size()) return;
    Each::there(writer, row);
    ++at;
  }
  void end(Writer &writer, uint64_t) {
    for (; at < names.size(); ++at) Each::absent(writer);
  }
};

/// Reads the key's row, without an answer.
class EntryReply final : public Reply {
 public:
  EntryReply(const Map &map, int64_t now_ms) : map_(map), now_ms_(now_ms) {}
  Flow row(Row row) override {
    state = state_of(map_, row, now_ms_);
    state.value = {};
    return Flow::more;
  }
  void done(const Outcome &outcome) override { failure = outcome.failure; }
  void restart() override {
    state = {};
    failure = Failure::none;
  }

  KeyState state{};
  Failure failure = Failure::none;

 private:
  const Map &map_;
  const int64_t now_ms_;
};

template <class Tell>
class ElementsReply final : public KeyReply {
 public:
  ElementsReply(Call &call, const EntryReply &entry, Type type, OpenTable &table, Tell tell)
      : KeyReply(call, table), entry_(entry), type_(type), tell_(tell) {}

  Flow row(Row row) override {
    if (!is_there()) return Flow::more;
    Writer writer = begin_once();
    ++rows_;
    tell_.row(writer, row);
    return output_.flow(passage_.start());
  }
  void done(const Outcome &outcome) override {
    // No row has a key that does not fit its column.
    if (outcome.failure != Failure::none && outcome.failure != Failure::bad_key_value) return fail(outcome);
    if (entry_.failure != Failure::none && entry_.failure != Failure::bad_key_value)
      return fail({.failure = entry_.failure});
    if (!entry_.state.live) {
      Writer writer = begin();
      return tell_.absent(writer);
    }
    if (entry_.state.type != type_) return begin().error(wrong_type);
    Writer writer = begin_once();
    tell_.end(writer, rows_);
    if (rows_ != expected()) recount();
  }
  void restart() override {
    passage_.take_back();
    rows_ = 0;
    tell_ = first_;
  }

 private:
  uint64_t expected() const {
    if constexpr (Tell::counted) return tell_.count(entry_.state);
    return rows_;
  }
  bool is_there() const { return entry_.state.live && entry_.state.type == type_; }

  Writer begin_once() {
    if (passage_.begun()) return again();
    Writer writer = begin();
    tell_.begin(writer, expected());
    body_ = output_.mark();
    return writer;
  }
  /// SQL has changed the elements without updating the key's row.
  void recount() {
    const std::string rows(output_.written_since(body_));
    if (!passage_.take_back()) return;
    Writer writer = begin();
    tell_.begin(writer, rows_);
    output_.put(rows);
  }

  const EntryReply &entry_;
  const Type type_;
  Tell tell_;
  const Tell first_ = tell_;
  uint64_t rows_ = 0;
  Output::Mark body_ = 0;
};

/// Adds both finds. `find` is of the table of elements; its key begins with the key.
template <class Tell>
Next read_elements(Call &call, const Place &place, Elements which, Type type, const Find &find, Tell tell) {
  OpenTable &table = tables_of(call).open().open(*place.open, which, call.batch);
  if (!call.in_unit) call.batch.begin_unit(false);
  EntryReply *const entry = call.arena().make<EntryReply>(place.map(), call.now_ms);
  add_find(call, place, place.open->table, *entry);
  auto *const reply = call.arena().make<ElementsReply<Tell>>(call, *entry, type, table, tell);
  add_op(call, Verb::find, table, *reply).find = call.arena().make<Find>(find);
  if (!call.in_unit) call.batch.end_unit();
  return Next::go_on;
}

/// The key of a table of elements: the key as rows store it, followed by further parts. Undefined for a place without a
/// table.
template <class... Each>
std::span<const Value> element_key(Call &call, const Place &place, Each... each) {
  const std::array<Value, 1 + sizeof...(each)> values = {place.key.empty() ? Value::null() : place.key[0], each...};
  const std::span<Value> copy = call.arena().array<Value>(values.size());
  std::copy(values.begin(), values.end(), copy.begin());
  return copy;
}

inline constexpr uint64_t all_rows = std::numeric_limits<uint64_t>::max();

}  // namespace postern::redis
