// change_form.h: ChangeForm, the meaning of an UPDATE or a DELETE of rows by key, or of an INSERT or a REPLACE with
// listed rows, and ResolvedChange, the same in terms of an open table. See read_form.h for SELECT.
//
//   UPDATE users SET name = 'Ann', visits = visits + 1 WHERE id = 42
//   -> table users; conditions {id = argument 1}; name gets argument 0, visits is added 1 to
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb {

/// The new value of one column. In the order of the statement: each sees the values stored by those before it.
struct FormAssignment {
  enum class How : uint8_t {
    set,       ///< `value`
    add,       ///< the integer of the column `source`, or `base`, plus `value`
    subtract,  ///< the same, minus
    keep,      ///< its old value: `c = c`
    tell,      ///< likewise, and sets LAST_INSERT_ID(): `c = LAST_INSERT_ID(c)`
  };
  std::string column;
  How how = How::set;
  std::string source;  ///< of all but set, and of none with a base
  FormValue value;
  std::optional<FormValue> base;      ///< add, subtract: in place of a column: `? + 1`
  std::optional<FormValue> if_null;   ///< add, subtract: in place of a NULL in `source`: `COALESCE(c, 0) + 1`
  std::optional<FormValue> at_least;  ///< add, subtract: the minimum result: `GREATEST(c - 1, 0)`
  std::string given;  ///< VALUES(column) in place of `value`: the column's value in the new row; empty: none
};

struct ChangeForm {
  enum class What : uint8_t { update, erase, insert };
  What what = What::update;
  /// insert: how to treat a row with an existing key. ON DUPLICATE KEY UPDATE is `update`.
  enum class Duplicate : uint8_t { refuse, ignore, update, replace };
  Duplicate duplicate = Duplicate::refuse;
  /// The rows, and the columns of RETURNING. For an INSERT only the latter. With an order or a limit there is at most
  /// one row.
  ReadForm rows;
  std::vector<FormAssignment> assignments;       ///< update, and insert with Duplicate::update
  std::vector<std::string> columns;              ///< insert: the columns with values; none: all visible ones
  std::vector<std::vector<FormValue>> new_rows;  ///< insert: one or more, each with as many values

  /// RETURNING: the answer has rows.
  bool returns() const { return !rows.wanted.empty(); }
  /// Whether it may change or delete existing rows.
  bool changes_old_rows() const { return what != What::insert || duplicate >= Duplicate::update; }
};

struct ResolvedAssignment {
  uint16_t field = 0;   ///< position in TABLE::field
  uint16_t source = 0;  ///< likewise, of all but set; `field` where there is a base
  uint16_t given = 0;   ///< likewise, of VALUES(column)
};

struct ResolvedChange {
  ResolvedRead rows;  ///< for an INSERT only the returned columns
  /// Walks of several indexes that pass rows that are not changed, `rows` the first; else empty. That is made which the
  /// server certainly makes for the execution's values.
  std::vector<ResolvedRead> walks;
  /// Without `walks`: `rows` and the walks of other indexes that the server may make instead, and so lock other rows
  /// and gaps. Under autocommit nobody can distinguish these locks.
  std::vector<ResolvedRead> rivals;
  /// On the server's port other rows and gaps may be locked, or none.
  bool may_lock_others = false;
  /// The conditions on the columns of an UPDATE's ORDER BY.
  std::vector<ResolvedCondition> orders;
  std::vector<ResolvedAssignment> assignments;
  std::vector<uint16_t> columns;  ///< for an INSERT, positions in TABLE::field
};

}  // namespace postern::mariadb
