// item_reply.h: ItemReply, an ItemCommand on its way: it adds the op, receives the engine's outcome, and passes the
// item and its outcome on to a protocol.
//
// A protocol derives its own reply from it and makes that in the batch's arena. All calls come on the thread that runs
// the batch.
//
//   class MyReply final : public items::ItemReply {
//     Flow answer(const items::Item &item) override;            // for a get, at most once
//     void answer(const items::ItemOutcome &outcome) override;  // once
//     void take_back() override;                               // earlier calls are void; the command runs again
//   };
//   auto *const reply = batch.arena().make<MyReply>(command, container, now, output);
//   if (reply->add_to(batch) != items::Misfit::none) ...
#pragma once

#include <cstdint>
#include <span>

#include "contract/batch.h"
#include "contract/reply.h"
#include "items/cache/cache.h"
#include "items/edits.h"
#include "items/item.h"
#include "items/item_command.h"
#include "items/open_container.h"

namespace postern::items {

/// Why a command does not suit its container.
enum class Misfit : uint8_t {
  none,
  key_parts,  ///< the key has fewer parts than there are key columns
  no_cas,     ///< the command uses a CAS, and the container has none
};

class ItemReply : public Reply {
 public:
  /// `now`: on the clock of ItemCommand::expires_at. `command` and `target` outlive the batch.
  ItemReply(const ItemCommand &command, OpenContainer &target, int64_t now)
      : command_(command), target_(target), now_(now) {}

  /// Adds the op of the command on the container's table, for the batch's identity. A misfit adds nothing.
  [[nodiscard]] Misfit add_to(Batch &batch);
  /// The same for items in memory. It is carried out in order with the other ops, and only once: a change stays even if
  /// the transaction of the ops around it is lost and they are run again. The container has its space.
  void add_to(Batch &batch, Cache &cache);

  Flow row(Row row) final;
  Flow still_wanted(uint32_t columns) final;
  void done(const Outcome &outcome) final;
  void restart() final;

 protected:
  ~ItemReply() = default;

  const ItemCommand &command() const { return command_; }
  const Container &container() const { return *target_.container; }
  int64_t now() const { return now_; }
  bool in_memory() const { return work_ == Work::memory; }

  /// The item of a get. `pause`: as in Reply::row(); a get in memory does not pause. Must not call the cache: an item
  /// in memory is locked.
  virtual Flow answer(const Item &item) = 0;
  /// The outcome. If a get fails after it has passed on its item, that item does not count.
  virtual void answer(const ItemOutcome &outcome) = 0;
  virtual void take_back() = 0;
  /// See Reply::still_wanted().
  virtual Flow has_reader() { return Flow::more; }
  /// Called before a get in memory, which cannot be deferred: if false it fails as reply_too_large.
  virtual bool has_room() { return true; }

 private:
  enum class Work : uint8_t { find, presence, edit, insert, flush, memory };

  /// A command in memory, which is carried out once, however often its op is run.
  struct InMemory {
    Cache &cache;
    bool carried_out = false;
    ItemOutcome outcome{};
  };

  void add_flush(Batch &batch);
  void add_write(std::span<Value> row, Batch &batch);
  Flow tell_row(Row row, const ItemState &state);
  Flow tell_value(Bytes value, const ItemState &state);
  Flow tell_joined(Row values, const ItemState &state);
  void tell_written(const Outcome &outcome);
  void carry_out();
  void note_expired();

  const ItemCommand &command_;
  OpenContainer &target_;
  const int64_t now_;
  union {
    ItemEdit *edit_ = nullptr;  // edit, insert
    InMemory *memory_;          // memory
  };
  uint64_t new_cas_ = 0;
  Failure lost_ = Failure::none;  // why the row could not be passed on
  Work work_ = Work::find;
  bool told_ = false;
  bool expired_ = false;
};

/// Replies to the deletion of an expired item, without a client's request.
class ErasedReply : public Reply {
 public:
  explicit ErasedReply(OpenContainer &target) : target_(target) {}
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &outcome) final;
  void restart() final {}

 protected:
  ~ErasedReply() = default;
  /// A row was deleted.
  virtual void erased() = 0;

 private:
  OpenContainer &target_;
};

}  // namespace postern::items
