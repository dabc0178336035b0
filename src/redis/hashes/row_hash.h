// row_hash.h: hashes that are rows of a mapped table: the columns of a command, and their new values.
//
// One op each: a find, an edit by key, or the script of edit_or_insert.h, on an index opened with only the columns
// wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract/edit.h"
#include "redis/work/key_ops.h"
#include "redis/work/work.h"

namespace postern::redis {

/// The fields that a command names, as columns of a table that is opened for them.
struct RowFields {
  OpenTable *table = nullptr;
  /// For each field of the command its position in the rows of `table`, or Map::no_column.
  std::span<uint32_t> positions{};
};

/// The fields are arguments from `first` on, `step` apart. Opens the table.
RowFields fields_of(Call &call, const Place &place, size_t first, size_t step);
/// Returns false after answering an error, if a field is not a column.
bool has_all_fields(Call &call, const Place &place, const RowFields &fields, size_t first, size_t step);

/// Reads one row: `tell(Writer &, const KeyState *, Row)`, with nullptr for a missing one.
template <class Tell>
Next read_row(Call &call, const Place &place, OpenTable &table, Tell tell) {
  auto *const reply = call.arena().make<FoundReply<Tell>>(call, place, table, std::move(tell));
  add_op(call, Verb::find, table, *reply).find = call.arena().make<Find>(Find{.key = place.key, .limit = 1});
  return Next::go_on;
}

/// The fields of a row in the form of rows of `hashes`; a NULL field does not exist.
std::vector<Cells> elements_of_row(const Map &map, Row row);

/// A change of a row's fields, by one command.
class RowEdit : public KeyReply, public Edit {
 public:
  RowEdit(Call &call, const Place &place, const RowFields &fields)
      : KeyReply(call, *fields.table), open_(*place.open), fields_(fields) {}

  /// Called before the op is added: creates the row if it does not exist.
  void let_create() { creates_ = true; }

  Decision present(Row row, Draft &next) final;
  Flow row(Row) final { return Flow::more; }
  void done(const Outcome &given) final;
  void restart() final;

 protected:
  ~RowEdit() = default;

  /// Decides about the existing row. May begin() an answer; its bytes are then kept.
  virtual Decision change(Row row, Draft &next) = 0;
  /// Answers, unless something was written already.
  virtual void tell(Writer writer) = 0;
  /// Forgets its notes.
  virtual void forget() {}
  uint32_t position(size_t field) const { return fields_.positions[field]; }
  size_t count() const { return fields_.positions.size(); }
  const uint32_t *first() const { return fields_.positions.data(); }
  const uint32_t *last() const { return first() + count(); }
  /// Whether the row was there.
  bool found() const { return found_; }

 private:
  OpenMap &open_;
  const RowFields fields_;
  bool found_ = false;
  bool creates_ = false;
};

/// Adds the op of a command on fields of a row. `values`: for a new row if there is none; empty: none is made.
Next write_row(Call &call, const Place &place, const RowFields &fields, RowEdit &edit,
               std::span<const Value> values = {});

}  // namespace postern::redis
