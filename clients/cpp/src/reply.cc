#include "handlersocket/reply.h"

namespace handlersocket {

size_t Row::size() const {
  return rows_->columns();
}

Cell Row::operator[](size_t column) const {
  if (column >= rows_->columns()) throw std::out_of_range("handlersocket: no such column");
  return rows_->cell(first_ + column);
}

Row Rows::operator[](size_t row) const {
  if (row >= size()) throw std::out_of_range("handlersocket: no such row");
  return {*this, row * columns_};
}

std::string Error::message() const {
  if (kind == Kind::refused) return "the server refused the request: " + std::to_string(code) + " " + text;
  return text;
}

}  // namespace handlersocket
