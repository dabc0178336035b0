// key_edit.h: KeyEdit, the base of commands that change or delete one key of any type.
//
// A command derives a class and decides about the existing key. One op: an edit by key.
#pragma once

#include "contract/edit.h"
#include "redis/strings/string_edit.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

class KeyEdit : public KeyReply, public Edit {
 public:
  /// `erases`: it deletes the key, and does nothing else.
  KeyEdit(Call &call, const Place &place, bool erases)
      : KeyReply(call, place.open->table), open_(*place.open), erases_(erases) {}

  Decision present(Row row, Draft &next) final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &given) final;
  void restart() final;
  bool replaces() const final { return erases_; }
  bool erases() const { return erases_; }

 protected:
  ~KeyEdit() = default;

  /// Decides about a key that is not deleted.
  virtual Decision change(const KeyState &now, StringDraft &next) = 0;
  /// `done`: the key existed, and was deleted or written.
  virtual void tell(Writer writer, bool done) = 0;

 private:
  OpenMap &open_;
  const bool erases_;
  bool done_ = false;
};

/// DEL of one key.
class DeleteEdit final : public KeyEdit {
 public:
  DeleteEdit(Call &call, const Place &place) : KeyEdit(call, place, true) {}

 private:
  Decision change(const KeyState &, StringDraft &) override { return Decision::erase; }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }
};

/// Adds its op.
Next write_key(Call &call, const Place &place, KeyEdit &edit);

}  // namespace postern::redis
