// row_change.h: inserting, changing and deleting the one row that is in record[0], by the server's own conversions,
// defaults, constraints and triggers.
//
// The draft has the new values. Belongs to one executor's Writer, and is used on its thread only.
#pragma once

#include <span>

#include "contract/edit.h"
#include "engine/rows/draft.h"
#include "engine/rows/write_op.h"

namespace postern::mariadb {

class RowChange {
 public:
  explicit RowChange(WriteOp &write);
  ~RowChange();
  RowChange(const RowChange &) = delete;
  RowChange &operator=(const RowChange &) = delete;

  RowDraft draft;

  /// Begins a new row with these values; the caller fills and writes it, and handles duplicates.
  void begin_insert(std::span<const Value> values);
  Step fill_new_row();
  /// Whether a BEFORE trigger skipped the last row. That is no failure: nothing is changed or counted.
  bool skipped() const { return skipped_; }
  /// The new row has been written.
  Step inserted() {
    write_.changed_row(Counter::rows_inserted);
    return fire(TRG_EVENT_INSERT, TRG_ACTION_AFTER);
  }

  /// Marks the columns that changing a row needs.
  void begin_edit();
  /// Changes the row by the draft; record[1] is a copy of it.
  Step update();
  Step erase();
  /// Whether a change may be made in two parts, with other changes of the row in between: in record[0], and by the
  /// storage engine. No other part of the server may depend on the first.
  bool may_put_off() const;
  /// Applies the draft to record[0].
  Step put_off();
  /// Stores record[0] in the storage engine; record[1] is the stored row.
  Step store_put_off();

  /// Ends the op: clears its remains in the thread and in memory.
  void end();

 private:
  bool has_triggers() const { return write_.table->table->triggers != nullptr; }
  bool fills_by_items() const;
  void announce(int event);
  void mark_for_insert();
  bool changes_autoinc() const;
  Step fill_update();
  Step store_draft();
  Step keep_history();
  void list_items();
  Step fill_by_items(int event);
  void forget_items();
  Step fire(int event, int time) { return has_triggers() ? fire_triggers(event, time) : Step::good; }
  Step fire_triggers(int event, int time);
  Step fail_generated(const Field *field);

  WriteOp &write_;
  // The changed columns and their values, for the server's functions; for one row at a time, because an edit may have
  // millions.
  MEM_ROOT item_memory_;
  Query_arena items_;
  List<Item> fields_;
  List<Item> values_;
  bool skipped_ = false;
};

}  // namespace postern::mariadb
