// change_row.h: ChangeRow, which runs one recognised UPDATE, DELETE, INSERT or REPLACE in the worker's transaction, as
// the server would in the client's session. New rows are in change_insert.cc.
//
// The table and the transaction are the worker's; the session decides the meaning of values and their conversion to
// columns. It never waits for a row, so it causes no deadlock for other transactions.
#pragma once

#include <optional>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/value.h"
#include "engine/mariadb/hosted/writes/change_answer.h"
#include "engine/mariadb/hosted/writes/change_form.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/reads/key_walk.h"

class Field;
class THD;
struct TABLE;

namespace postern::rows {
class WriteTable;
}

namespace postern::mariadb {

using rows::WriteTable;

/// Kept by an executor from one statement to the next, for its memory. Used on its thread only.
class ChangeRow {
 public:
  /// Rows that one statement may change in a turn: as many as values in a list, in about a millisecond.
  static constexpr uint64_t rows_max = 256;

  /// Makes the change in `target`, which is open and locked in `worker`, for `session`. If it returns a reason nothing
  /// was changed, unless lost(): then the whole transaction has to be undone. In the session's own statement (`worker`
  /// is `session`) notes about rounded values stay in the session, even if the row was refused.
  std::optional<NotNow> run(THD *worker, THD *session, WriteTable &target, const ChangeForm &form,
                            const ResolvedChange &change, std::span<const Value> values, Changed &changed);
  /// Results of the last run().
  bool lost() const { return lost_; }
  /// The storage engine's error, if it failed.
  int code() const { return code_; }
  /// Whether that was while it looked for the row to change.
  bool failed_to_find() const { return failed_to_find_; }

 private:
  std::optional<NotNow> change_old(Changed &changed);
  bool is_limited_to_rows() const;
  bool has_constant_order() const;
  std::optional<NotNow> change_all(Changed &changed);
  std::optional<NotNow> lock_all();
  std::optional<NotNow> change_next(Changed &changed);
  std::optional<NotNow> erase(Changed &changed);
  std::optional<NotNow> update(Changed &changed);

  std::optional<NotNow> insert(Changed &changed);
  std::optional<NotNow> try_rows();
  std::optional<NotNow> try_row(const std::vector<FormValue> &row);
  std::optional<NotNow> try_duplicate(const std::vector<FormValue> &row);
  std::optional<NotNow> try_constants(const std::vector<FormValue> &row);
  std::optional<NotNow> look_for_duplicate(const std::vector<FormValue> &row);
  int read_by_key(uint32_t number);
  std::optional<NotNow> insert_row(size_t at, Changed &changed);
  int write(Changed &changed);
  std::optional<NotNow> inserted(Changed &changed);
  void pass_over(size_t at, unsigned long long next_id, Changed &changed);
  std::optional<NotNow> update_duplicate(unsigned long long next_id, Changed &changed);
  std::optional<NotNow> replace(int &code, Changed &changed);
  bool may_tell_id() const;
  void tell_id(Changed &changed) const;
  bool names_id() const;
  std::optional<NotNow> fill_new(const std::vector<FormValue> &row);
  std::optional<NotNow> fill_duplicate();
  std::optional<NotNow> check_filled() const;
  void keep_new_row();
  void copy_given(Field &field) const;
  Value given_integer(Field &field) const;
  bool store_id(const FormValue &place, Field &id) const;
  void mark_for_insert() const;

  std::optional<NotNow> may_return() const;
  std::optional<NotNow> return_row(Changed &changed);

  std::optional<NotNow> fill();
  std::optional<NotNow> assign(const FormAssignment &assignment, const ResolvedAssignment &resolved,
                               Field &field) const;
  std::optional<NotNow> failed(int code, bool changing);
  void mark() const;
  void note_change(Changed &changed);
  void note_replaced(Changed &changed);
  bool store(Field &field, const Value &value) const;
  bool store_literal(Field &field, const Value &value) const;
  bool store_text(Field &field, Bytes text) const;
  bool store_sum(Field &field, const FormAssignment &assignment, const Field &source, const Value &value) const;
  static bool store_fraction(Field &field, FormAssignment::How how, Field &source, const Value &value);
  bool integer_of(const FormValue &from, int64_t &number) const;
  bool has_drawn() const;
  bool drew_warnings() const;
  bool changes_autoinc() const;

  THD *worker_ = nullptr;
  THD *session_ = nullptr;
  WriteTable *target_ = nullptr;
  TABLE *table_ = nullptr;
  const ChangeForm *form_ = nullptr;
  const ResolvedChange *change_ = nullptr;
  const ResolvedRead *rows_ = nullptr;  // the walk that is made
  std::span<const Value> values_;
  bool lost_ = false;
  int code_ = 0;
  bool failed_to_find_ = false;
  KeyWalk walk_;
  RowReads before_;  // of the worker, when it began to change rows
  std::vector<unsigned char> key_;
  std::vector<unsigned char> new_row_;  // the record of an existing row
};

}  // namespace postern::mariadb
