#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/testing/form_words.h"

#include "engine/mariadb/hosted/planned/forms/form_parts.h"
#include "engine/mariadb/hosted/testing/value_words.h"
#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/writes/recognise_change.h"

namespace postern::mariadb::test {
namespace {

/// Puts `text` after what is there already.
void list(std::string &words, const std::string &text) {
  words += words.empty() ? text : ", " + text;
}

std::string wanted(const ReadForm &form) {
  std::string all;
  for (const FormWanted &one : form.wanted) {
    switch (one.what) {
      case FormWanted::What::column: list(all, one.column); break;
      case FormWanted::What::all_columns: list(all, "*"); break;
      case FormWanted::What::constant: list(all, std::to_string(one.integer)); break;
      case FormWanted::What::null: list(all, "NULL"); break;
      case FormWanted::What::count: list(all, "count(" + (one.column.empty() ? "*" : one.column) + ")"); break;
    }
  }
  return all;
}

std::string where(const ReadForm &form) {
  std::string all;
  for (const FormCondition &one : form.conditions)
    list(all, one.column + test_word(one.test) + value_words(one.values));
  return all.empty() ? all : " where " + all;
}

/// The conditions, the order, and the limit.
std::string chosen_rows(const ReadForm &form) {
  std::string words = where(form);
  std::string order;
  for (const FormOrder &one : form.order) list(order, one.column + (one.descending ? " desc" : ""));
  if (!order.empty()) words += " order by " + order;
  if (form.limit) words += " limit " + value_word(*form.limit);
  if (form.offset) words += " offset " + value_word(*form.offset);
  return words;
}

std::string words_of(const ReadForm &form) {
  std::string words = form.exists ? "exists (" + wanted(form) + ")" : wanted(form);
  words += " from " + form.database + "." + form.table + chosen_rows(form);
  if (form.lock != FormLock::none) words += form.lock == FormLock::update ? " for update" : " in share mode";
  if (form.skips_locked) words += " skip locked";
  return words + " (" + std::to_string(form.arguments) + ")";
}

std::string words_of(const FormAssignment &one) {
  const std::string value = one.given.empty() ? value_word(one.value) : "given " + one.given;
  const std::string source = one.base      ? value_word(*one.base)
                             : one.if_null ? "(" + one.source + " or " + value_word(*one.if_null) + ")"
                                           : one.source;
  const std::string least = one.at_least ? ", at least " + value_word(*one.at_least) : "";
  switch (one.how) {
    case FormAssignment::How::set: return one.column + "= " + value;
    case FormAssignment::How::add: return one.column + "= " + source + " + " + value + least;
    case FormAssignment::How::subtract: return one.column + "= " + source + " - " + value + least;
    case FormAssignment::How::keep: return one.column + "= " + one.source;
    case FormAssignment::How::tell: return one.column + "= last_insert_id(" + one.source + ")";
  }
  return {};
}

std::string assignments(const ChangeForm &form) {
  std::string all;
  for (const FormAssignment &one : form.assignments) list(all, words_of(one));
  return all;
}

std::string new_rows(const ChangeForm &form) {
  std::string columns;
  for (const std::string &one : form.columns) list(columns, one);
  std::string rows;
  for (const std::vector<FormValue> &row : form.new_rows) list(rows, "(" + value_words(row).substr(1) + ")");
  return " (" + columns + ") values " + rows;
}

std::string words_of(const ChangeForm &form) {
  const std::string table = " " + form.rows.database + "." + form.rows.table;
  std::string words;
  switch (form.what) {
    case ChangeForm::What::update:
      words = "update" + table + " set " + assignments(form) + chosen_rows(form.rows);
      break;
    case ChangeForm::What::erase: words = "delete" + table + chosen_rows(form.rows); break;
    case ChangeForm::What::insert:
      words = form.duplicate == ChangeForm::Duplicate::replace ? "replace" : "insert";
      words += (form.duplicate == ChangeForm::Duplicate::ignore ? " ignore" : "") + table + new_rows(form);
      if (form.duplicate == ChangeForm::Duplicate::update) words += " on duplicate " + assignments(form);
      break;
  }
  if (form.returns()) words += " returning " + wanted(form.rows);
  return words + " (" + std::to_string(form.rows.arguments) + ")";
}

std::string words_of(const FormParts &form) {
  std::string tables;
  for (const FormTable &one : form.tables) {
    list(tables, one.database + "." + one.table + (one.alias == one.table ? "" : " " + one.alias));
  }
  std::string values;
  for (const PlacedValue &one : form.values) {
    const std::string column = (one.table.empty() ? "" : one.table + ".") + one.column;
    switch (one.as) {
      case PlacedValue::As::compared: list(values, one.column.empty() ? "shapes" : "compared with " + column); break;
      case PlacedValue::As::pattern: list(values, "pattern of " + column); break;
      case PlacedValue::As::calculated: list(values, "calculated with"); break;
      case PlacedValue::As::limit: list(values, "limit"); break;
      case PlacedValue::As::offset: list(values, "offset"); break;
    }
  }
  return tables + (values.empty() ? "" : ": " + values) + (form.ordered ? "; ordered" : "") +
         (form.limited ? "; limited" : "");
}

template <typename Form>
std::string words_of(std::optional<WhyNot> why, const Form &form) {
  return why ? "not: " + std::string(words(*why)) : words_of(form);
}

}  // namespace

std::string form_in_words(Recognises what, Bytes text, ParsedText parsed) {
  THD *const thd = current_thd;
  if (what == Recognises::planned) {
    FormParts parts;
    const std::optional<WhyNot> why = read_form(thd, text, parsed, parts);
    return words_of(why, parts);
  }
  const LexOfText tree(thd, text);
  if (tree.lex() == nullptr) return "not: " + std::string(words(WhyNot::syntax));
  if (what == Recognises::changes) {
    ChangeForm form;
    const std::optional<WhyNot> why = recognise_change(thd, *tree.lex(), form);
    return words_of(why, form);
  }
  ReadForm form;
  const std::optional<WhyNot> why = recognise(thd, *tree.lex(), parsed, form);
  return words_of(why, form);
}

}  // namespace postern::mariadb::test
