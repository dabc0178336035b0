#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/testing/plan_words.h"

#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"
#include "engine/mariadb/hosted/testing/value_words.h"
#include "engine/mariadb/hosted/writes/recognise_change.h"
#include "engine/mariadb/hosted/writes/resolve_change.h"

namespace postern::mariadb::test {
namespace {

std::string conditions(const ReadForm &form, const char *name, const std::vector<ResolvedCondition> &conditions) {
  std::string words;
  for (const ResolvedCondition &one : conditions) {
    const FormCondition &condition = form.conditions[one.condition];
    words += words.empty() ? " " + std::string(name) + "(" : ", ";
    words += condition.column;
    words += test_word(condition.test) + value_words(condition.values);
  }
  return words.empty() ? words : words + ")";
}

std::string words_of(const ReadForm &form, const TABLE &table, const ResolvedRead &read) {
  constexpr const char *ways[] = {"one", "several", "walk"};
  std::string words = ways[static_cast<size_t>(read.way)];
  words += " " + std::string(table.key_info[read.index].name.str);
  words += conditions(form, "by", read.parts) + conditions(form, "range", read.range) +
           conditions(form, "filter", read.filters);
  if (form.exists) words += " exists";
  for (const FormWanted &one : form.wanted) {
    if (one.what == FormWanted::What::count) words += " count";
  }
  if (form.limit) words += " limit " + value_word(*form.limit);
  if (form.offset) words += " offset " + value_word(*form.offset);
  if (read.backwards) words += " backwards";
  if (!read.ordered) words += " any order";
  if (read.ties) words += " ties";
  if (form.lock != FormLock::none) words += " locks";
  return words;
}

std::string words_of(const ChangeForm &form, const TABLE &table, const ResolvedChange &change) {
  if (form.what != ChangeForm::What::insert) return "change " + words_of(form.rows, table, change.rows);
  return "new rows of " + std::to_string(change.columns.size()) + " columns";
}

/// The table that a statement of the session has open, or nullptr.
const TABLE *open_table(THD *thd, const ReadForm &form) {
  const TABLE *table = thd->open_tables;
  while (table != nullptr && (form.table != table->s->table_name.str || form.database != table->s->db.str))
    table = table->next;
  return table;
}

std::string not_for(std::optional<WhyNot> why) {
  return "not: " + std::string(words(*why));
}

std::string change_in_words(THD *thd, LEX &lex) {
  ChangeForm form;
  if (const auto why = recognise_change(thd, lex, form)) return not_for(why);
  const TABLE *const table = open_table(thd, form.rows);
  if (table == nullptr) return "planned";
  ResolvedChange change;
  const auto why = resolve_change(form, *table, change);
  return why ? not_for(why) : words_of(form, *table, change);
}

}  // namespace

std::string plan_in_words(Bytes text) {
  THD *const thd = current_thd;
  const LexOfText parsed(thd, text);
  if (parsed.lex() == nullptr) return not_for(WhyNot::syntax);
  if (parsed.lex()->sql_command != SQLCOM_SELECT) return change_in_words(thd, *parsed.lex());
  ReadForm form;
  if (const auto why = recognise(thd, *parsed.lex(), ParsedText::form, form)) return not_for(why);
  const TABLE *const table = open_table(thd, form);
  if (table == nullptr) return "planned";
  ResolvedRead read;
  const auto why = resolve(form, *table, read);
  return why ? not_for(why) : words_of(form, *table, read);
}

}  // namespace postern::mariadb::test
