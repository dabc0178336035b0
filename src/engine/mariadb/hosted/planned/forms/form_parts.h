// form_parts.h: FormParts, the parts of a SELECT that may be planned once, from the server's parse tree.
//
// A form is accepted only if every part is known to mean the same in a plan that is executed again and in a statement
// that is planned each time. Anything else in the tree leaves the statement to the server.
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
  uint32_t select = 0;  ///< the number of its SELECT
  int32_t view = -1;    ///< index of the view that names it; -1: the statement itself
};

/// A column of a derived table, and its origin.
struct FormColumn {
  std::string name;
  std::string table;   ///< the alias that it was written with; empty: none
  std::string column;  ///< empty: not a table's column
};

/// A derived table.
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

/// A view. Its SELECT replaces it in the text.
struct FormView {
  std::string database;
  std::string table;
  std::optional<FormAccount> definer;  ///< the account that needs the privileges on its tables; nullopt: its reader
  int32_t within = -1;                 ///< the view that names it, as for a table
};

/// Tables that an account has to be allowed to read.
struct FormReads {
  std::optional<FormAccount> account;  ///< nullopt: the session's
  std::vector<FormTable> tables;
};

/// A ? in the text. If it is compared with a column, part of a compared sum, or a limit, it may vary between
/// executions. Everywhere else it shapes the answer, including names and types, and so belongs to the form.
struct PlacedValue {
  enum class As : uint8_t { compared, pattern, calculated, limit, offset };

  uint32_t at = 0;  ///< in the text
  As as = As::compared;
  std::string table{};   ///< the alias that the column was written with; empty: none
  std::string column{};  ///< empty: not compared with one
  uint32_t select = 0;   ///< the SELECT that contains it; a column may belong to a table there or further out
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
  bool of_time = false;            ///< it reads the time: NOW() and others
  FormLock lock = FormLock::none;  ///< of its rows, for the transaction
  bool literals = false;           ///< each ? stands for a literal, not for a parameter
};

/// Parses `text`, in which each ? is a value, in the THD's present context. `parts` is valid only if no reason is
/// returned.
std::optional<WhyNot> read_form(THD *thd, Bytes text, ParsedText parsed, FormParts &parts);

}  // namespace postern::mariadb
