// work.h: Work, a command of several steps on keys of the generic keyspace.
//
//   class Touch final : public Work {
//     Task<> run() override {
//       Entry entry = co_await lock(key_);
//       if (!entry.live) { writer().integer(0); co_return; }
//       ...
//       co_await change(entry, ...);
//       writer().integer(1);
//     }
//   };
//   return begin_work(call, tables_of(call).keep<Touch>(call, place));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "redis/work/key_ops.h"
#include "redis/work/steps.h"

namespace postern::redis {

/// A function that a coroutine calls and its caller keeps; without a result it returns true.
class Doing {
 public:
  template <class Function>
  explicit Doing(const Function &function)
      : function_(&function), call_([](const void *known) {
          const Function &its = *static_cast<const Function *>(known);
          if constexpr (std::is_void_v<decltype(its())>) {
            its();
            return true;
          } else {
            return its();
          }
        }) {}
  bool operator()() const { return call_(function_); }

 private:
  const void *function_;
  bool (*call_)(const void *);
};

/// A key of a generic keyspace as rows have it: without the prefix of its mapping. A type of its own, for what clients
/// call the key is in no row. Borrows from that.
class RowKey {
 public:
  RowKey(const Map &map, Bytes name) : text(name.substr(map.prefix().size())) {}
  explicit RowKey(const Place &place) : text(place.key[0].bytes()) {}

  const Bytes text;
};

/// The row of a key of the generic keyspace, as it is now, and locked.
struct Entry {
  std::string key{};  ///< as RowKey
  bool live = false;
  Type type = Type::none;
  int64_t expires_ms = 0;
  uint64_t version = 0;
  int64_t len = 0;
  int64_t head = 0;
  std::string value{};
};

class Work : public Steps {
 public:
  /// The answer's output, and the keys of the command.
  struct Setting {
    Output &output;
    Resp resp;
    int64_t now_ms;
    OpenMap &open;
    bool small = true;  ///< it does so little that it may share a turn
  };
  /// Small is a command of few arguments.
  Work(Call &call, OpenMap &open)
      : Work(Setting{call.output, call.resp, call.now_ms, open, call.arguments.size() <= arguments_in_turn_max}) {
    tell_erased_to(call);
  }
  explicit Work(const Setting &setting)
      : Steps(setting.output, setting.resp, setting.small), open_(&setting.open), now_ms_(setting.now_ms) {}

 protected:
  int64_t now_ms() const { return now_ms_; }
  OpenMap &open() { return *open_; }
  /// From now on it is about that.
  void use(OpenMap &open) { open_ = &open; }
  OpenTable &elements(Elements which) { return *open_->elements[static_cast<size_t>(which)]; }
  /// nullptr: a key of that type has none.
  OpenTable *elements_of(Type type);
  /// The same, and all other tables with rows of such a key, whose first column is the key.
  std::vector<OpenTable *> tables_of(Type type);

  static Entry entry_of(RowKey key, const KeyState &state);
  KeyState state_of_cells(const Map &map, const Cells &cells) const;
  static uint64_t fresh_version();

  /// `name`: a key of open(), as clients have it.
  RowKey row_key(Bytes name) const { return {*open_->map, name}; }
  /// The key's row, locked: nobody else changes it or its elements before the transaction ends. An expired key is gone.
  Task<Entry> lock(RowKey key);
  /// The same; if there is no such key it is made, with nothing in it, and is not live.
  Task<Entry> make(RowKey key, Type type);
  /// Stores an entry that was locked or made: `len`, `head` and `expires_ms` as they are in it, and another version.
  /// With nothing in it any more the key is gone.
  Task<> store(const Entry &entry);
  /// Has store() be a part of the step; `edit` is one of the entry's, and lives as long.
  class StoreEdit final : public Edit {
   public:
    explicit StoreEdit(const Entry &entry) : entry_(entry) {}
    Decision present(Row row, Draft &next) override {
      draft(entry_, row, next);
      return Decision::write;
    }

   private:
    const Entry &entry_;
  };
  void add_store(const Entry &entry, StoreEdit &edit);

  // What make(), a step on elements and store() do, in one step. What `add()` adds may borrow from `key`, not from the
  // entry. An expired key goes first; they return false after answering that the key is of another type.

  /// `count()`, after the ops on elements, updates the entry; false: nothing is stored.
  Task<bool> add_elements(RowKey key, Type type, Entry &entry, Doing add, Doing count);
  /// For elements that depend on the entry: `meet()`, before them, updates the entry and gives their
  /// inserts their values; false: nothing is done, and nothing answered. It is called for a new key, and then for the
  /// one that is there.
  Task<bool> add_elements_to(RowKey key, Type type, Entry &entry, Doing add, Doing meet);
  /// A key of open() is gone; clear() and store() note that themselves.
  void note_erased(Bytes key, ErasedKeys::Why why) { Steps::note_erased(open_->map->prefix(), key, why); }
  /// What lock(), a step that changes or takes out elements, and store() do, in one step. `change()` adds the ops on
  /// elements, which may borrow from `key`; `count()`, after them, updates the entry; false: nothing is stored.
  /// Elements of an expired key may go. Returns false after answering that the key is of another type.
  Task<bool> change_elements(RowKey key, Type type, Entry &entry, Doing change, Doing count);
  /// Deletes a key that was locked, and its elements.
  Task<> clear(const Entry &entry);

 private:
  /// A command of more leaves the turn to others.
  static constexpr size_t arguments_in_turn_max = 64;

  Task<bool> at_once(RowKey key, Type type, Entry &entry, Doing add, Doing count);
  Task<bool> at_once_with(RowKey key, Type type, Entry &entry, Doing add, Doing meet, bool &refused);
  Task<bool> may_be_made(const Entry &entry, Type type);
  void fill_row(RowKey key, const Entry &entry, std::span<Value> row) const;
  static void draft(const Entry &entry, Row row, Draft &next);

  OpenMap *open_;
  const int64_t now_ms_;
};

/// The mapping of a command's key in the generic keyspace, with all its tables open; nullptr after answering an error.
/// On a mapped row or value the command means nothing: the error is that the type is wrong.
OpenMap *open_for_work(Call &call, Bytes key);
/// Opens the tables of elements.
void open_elements(Call &call, OpenMap &open);

}  // namespace postern::redis
