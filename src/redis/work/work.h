// work.h: Work, a command of several steps in one transaction, each decided on the results of the one before.
//
// A command derives its own and writes run(), a coroutine: it adds ops, waits for them, and looks at their replies. If
// an op fails the command is over: all of it is undone, and the client hears how that op has failed. What run() answers
// is kept until the transaction is committed. It may be run again from its beginning, and then forgets all it knew.
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

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/passage.h"
#include "contract/script.h"
#include "redis/announcing.h"
#include "redis/call.h"
#include "redis/tables.h"
#include "redis/work/key_ops.h"
#include "redis/work/lasting.h"
#include "redis/work/task.h"

namespace postern::redis {

/// A value of a row that was read, as text; a number is its digits.
struct Cell {
  bool null = true;
  std::string text{};

  int64_t integer() const;
};
using Cells = std::vector<Cell>;

/// How an op of a step ended, and its rows.
class StepReply final : public Reply {
 public:
  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override;

  std::vector<Cells> rows{};
  /// If there is one it is called with each row, and with the number of rows before it, in place of keeping rows. It
  /// starts again when the first row comes again. With Flow::pause the op fails: it is too much.
  std::function<Flow(Row, uint64_t)> hears{};
  uint64_t met = 0;      ///< rows
  uint64_t changed = 0;  ///< as Outcome::changed
  uint64_t about = 0;    ///< rows that there are, with Find::estimated
  Failure failure = Failure::none;
  std::string message{};

 private:
  size_t bytes_ = 0;  // of rows
};

/// Rows that the ops of these replies have changed, together.
int64_t changed_by(std::span<const StepReply *const> replies);

/// An Edit of a function `Decision(Row, Draft &)`.
template <class Function>
class EditBy final : public Edit {
 public:
  explicit EditBy(Function function) : function_(std::move(function)) {}
  Decision present(Row row, Draft &next) override { return function_(row, next); }

 private:
  Function function_;
};

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

class Work : public Kept, public Script, public Reply {
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
      : output_(setting.output),
        passage_(setting.output),
        open_(&setting.open),
        now_ms_(setting.now_ms),
        resp_(setting.resp),
        small_(setting.small) {}

  // Works come and go with requests, as blocks do.
  static void *operator new(size_t bytes);
  static void operator delete(void *work, size_t bytes);

  using Step = Script::Step;
  bool suits_turn() const final { return small_; }
  bool reads_only() const final { return reads_only_; }
  Joins joins() const final { return ends_at_once_ ? Joins::all : Joins::none; }
  /// To be called before it is begun, where it locks and writes nothing: it then reads one state.
  void set_reads_only() { reads_only_ = true; }
  /// The same, where it is more than may share a turn.
  void set_large() { small_ = false; }
  Step begin() final;
  Step next() final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() final { passage_.take_back(); }

 protected:
  virtual Task<> run() = 0;
  /// An op has failed, and with it all.
  virtual void failed([[maybe_unused]] const StepReply &step) {}
  /// Whether run() goes on after a step that has failed so. Nothing of the step is done.
  virtual bool bears([[maybe_unused]] Failure failure) const { return false; }

  /// Where the answer goes.
  Writer writer() { return {answer_, resp_}; }
  /// Forgets the answer so far.
  void unanswer() {
    answer_.rewind(answer_start_);
    answer_.take_errors();
  }
  Resp resp() const { return resp_; }
  int64_t now_ms() const { return now_ms_; }
  OpenMap &open() { return *open_; }
  /// From now on it is about that.
  void use(OpenMap &open) { open_ = &open; }
  OpenTable &elements(Elements which) { return *open_->elements[static_cast<size_t>(which)]; }
  /// nullptr: a key of that type has none.
  OpenTable *elements_of(Type type);
  /// The same, and all other tables with rows of such a key, whose first column is the key.
  std::vector<OpenTable *> tables_of(Type type);

  // The ops of the next step. Their arguments live until the step is done, and their replies until the first op of the
  // next step is added.

  static constexpr uint64_t all = std::numeric_limits<uint64_t>::max();
  StepReply &add_lock(OpenTable &table, const Find &find) { return add_find(Verb::lock, table, find); }
  StepReply &add_find(OpenTable &table, const Find &find) { return add_find(Verb::find, table, find); }
  StepReply &add_insert(OpenTable &table, std::initializer_list<Value> values, OnDuplicate on_duplicate,
                        Edit *edit = nullptr);
  StepReply &add_insert(OpenTable &table, std::span<const Value> row, OnDuplicate on_duplicate, Edit *edit = nullptr);
  StepReply &add_edit(OpenTable &table, const Find &find, Edit &edit, bool erases = false);
  StepReply &add_erase(OpenTable &table, const Find &find);
  /// The same, and the reply hears the rows.
  StepReply &add_take(OpenTable &table, const Find &find);
  /// An op that was made elsewhere, but for its reply.
  StepReply &add_op(const Op &op, OpenTable &table);
  /// Values that live until the step is done.
  std::span<const Value> values(std::initializer_list<Value> some);
  std::span<Value> values(size_t count);
  /// A copy that lives until the step is done.
  Bytes keep_text(std::string text) {
    begin_step();  // else that would come later, and drop the text with what belongs to the step before
    return texts_.add(std::move(text));
  }

