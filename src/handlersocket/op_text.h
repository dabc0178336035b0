// op_text.h: an op as text, so that tests can compare what two ways of reading the same bytes have made of them.
#pragma once

#include <string>

#include "contract/op.h"
#include "support/escaped.h"

namespace postern::handlersocket {

inline std::string value_text(const Value &value) {
  return value.is_null() ? "NULL" : "'" + test::escaped(value.bytes()) + "'";
}

inline std::string values_text(std::span<const Value> values) {
  std::string text = "(";
  for (const Value &value : values) text += value_text(value) + ",";
  return text + ")";
}

inline std::string op_text(const Op &op) {
  switch (op.verb) {
    case Verb::answer: return "answer " + std::string(failure_name(op.failure)) + (op.slot != nullptr ? " slot" : "");
    case Verb::open: {
      std::string text = "open";
      for (const Bytes name :
           {op.spec->database, op.spec->table, op.spec->index, op.spec->columns, op.spec->filter_columns})
        text += " '" + test::escaped(name) + "'";
      return text;
    }
    case Verb::find: {
      const Find &find = *op.find;
      std::string text = "find " + std::to_string(static_cast<int>(find.comparison)) + values_text(find.key);
      text += " limit " + std::to_string(find.limit) + " offset " + std::to_string(find.offset);
      if (!find.in_list.empty()) text += " in " + std::to_string(find.in_part) + values_text(find.in_list);
      for (const Filter &filter : find.filters) {
        text += filter.miss == Filter::Miss::skip ? " skip " : " stop ";
        text += std::to_string(static_cast<int>(filter.comparison)) + " " + std::to_string(filter.column) + " ";
        text += value_text(filter.value);
      }
      return text;
    }
  }
  return {};
}

}  // namespace postern::handlersocket
