// op_text.h: an op as text, so that tests can compare what two ways of reading the same bytes have made of them.
#pragma once

#include <string>
#include <vector>

#include "base/limits.h"
#include "contract/op.h"
#include "support/unit/escaped.h"

namespace postern::handlersocket {

inline std::string value_text(const Value &value) {
  return value.is_null() ? "NULL" : "'" + test::escaped(value.bytes()) + "'";
}

inline std::string values_text(std::span<const Value> values) {
  std::string text = "(";
  for (const Value &value : values) text += value_text(value) + ",";
  return text + ")";
}

inline std::string find_text(const Find &find) {
  std::string text = std::to_string(static_cast<int>(find.comparison)) + values_text(find.key);
  text += " limit " + std::to_string(find.limit) + " offset " + std::to_string(find.offset);
  if (!find.in_list.empty()) text += " in " + std::to_string(find.in_part) + values_text(find.in_list);
  for (const Filter &filter : find.filters) {
    text += filter.miss == Filter::Miss::skip ? " skip " : " stop ";
    text += std::to_string(static_cast<int>(filter.comparison)) + " " + std::to_string(filter.column) + " ";
    text += value_text(filter.value);
  }
  return text;
}

/// Writes down what an edit decides for a row of as many NULLs as anybody could have opened.
class DraftText final : public Draft {
 public:
  void set(uint32_t column, const Value &value) override { text += at(column) + "=" + value_text(value); }
  Sum add(uint32_t column, const Value &amount, bool subtract) override {
    text += at(column) + (subtract ? "-" : "+") + value_text(amount);
    return Sum::kept_sign;
  }
  void extend(uint32_t column, Bytes bytes, bool at_front) override {
    text += at(column) + (at_front ? "<" : ">") + value_text(Value::of(bytes));
  }
  std::string text;

 private:
  static std::string at(uint32_t column) { return " " + std::to_string(column); }
};

inline std::string op_text(const Op &op) {
  switch (op.verb) {
    case Verb::answer: return "answer " + std::string(failure_name(op.failure)) + (op.slot != nullptr ? " slot" : "");
    case Verb::open: {
      std::string text = "open";
      for (const Bytes name : {op.spec->database, op.spec->table, op.spec->index})
        text += " '" + test::escaped(name) + "'";
      text += " " + std::to_string(op.spec->index_position);
      for (const std::span<const Bytes> list : {op.spec->columns, op.spec->filter_columns}) {
        text += " (";
        for (const Bytes name : list) text += "'" + test::escaped(name) + "',";
        text += ")";
      }
      return text;
    }
    case Verb::login:
      return "login " + std::string(failure_name(op.failure)) + " '" + test::escaped(op.login->user) + "' '" +
             test::escaped(op.login->password) + "'";
    case Verb::statement: return "statement";
    case Verb::find: return "find " + find_text(*op.find);
    case Verb::lock: return "lock " + find_text(*op.find);
    case Verb::script: return "script";
    case Verb::insert:
      return "insert " + std::to_string(static_cast<int>(op.insert->on_duplicate)) + values_text(op.insert->values);
    case Verb::edit: {
      DraftText draft;
      const std::vector<Value> row(limits::columns_max);
      const Decision decision = op.edit->edit->present(row, draft);
      return "edit " + find_text(op.edit->find) + (op.edit->rows_wanted ? " wanted" : "") + " decides " +
             std::to_string(static_cast<int>(decision)) + draft.text;
    }
  }
  return {};
}

}  // namespace postern::handlersocket