  /// Waits for the step.
  auto go() {
    struct Waiter {
      Work &work;
      bool await_ready() const noexcept { return work.stepped_ || work.ops_.empty(); }
      void await_suspend(std::coroutine_handle<> waiting) const noexcept { work.waiting_ = waiting; }
      void await_resume() const noexcept {}
    };
    return Waiter{*this};
  }

  static Entry entry_of(RowKey key, const KeyState &state);
  KeyState state_of_cells(const Map &map, const Cells &cells) const;
  static uint64_t fresh_version();

  /// The command, if nothing comes in its way, does all it does by one call of add_elements(), add_elements_to() or
  /// change_elements().
  void set_ends_at_once() { ends_at_once_ = true; }

  // Keys of the generic keyspace.

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

  /// `count()`, after the ops on elements, makes of the entry what it becomes; false: nothing is stored.
  Task<bool> add_elements(RowKey key, Type type, Entry &entry, Doing add, Doing count);
  /// For elements that depend on the entry: `meet()`, before them, makes of the entry what it becomes and gives their
  /// inserts their values; false: nothing is done, and nothing answered. It is called for a new key, and then for the
  /// one that is there.
  Task<bool> add_elements_to(RowKey key, Type type, Entry &entry, Doing add, Doing meet);
  /// A key is gone; clear() and store() note that themselves.
  void note_erased(Bytes key, ErasedKeys::Why why);
  /// What lock(), a step that changes or takes out elements, and store() do, in one step. `change()` adds the ops on
  /// elements, which may borrow from `key`; `count()`, after them, makes of the entry what it becomes; false: nothing
  /// is stored. Elements of an expired key may go. Returns false after answering that the key is of another type.
  Task<bool> change_elements(RowKey key, Type type, Entry &entry, Doing change, Doing count);
  /// Deletes a key that was locked, and its elements.
  Task<> clear(const Entry &entry);

 private:
  /// A command of more leaves the turn to others.
  static constexpr size_t arguments_in_turn_max = 64;

  bool is_borne(const StepReply &reply) const {
    return reply.failure == Failure::none || (at_once_ && reply.failure == Failure::refused) || bears(reply.failure);
  }
  Task<bool> at_once(RowKey key, Type type, Entry &entry, Doing add, Doing count);
  Task<bool> at_once_with(RowKey key, Type type, Entry &entry, Doing add, Doing meet, bool &refused);
  Task<bool> may_be_made(const Entry &entry, Type type);
  void fill_row(RowKey key, const Entry &entry, std::span<Value> row) const;
  static void draft(const Entry &entry, Row row, Draft &next);

  void tell_erased_to(Call &call);
  void begin_step();
  void forget_step();
  void drop_step();
  void give_back();
  StepReply &add_find(Verb verb, OpenTable &table, const Find &find);
  Op &add(Verb verb, OpenTable &table);

  Output &output_;
  Passage passage_;
  OpenMap *open_;
  const int64_t now_ms_;
  const Resp resp_;
  bool small_;
  bool reads_only_ = false;

  Output answer_;
  Output::Mark answer_start_ = 0;
  Task<> task_;
  std::coroutine_handle<> waiting_{};
  bool stepped_ = false;  // the ops were run
  bool ends_at_once_ = false;
  bool at_once_ = false;  // the step has all that the command does; refused, it does nothing
  std::vector<Op> ops_;
  std::vector<OpenTable *> tables_;  // the ops'
  Lasting<StepReply, 4> replies_;
  Lasting<Find, 2> finds_;
  Lasting<Insert, 2> inserts_;
  Lasting<EditRows, 2> edits_;
  std::array<Value, 16> few_values_;
  size_t few_used_ = 0;
  Lasting<std::vector<Value>, 1> values_;  // where those have no room
  Lasting<std::string, 1> texts_;
  std::unique_ptr<ErasedKeys> erased_;  // where somebody is told of them
  ErasedKeys *erased_to_ = nullptr;
  Failure failure_ = Failure::none;  // of the op that ended it
  std::string message_;
  OpenTable *failed_table_ = nullptr;
};

/// Adds the op of a command of several steps.
Next begin_work(Call &call, Work &work);
/// For a work that only reads, unless in EXEC, where it locks the rows it reads.
Next begin_reading_work(Call &call, Work &work);

/// The mapping of a command's key in the generic keyspace, with all its tables open; nullptr after answering an error.
/// On a mapped row or value the command means nothing: the error is that the type is wrong.
OpenMap *open_for_work(Call &call, Bytes key);
/// Opens the tables of elements.
void open_elements(Call &call, OpenMap &open);

}  // namespace postern::redis
