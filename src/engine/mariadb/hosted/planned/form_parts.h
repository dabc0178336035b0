// form_parts.h: FormParts, the tree of the server's parser for a SELECT that may be planned once.
//
// Only forms are accepted in which every part is known to mean the same in a plan that is executed again and in a
// statement that is planned each time. Whatever else is in the tree makes the statement the server's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/mariadb/hosted/plans/why_not.h"

class THD;

namespace postern::mariadb {

/// A base table that the statement reads.
struct FormTable {
  std::string database;
  std::string table;
  std::string alias;
  uint32_t select = 0;  ///< the number of the SELECT that it is of
  int32_t view = -1;    ///< the view that names it: its place among them; -1: the statement itself does
};

/// A column of a derived table, and where it comes from.
struct FormColumn {
  std::string name;
  std::string table;   ///< the alias that it was written with; empty: none
  std::string column;  ///< empty: it is no column of a table
};

/// A SELECT in the place of a table.
struct FormDerived {
  std::string alias;
  uint32_t select = 0;              ///< as with a table
  uint32_t inner = 0;               ///< its own number
  std::vector<FormColumn> columns;  ///< empty: not known
  bool sorted_whole = false;        ///< ORDER BY without LIMIT
};

struct FormAccount {
  std::string user;
  std::string host;
  bool operator==(const FormAccount &) const = default;
};

/// A view. Its SELECT stands in the text, in its place.
struct FormView {
  std::string database;
  std::string table;
  std::optional<FormAccount>
      definer;          ///< the account that has to have the privileges on its tables; nullopt: its reader
  int32_t within = -1;  ///< the view that names it, as with a table
};

/// What an account needs to read.
struct FormReads {
  std::optional<FormAccount> account;  ///< nullopt: the session's
  std::vector<FormTable> tables;
};

/// A ? in the text. Where it is compared with a column, part of a sum that is compared, or a limit, it may be a value
/// that each execution brings. Everywhere else it shapes the answer, names and types among it, and so belongs to the
/// form.
struct PlacedValue {
  enum class As : uint8_t { compared, pattern, calculated, limit, offset };

  uint32_t at = 0;  ///< in the text
  As as = As::compared;
  std::string table{};   ///< the alias that the column was written with; empty: none
  std::string column{};  ///< empty: it is not compared with one
  uint32_t select = 0;   ///< where it stands; a column may be of a table there or further out
};

struct FormParts {
  std::string text;
  std::vector<FormTable> tables;
  std::vector<FormDerived> derived;
  std::vector<FormView> views;
  std::vector<FormReads> reads;  ///< where there are views
  std::vector<PlacedValue> values;
  bool ordered = false;            ///< it has ORDER BY
  bool limited = false;            ///< it has LIMIT
  bool of_time = false;            ///< it asks the time: NOW() and others
  FormLock lock = FormLock::none;  ///< of its rows, for the transaction
  bool literals = false;           ///< each ? stands for a literal of a text, not for a parameter
};

/// Parses `text`, in which each ? is a value, in the THD's present context. `parts` is only good where there is no
/// reason why not.
std::optional<WhyNot> read_form(THD *thd, Bytes text, ParsedText parsed, FormParts &parts);

}  // namespace postern::mariadb
