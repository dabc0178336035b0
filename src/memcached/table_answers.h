// table_answers.h: the answers to commands on rows of a container's table, and the replies of what the door does there
// of its own accord. See answer.h.
#pragma once

#include <cstdint>

#include "base/failure.h"
#include "contract/op.h"
#include "memcached/answer.h"
#include "items/container.h"
#include "memcached/edits.h"

namespace postern::memcached {

/// Tells an item as its row has it.
class ItemAnswer : public KeyAnswer {
 public:
  ItemAnswer(const Request &request, OpenContainer &target, Group *group, const Surroundings &with)
      : KeyAnswer(request, &target, group, with), now_(with.now) {}

  void restart() override;

 protected:
  const Container &container() const { return *target_->container; }
  Flow tell_item(Row row, const ItemState &state);
  /// True if the op failed, which is told.
  bool failed(const Outcome &outcome);

  ~ItemAnswer() = default;

  const int64_t now_;
  bool told_ = false;
  Failure lost_ = Failure::none;  // why the row could not be told

 private:
  Flow tell_value(Bytes value, const ItemState &state);
};

class GetAnswer final : public ItemAnswer {
 public:
  GetAnswer(const Request &request, Bytes key, const Find &find, OpenContainer &target, Group *group,
            const Surroundings &with)
      : ItemAnswer(request, target, group, with), key_(key), find_(find), open_(target) {}

  /// What the op is to find; kept here, since the two live as long as each other.
  const Find &find() const { return find_; }

  Flow row(Row row) override;
  Flow still_wanted(uint32_t columns) override;
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  void note_expired();

  const Bytes key_;
  const Find find_;
  OpenContainer &open_;
  bool expired_ = false;
};

/// Touch of an item in a container that keeps no expiry: whether it is there.
class PresenceAnswer final : public KeyAnswer {
 public:
  PresenceAnswer(const Request &request, OpenContainer &target, const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with) {}
  void done(const Outcome &outcome) override;
};

/// Get and touch.
class GetAndTouchAnswer final : public ItemAnswer {
 public:
  GetAndTouchAnswer(const Request &request, ItemEdit &edit, OpenContainer &target, Group *group,
                    const Surroundings &with)
      : ItemAnswer(request, target, group, with), edit_(edit) {}

  Flow row(Row row) override { return tell_item(row, edit_.seen().state); }
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  ItemEdit &edit_;
};

/// Everything that writes and has no item to tell.
class WriteAnswer final : public KeyAnswer {
 public:
  WriteAnswer(const Request &request, ItemEdit &edit, bool inserts, uint64_t new_cas, OpenContainer &target,
              const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with), edit_(edit), new_cas_(new_cas), now_(with.now), inserts_(inserts) {}

  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  void count_command();
  void done_set(const Seen &seen);
  void done_count(bool made, const Seen &seen);

  ItemEdit &edit_;
  const uint64_t new_cas_;
  const int64_t now_;
  const bool inserts_;
};

class FlushAnswer final : public KeyAnswer {
 public:
  FlushAnswer(const Request &request, OpenContainer &target, const Surroundings &with)
      : KeyAnswer(request, &target, nullptr, with) {}
  void done(const Outcome &outcome) override;
};

/// Tells no client: those hear why a table is not open when they ask for an item of it.
class OpenAnswer final : public Reply {
 public:
  explicit OpenAnswer(OpenContainer &target) : target_(target) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  OpenContainer &target_;
};

/// Of the deletion of an item that was found expired.
class ErasedAnswer final : public Reply {
 public:
  ErasedAnswer(OpenContainer &target, Statistics &statistics) : target_(target), statistics_(statistics) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override;
  void restart() override {}

 private:
  OpenContainer &target_;
  Statistics &statistics_;
};

}  // namespace postern::memcached
