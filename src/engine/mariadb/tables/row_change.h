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

  /// A new row with these values; the caller fills it, writes it, and knows how to treat a duplicate.
  void begin_insert(std::span<const Value> values);
  Step fill_new_row();
  /// Whether a BEFORE trigger had the last row skipped. That is no failure: nothing is changed, and nothing counted.
  bool skipped() const { return skipped_; }
  /// The new row has been written.
  Step inserted() {
    write_.changed_row(Counter::rows_inserted);
    return fire(TRG_EVENT_INSERT, TRG_ACTION_AFTER);
  }

  /// The columns that changing a row needs, whichever they are.
  void begin_edit();
  /// Changes the row, of which record[1] is a copy, as the draft says.
  Step update();
  Step erase();
  /// Whether a change may be made in two parts, with others of the same row between them: in the server's memory, and
  /// by the storage engine. Nothing else of the server's may hear of the first.
  bool may_put_off() const;
  /// Applies the draft to record[0].
  Step put_off();
  /// Has the storage engine store record[0], of which record[1] is the row as it has it.
  Step store_put_off();

  /// The op is over: whatever it left in the thread and in memory goes.
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
  // The changed columns and their values, for the server's own functions; for one row, as an edit may have millions.
  MEM_ROOT item_memory_;
  Query_arena items_;
  List<Item> fields_;
  List<Item> values_;
  bool skipped_ = false;
};

}  // namespace postern::mariadb
