// read_form.h: ReadForm, the meaning of a SELECT of rows by key, and ResolvedRead, the same in terms of an open table.
//
// Recognition (recognise.h) makes a ReadForm from the server's parse tree of a statement. It has names as written, and
// places instead of values: so one form serves every execution of a prepared statement, and all texts that differ only
// in literals. Immutable once made; shared by threads.
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

/// A point in time: the begin of the statement, or its day.
struct FormTime {
  enum class What : uint8_t { now, utc, date, utc_date };
  What what = What::now;
  uint8_t digits = 0;      ///< digits after the point of its seconds
  uint8_t unit = 0;        ///< the interval's unit, an interval_type of the server
  bool backwards = false;  ///< the interval is subtracted

  bool operator==(const FormTime &) const = default;
};

/// Where a value comes from.
struct FormValue {
  enum class From : uint8_t {
    argument,  ///< the execution's: a literal that the normaliser took out of the text, or a parameter
    integer,   ///< written in the statement; `integer`
    text,      ///< written in the statement, in the connection's character set at that time; `text`
    sum,       ///< computed from `terms` by `sum`: computed_value.h
    seconds,   ///< UNIX_TIMESTAMP()
    time,      ///< `time`
    variable,  ///< a user variable of the session that holds an integer; `text` is its name
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
  /// A sum has two, or one to negate; a time has the number of its interval, or none.
  std::vector<FormValue> terms{};

  bool operator==(const FormValue &) const = default;
};

/// Whether it depends on the time.
bool is_of_time(const FormValue &value);
/// Whether it depends on the session: it contains a user variable, LAST_INSERT_ID() or CONNECTION_ID().
bool is_of_session(const FormValue &value);
/// Whether it contains LAST_INSERT_ID().
bool is_of_told_id(const FormValue &value);

using sql::FormTest;

/// One of the conditions that must all be true for a row. BETWEEN is two of them.
struct FormCondition {
  std::string column;
  FormTest test = FormTest::equal;
  std::vector<FormValue> values;

  bool operator==(const FormCondition &) const = default;
};

/// An element of the select list.
struct FormWanted {
  enum class What : uint8_t {
    column,       ///< `column`
    all_columns,  ///< `*`: every column that is visible, in the table's order
    constant,     ///< an integer literal, as in SELECT 1; `integer`
    null,         ///< NULL
    count,        ///< COUNT(*), COUNT(1), or, with a column, COUNT(c): alone in the select list
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
  bool skips_locked = false;  ///< SKIP LOCKED: skips rows that another transaction has locked
  /// SELECT EXISTS (SELECT ... conditions): always one row, of the integer 1 or 0; `wanted` is unused then.
  bool exists = false;
  uint16_t arguments = 0;  ///< values that an execution must have

  bool operator==(const ReadForm &) const = default;
};

/// Whether the answer is one row, with a number or a truth.
inline bool counts_rows(const ReadForm &form) {
  return form.exists || (form.wanted.size() == 1 && form.wanted[0].what == FormWanted::What::count);
}

/// The kinds of values for which a lookup in the column's index, or a comparison with the column, equals the server's
/// comparison exactly. All others are left to the server. resolve_read.h has the reasons.
enum class Exact : uint8_t {
  /// An integer in the column's range; or a double without a fraction and below 2^53, or a text of an integer in range,
  /// with at most 15 digits and no leading zero, blank or plus.
  integer,
  /// An integer or decimal with no more digits before and after the point than the column has.
  decimal,
  /// A text that character_sets_agree() with the column, and fits it.
  text,
  /// As `text`, and exactly as long as the column: BINARY(n).
  binary_fixed,
  /// A text 'YYYY-MM-DD' of a date that exists, no part of it zero.
  date,
  /// A text 'YYYY-MM-DD hh:mm:ss[.f]' of a time that exists, with no more fractional digits than the column has.
  datetime,
  /// A text of 32 hexadecimal digits, or 36 characters with the four usual hyphens; by =, <> and IN alone.
  uuid,
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
  /// Rows come in the order of ORDER BY, or, without one, in the server's order. If not, and two rows or more match,
  /// the statement is left to the server, which might choose another index and order.
  bool ordered = true;
  /// ORDER BY may leave rows equal: if two neighbouring rows are equal in ReadForm::order, the statement is left to the
  /// server.
  bool ties = false;
  std::vector<uint16_t> columns;  ///< to send, positions in TABLE::field, in order; neither constants nor counts
};

}  // namespace postern::mariadb
