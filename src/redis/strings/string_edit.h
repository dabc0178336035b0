// string_edit.h: StringEdit, the base of commands that write a string, over entries and value mappings.
//
// A command derives a class and decides about the existing string. The value of a new string is known beforehand. One
// op: an insert that decides, an edit by key, or the script of edit_or_insert.h.
#pragma once

#include <cstdint>

#include "contract/edit.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// The columns of a string's row, for a command to write.
class StringDraft {
 public:
  StringDraft(Draft &draft, const Map &map, const KeyState &now) : draft_(draft), map_(map), now_(now) {}

  void set(const Value &value) { draft_.set(value_column(), value); }
  void extend(Bytes bytes) { draft_.extend(value_column(), bytes, false); }
  /// Milliseconds since 1970; 0: never. Does nothing if the mapping has no expiry column.
  void expire(int64_t expires_ms) {
    if (map_.keeps_expiry()) draft_.set(map_.expiry_column(), Value::of_integer(map_.to_column(expires_ms)));
  }
  /// Makes the key a string, whatever it was.
  void become_string() {
    if (map_.generic() && now_.type != Type::string)
      draft_.set(entry::type, Value::of_integer(static_cast<int64_t>(Type::string)));
  }
  void count_version() {
    if (map_.keeps_version()) draft_.set(map_.version_column(), Value::of_natural(now_.version + 1));
  }

 private:
  uint32_t value_column() const { return map_.generic() ? entry::value : map_.first_field(); }

  Draft &draft_;
  const Map &map_;
  const KeyState &now_;
};

class StringEdit : public KeyReply, public Edit {
 public:
  StringEdit(Call &call, const Place &place) : KeyReply(call, place.open->table), open_(*place.open) {}

  Decision present(Row row, Draft &next) final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &outcome) final;
  void restart() final;

  /// The value and the expiry of a new string. Without them none is made.
  void create(const Value &value, int64_t expires_ms = 0) {
    initial_ = value;
    initial_expires_ms_ = expires_ms;
    creates_ = true;
  }
  bool creates() const { return creates_; }
  /// Sets the columns of a new row.
  void fill(std::span<Value> row) const;

 protected:
  ~StringEdit() = default;

  /// Decides about the existing string. If the answer has its bytes, tell() it at once: they do not live longer.
  virtual Decision change(const KeyState &now, StringDraft &next) = 0;
  /// Answers, unless an answer was written already.
  virtual void tell(Writer writer) = 0;
  /// Resets its notes for another run.
  virtual void forget() {}

  enum class Met : uint8_t { nothing, string, other_type };
  /// The old value.
  Met met() const { return met_; }
  const Map &map() const { return *open_.map; }

 private:
  OpenMap &open_;
  Value initial_{};
  int64_t initial_expires_ms_ = 0;
  Met met_ = Met::nothing;
  bool creates_ = false;
};

/// Adds the op of a command on a string. `reads`: its effect or its answer depends on the old value; `erases`: it
/// deletes the key and does nothing else. The edit is in the arena, or kept.
Next write_string(Call &call, const Place &place, StringEdit &edit, bool reads, bool erases = false);
/// Returns false after answering an error: no string can be written there.
bool may_write_string(Call &call, const Place &place);

}  // namespace postern::redis
