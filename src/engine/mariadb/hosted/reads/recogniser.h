// recogniser.h: Recogniser, which reads the server's parse tree of a SELECT, and the parts common to all statements:
// the table, WHERE, values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/mariadb/hosted/reads/read_form.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/mariadb/basics/server.h"
#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/plans/why_not.h"

namespace postern::mariadb {

/// The maximum of values in a statement; a statement with thousands gains little from a form.
inline constexpr size_t plan_values_max = 256;
/// A form is kept for long, so it must be small.
inline constexpr size_t conditions_max = 32;

inline std::string text_of(const LEX_CSTRING &name) {
  return {name.str, name.length};
}

inline bool same_column(const std::string &a, const std::string &b) {
  return compat::same_name(system_charset_info, a.c_str(), b.c_str());
}

/// Used once.
class Recogniser {
 public:
  Recogniser(THD *thd, LEX &lex, ParsedText parsed, ReadForm &form)
      : thd_(thd), lex_(lex), parsed_(parsed), form_(form) {}
  std::optional<WhyNot> run();

 protected:
  /// Refuses clauses that no recognised statement may have, whatever its command.
  std::optional<WhyNot> check_statement() const;
  std::optional<WhyNot> check_select(SELECT_LEX &select) const;
  std::optional<WhyNot> read_exists(SELECT_LEX &select);
  std::optional<WhyNot> read_select(SELECT_LEX &select);
  std::optional<WhyNot> read_table(SELECT_LEX &select);
  std::optional<WhyNot> read_hints(const TABLE_LIST &table);
  std::optional<WhyNot> read_wanted(SELECT_LEX &select);
  std::optional<WhyNot> add_truth(Item *flag, FormTest test);
  std::optional<bool> truth_of(Item *item) const;
  std::optional<WhyNot> read_where(Item *item);
  std::optional<WhyNot> read_either(Item_cond &any);
  bool equalities(Item *item, std::vector<std::pair<Item *, Item *>> &found) const;
  std::optional<WhyNot> read_comparison(Item_func &function);
  std::optional<WhyNot> read_rows(FormTest test, Item **rows, uint count);
  std::optional<WhyNot> read_order(SELECT_LEX &select);
  std::optional<WhyNot> read_limit(SELECT_LEX &select);

  bool column(Item *item, std::string &name) const;
  bool is_own_name(const Item_ident &ident) const;
  bool value(Item *item, FormValue &value) const;
  std::optional<WhyNot> add(FormTest test, Item *left, Item **values, uint count);
  /// A value that value() accepts, or one computed from such values and the time, before any row is read.
  bool any_value(Item *item, FormValue &to, int depth = 0);
  bool number(Item *item, FormValue &to, int depth);
  bool read_sum(Item_func &function, FormValue &to, int depth);
  bool read_moment(Item_func &function, FormValue &to, int depth);
  bool parameter(const Item *item, FormValue &value) const;

  THD *thd_;
  LEX &lex_;
  const ParsedText parsed_;
  ReadForm &form_;
  const TABLE_LIST *table_ = nullptr;
  size_t values_ = 0;
  bool never_ = false;  // WHERE has a constant that is false
};

}  // namespace postern::mariadb
