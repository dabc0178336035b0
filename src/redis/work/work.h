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

/// A reference to a callable that the caller of a coroutine keeps; a callable without a result counts as returning
/// true.
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

/// A key of a generic keyspace as rows store it, without the prefix of its mapping. A type of its own, because the
/// clients' form of a key is in no row. Borrows from that form.
class RowKey {
 public:
  RowKey(const Map &map, Bytes name) : text(name.substr(map.prefix().size())) {}
  explicit RowKey(const Place &place) : text(place.key[0].bytes()) {}

  const Bytes text;
};

/// The current row of a key of the generic keyspace, locked.
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
    bool small = true;  ///< does so little that it may share a turn
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
  /// Makes it work on that keyspace.
  void use(OpenMap &open) { open_ = &open; }
  OpenTable &elements(Elements which) { return *open_->elements[static_cast<size_t>(which)]; }
  /// nullptr: keys of that type have none.
  OpenTable *elements_of(Type type);
  /// The same, and all other tables with rows of such a key; their first column is the key.
  std::vector<OpenTable *> tables_of(Type type);

  static Entry entry_of(RowKey key, const KeyState &state);
  KeyState state_of_cells(const Map &map, const Cells &cells) const;
  static uint64_t fresh_version();

  /// `name`: a key of open(), in the clients' form.
  RowKey row_key(Bytes name) const { return {*open_->map, name}; }
  /// Reads and locks the key's row: other clients cannot change it or its elements before the transaction ends. Deletes
  /// an expired key.
  Task<Entry> lock(RowKey key);
  /// The same; creates a missing key, empty and not live.
  Task<Entry> make(RowKey key, Type type);
  /// Stores an entry that was locked or made: its `len`, `head` and `expires_ms`, and a new version. Deletes a key that
  /// has become empty.
  Task<> store(const Entry &entry);
  /// Adds store() to the current step; `edit` belongs to the entry, and lives as long.
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

  // The effect of make(), a step on elements and store(), in one step. Ops of `add()` may borrow from `key`, not from
  // the entry. An expired key is deleted first. Returns false after answering that the key has another type.

  /// `count()`, after the ops on elements, updates the entry; false: nothing is stored.
  Task<bool> add_elements(RowKey key, Type type, Entry &entry, Doing add, Doing count);
  /// For elements that depend on the entry: `meet()`, before them, updates the entry and gives their inserts values;
  /// false: nothing is done or answered. It is called for a new key, and then for the existing one.
  Task<bool> add_elements_to(RowKey key, Type type, Entry &entry, Doing add, Doing meet);
  /// Notes that a key of open() was deleted; clear() and store() do that themselves.
  void note_erased(Bytes key, ErasedKeys::Why why) { Steps::note_erased(open_->map->prefix(), key, why); }
  /// The effect of lock(), a step that changes or removes elements, and store(), in one step. `change()` adds the ops
  /// on elements, which may borrow from `key`; `count()`, after them, updates the entry; false: nothing is stored. May
  /// delete elements of an expired key. Returns false after answering that the key has another type.
  Task<bool> change_elements(RowKey key, Type type, Entry &entry, Doing change, Doing count);
  /// Deletes a key that was locked, and its elements.
  Task<> clear(const Entry &entry);

 private:
  /// A larger command leaves the turn.
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
/// On a mapped row or value the command fails with the wrong-type error.
OpenMap *open_for_work(Call &call, Bytes key);
/// Opens the tables of elements.
void open_elements(Call &call, OpenMap &open);

}  // namespace postern::redis
