// row_change.h: inserting, changing and deleting the one row that is in record[0], by the server's own conversions,
// defaults, constraints, foreign keys and triggers.
//
// The draft has the new values. Belongs to one executor's Writer, and is used on its thread only.
#pragma once

#include <span>

#include "contract/edit.h"
#include "engine/rows/draft.h"
#include "engine/rows/write_op.h"

namespace postern::mysqld {

class RowChange {
 public:
  explicit RowChange(WriteOp &write) : write_(write) {}
  RowChange(const RowChange &) = delete;
  RowChange &operator=(const RowChange &) = delete;

  RowDraft draft;

  /// Begins a new row with these values; the caller fills and writes it, and handles duplicates.
  void begin_insert(std::span<const Value> values);
  Step fill_new_row();
  /// Triggers of MySQL cannot skip a row.
  static constexpr bool skipped() { return false; }
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
  /// No change is made in two parts here.
  static constexpr bool may_put_off() { return false; }
  Step put_off() { return update(); }
  static constexpr Step store_put_off() { return Step::good; }

  /// Ends the op: clears its remains in the thread and in memory.
  void end();

 private:
  TABLE &table() const { return *write_.table->table; }
  bool fires(enum_trigger_event_type event) const {
    return table().triggers != nullptr && table().triggers->has_triggers(event, TRG_ACTION_BEFORE);
  }
  void mark_for_insert();
  bool changes_autoinc() const;
  bool is_given(const Field &field) const;
  Step fill_insert();
  Step fill_update(bool &changed);
  Step store_draft();
  Step set_insert_defaults();
  Step compute_generated();
  Step compute_generated_anew();
  Step run_before_triggers(enum_trigger_event_type event);
  Step check_nulls();
  Step check_new_row();
  Step check_changed_row();
  Step fire(enum_trigger_event_type event, enum_trigger_action_time_type time);
  Step fail_by_key(int code);
  Step fail_generated(const Field *field);

  WriteOp &write_;
};

}  // namespace postern::mysqld
