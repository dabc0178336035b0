#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/testing/plan_words.h"

#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/recognise/recognise.h"
#include "engine/mariadb/hosted/rows/resolve_read.h"

namespace postern::mariadb::test {
namespace {

Bytes word(PlanTest test) {
  switch (test) {
    case PlanTest::equal: return "=";
    case PlanTest::in: return " in";
    case PlanTest::less: return "<";
    case PlanTest::at_most: return "<=";
    case PlanTest::greater: return ">";
    case PlanTest::at_least: return ">=";
    case PlanTest::unequal: return "<>";
    case PlanTest::like: return " like";
    case PlanTest::null: return " null";
    case PlanTest::not_null: return " not null";
  }
  return {};
}

std::string word(const PlanValue &value) {
  switch (value.from) {
    case PlanValue::From::argument: return "?" + std::to_string(value.argument);
    case PlanValue::From::integer: return std::to_string(value.integer);
    case PlanValue::From::text: return "'" + value.text + "'";
    case PlanValue::From::null: return "NULL";
    case PlanValue::From::standard: return "DEFAULT";
  }
  return {};
}

std::string conditions(const ReadPlan &plan, const char *name, const std::vector<ResolvedCondition> &conditions) {
  std::string words;
  for (const ResolvedCondition &one : conditions) {
    const PlanCondition &condition = plan.conditions[one.condition];
    words += words.empty() ? " " + std::string(name) + "(" : ", ";
    words += condition.column;
    words += word(condition.test);
    for (const PlanValue &value : condition.values) words += " " + word(value);
  }
  return words.empty() ? words : words + ")";
}

std::string words_of(const ReadPlan &plan, const TABLE &table, const ResolvedRead &read) {
  constexpr const char *ways[] = {"one", "several", "walk"};
  std::string words = ways[static_cast<size_t>(read.way)];
  words += " " + std::string(table.key_info[read.index].name.str);
  words += conditions(plan, "by", read.parts) + conditions(plan, "range", read.range) +
           conditions(plan, "filter", read.filters);
  if (plan.exists) words += " exists";
  for (const PlanWanted &one : plan.wanted) {
    if (one.what == PlanWanted::What::count) words += " count";
  }
  if (plan.limit) words += " limit " + word(*plan.limit);
  if (plan.offset) words += " offset " + word(*plan.offset);
  if (read.backwards) words += " backwards";
  if (!read.ordered) words += " any order";
  if (read.ties) words += " ties";
  if (plan.lock != PlanLock::none) words += " locks";
  return words;
}

}  // namespace

std::string plan_in_words(Bytes text) {
  THD *const thd = current_thd;
  ReadPlan plan;
  WhyNot why = WhyNot::syntax;
  if (const LexOfText parsed(thd, text); parsed.lex() != nullptr)
    why = recognise(thd, *parsed.lex(), ParsedText::form, plan);
  if (why != WhyNot::planned) return "not: " + std::string(words(why));
  for (TABLE *table = thd->open_tables; table != nullptr; table = table->next) {
    if (plan.table != table->s->table_name.str || plan.database != table->s->db.str) continue;
    ResolvedRead read;
    why = resolve(plan, *table, read);
    return why == WhyNot::planned ? words_of(plan, *table, read) : "not: " + std::string(words(why));
  }
  return "planned";
}

}  // namespace postern::mariadb::test
