// read_form.h: ReadForm, the meaning of a SELECT of rows by key, and ResolvedRead, the same in terms of an open table.
//
// Recognition (recognise.h) makes a ReadForm from the server's parse tree of a statement. It has names as they were
// written, and places of values in place of values: so one form serves every execution of a prepared statement, and
// every text that differs in its literals only. Immutable once made; shared by threads.
//
//   SELECT u.name FROM users AS u WHERE u.id = 42 AND deleted_at IS NULL LIMIT 1
//   -> table users; columns {name}; conditions {id = argument 0, deleted_at IS NULL}; limit argument 1
//
// Resolution (resolve_read.h) finds columns and an index in one definition of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sql/plans/index_choice.h"

namespace postern::mariadb {

/// A point in time: when the statement begins, or its day.
struct FormTime {
  enum class What : uint8_t { now, utc, date, utc_date };
  What what = What::now;
  uint8_t digits = 0;      ///< behind the point of its seconds
  uint8_t unit = 0;        ///< the interval's: a number of the server's interval_type
  bool backwards = false;  ///< the interval is subtracted

  bool operator==(const FormTime &) const = default;
};

/// Where a value comes from.
struct FormValue {
  enum class From : uint8_t {
    argument,  ///< the execution's: a literal of the text that the normaliser took out, or a parameter
    integer,   ///< written in the statement; `integer`
    text,      ///< written in the statement, in the connection's character set as it was then; `text`
    sum,       ///< computed of `terms` as `sum` says: computed_value.h
    seconds,   ///< UNIX_TIMESTAMP()
    time,      ///< `time`
    variable,  ///< a user's, of the session, while it has an integer; `text` is its name
    told_id,   ///< LAST_INSERT_ID()
    session,   ///< CONNECTION_ID()
    // Only for a column's new value, never for comparisons:
    null,      ///< NULL, written in the statement
    standard,  ///< DEFAULT, written in the statement
  };
  From from = From::argument;
  uint16_t argument = 0;  ///< counted from 0 in the order of the text
  int64_t integer = 0;
  std::string text{};
  enum class Sum : uint8_t { add, subtract, multiply, negate };
  Sum sum = Sum::add;
  FormTime time{};
  /// A sum has two of them, or the one that is negated; a time has the number of its interval, or none.
  std::vector<FormValue> terms{};

  bool operator==(const FormValue &) const = default;
};

/// Whether it asks the time.
bool is_of_time(const FormValue &value);
/// Whether it is another one in each session: it has a user's variable, or a number that the session has.
bool is_of_session(const FormValue &value);
/// Whether it has LAST_INSERT_ID().
bool is_of_told_id(const FormValue &value);

using sql::FormTest;

/// One of the conditions that all must be true of a row. BETWEEN is two of them.
struct FormCondition {
  std::string column;
  FormTest test = FormTest::equal;
  std::vector<FormValue> values;

  bool operator==(const FormCondition &) const = default;
};

/// One thing in the select list.
struct FormWanted {
  enum class What : uint8_t {
    column,       ///< `column`
    all_columns,  ///< `*`: every column that is visible, in the table's order
    constant,     ///< an integer written there, as in SELECT 1; `integer`
    count,        ///< COUNT(*), COUNT(1), or, with a column, COUNT(c): the only thing wanted then
  };
  What what = What::column;
  std::string column;
  int64_t integer = 0;

  bool operator==(const FormWanted &) const = default;
};

struct FormOrder {
  std::string column;
  bool descending = false;

  bool operator==(const FormOrder &) const = default;
};

enum class FormLock : uint8_t { none, share, update };

struct ReadForm {
  std::string database;
  std::string table;
  std::string index{};  ///< of FORCE INDEX or USE INDEX; empty: any
  std::vector<FormWanted> wanted;
  std::vector<FormCondition> conditions;  ///< in the order of the text; at least one, or an order with a limit
  std::vector<FormOrder> order;
  std::optional<FormValue> limit;
  std::optional<FormValue> offset;  ///< only with a limit
  FormLock lock = FormLock::none;
  bool skips_locked = false;  ///< SKIP LOCKED: rows that another transaction has locked are passed over
  /// SELECT EXISTS (SELECT ... conditions): always one row, of the integer 1 or 0; `wanted` says nothing then.
  bool exists = false;
  uint16_t arguments = 0;  ///< that an execution must have

  bool operator==(const ReadForm &) const = default;
};

/// Whether the answer is one row, with a number or a truth.
inline bool counts_rows(const ReadForm &form) {
  return form.exists || (form.wanted.size() == 1 && form.wanted[0].what == FormWanted::What::count);
}

/// The values for which a look-up by the column's key, or a comparison with the column, is exactly the server's
/// comparison. All others are left to the server. resolve_read.h has the reasons.
enum class Exact : uint8_t {
  /// An integer that the column can have; a double without a fraction and below 2^53, a text of at most 15 digits with
  /// no leading zero, blank or plus, if the column can have its integer.
  integer,
  /// An integer or decimal with no more digits before and after the point than the column has.
  decimal,
  /// A text that character_sets_agree() with the column, no longer than it has room for.
  text,
  /// As `text`; exactly as long as the column too: BINARY(n).
  binary_fixed,
  /// A text 'YYYY-MM-DD' of a date that exists, no part of it zero.
  date,
  /// A text 'YYYY-MM-DD hh:mm:ss[.f]' of a time that exists, with no more digits of a second than the column has.
  datetime,
};

/// One condition, resolved.
struct ResolvedCondition {
  uint16_t condition = 0;  ///< position in ReadForm::conditions
  uint16_t field = 0;      ///< position in TABLE::field
  Exact exact = Exact::integer;
};

using sql::ReadWay;

struct ResolvedRead {
  ReadWay way = ReadWay::one;
  uint32_t index = 0;                    ///< position in TABLE::key_info
  std::vector<ResolvedCondition> parts;  ///< leading parts of the index, in order, by `equal`, `null`, `in` or `tuple`
  std::vector<ResolvedCondition> range;  ///< for the next part: at most one lower, one upper bound; or one `like`
  std::vector<ResolvedCondition> filters;  ///< to be judged of every row found
  bool backwards = false;                  ///< the walk goes down the index
  /// Rows come in the order that the statement asks for, or in the one that the server would give them without asking.
  /// If not, and two rows or more match, the statement is the server's, which might choose another index and order.
  bool ordered = true;
  /// The order asked for may leave rows equal: in ReadForm::order alike, two rows next to each other are the server's.
  bool ties = false;
  std::vector<uint16_t> columns;  ///< to send, positions in TABLE::field, in order; neither constants nor counts
};

}  // namespace postern::mariadb
