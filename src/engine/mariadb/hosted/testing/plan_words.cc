#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/testing/plan_words.h"

#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/reads/recognise.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb::test {
namespace {

Bytes word(FormTest test) {
  switch (test) {
    case FormTest::equal: return "=";
    case FormTest::in: return " in";
    case FormTest::less: return "<";
    case FormTest::at_most: return "<=";
    case FormTest::greater: return ">";
    case FormTest::at_least: return ">=";
    case FormTest::unequal: return "<>";
    case FormTest::like: return " like";
    case FormTest::null: return " null";
    case FormTest::not_null: return " not null";
  }
  return {};
}

std::string word(const FormValue &value) {
  switch (value.from) {
    case FormValue::From::argument: return "?" + std::to_string(value.argument);
    case FormValue::From::integer: return std::to_string(value.integer);
    case FormValue::From::text: return "'" + value.text + "'";
    case FormValue::From::null: return "NULL";
    case FormValue::From::standard: return "DEFAULT";
  }
  return {};
}

std::string conditions(const ReadForm &form, const char *name, const std::vector<ResolvedCondition> &conditions) {
  std::string words;
  for (const ResolvedCondition &one : conditions) {
    const FormCondition &condition = form.conditions[one.condition];
    words += words.empty() ? " " + std::string(name) + "(" : ", ";
    words += condition.column;
    words += word(condition.test);
    for (const FormValue &value : condition.values) words += " " + word(value);
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
  if (form.limit) words += " limit " + word(*form.limit);
  if (form.offset) words += " offset " + word(*form.offset);
  if (read.backwards) words += " backwards";
  if (!read.ordered) words += " any order";
  if (read.ties) words += " ties";
  if (form.lock != FormLock::none) words += " locks";
  return words;
}

}  // namespace

std::string plan_in_words(Bytes text) {
  THD *const thd = current_thd;
  ReadForm form;
  std::optional<WhyNot> why = WhyNot::syntax;
  if (const LexOfText parsed(thd, text); parsed.lex() != nullptr)
    why = recognise(thd, *parsed.lex(), ParsedText::form, form);
  if (why) return "not: " + std::string(words(*why));
  for (TABLE *table = thd->open_tables; table != nullptr; table = table->next) {
    if (form.table != table->s->table_name.str || form.database != table->s->db.str) continue;
    ResolvedRead read;
    why = resolve(form, *table, read);
    return !why ? words_of(form, *table, read) : "not: " + std::string(words(*why));
  }
  return "planned";
}

}  // namespace postern::mariadb::test
