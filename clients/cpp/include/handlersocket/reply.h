// reply.h: the server's answers. Rows and Reply own their bytes and keep them when they are filled again, so reuse
// allocates nothing. Views into them live until they are changed or die.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "handlersocket/result.h"

namespace handlersocket {

/// One column of one row.
class Cell {
 public:
  Cell() = default;
  explicit Cell(std::string_view bytes) : null_(false), bytes_(bytes) {}

  bool is_null() const { return null_; }
  /// Empty for NULL.
  std::string_view bytes() const { return bytes_; }
  std::string text() const { return std::string(bytes_); }

  /// The whole value as a number; nothing for NULL, other text, or a value beyond T's range.
  template <class T>
  requires(std::integral<T> || std::floating_point<T>) std::optional<T> as()
  const {
    T number{};
    const char *const end = bytes_.data() + bytes_.size();
    const auto [stop, failure] = std::from_chars(bytes_.data(), end, number);
    if (null_ || failure != std::errc{} || stop != end) return std::nullopt;
    return number;
  }

 private:
  bool null_ = true;
  std::string_view bytes_{};
};

class Rows;

/// One row; a view of Rows.
class Row {
 public:
  Row(const Rows &rows, size_t first) : rows_(&rows), first_(first) {}
  size_t size() const;
  /// Throws std::out_of_range if there is no such column.
  Cell operator[](size_t column) const;

 private:
  const Rows *rows_;
  size_t first_;
};

/// The rows of one reply.
class Rows {
 public:
  class Iterator {
   public:
    Iterator(const Rows &rows, size_t row) : rows_(&rows), row_(row) {}
    Row operator*() const { return (*rows_)[row_]; }
    Iterator &operator++() { return ++row_, *this; }
    bool operator==(const Iterator &other) const { return row_ == other.row_; }

   private:
    const Rows *rows_;
    size_t row_;
  };

  size_t columns() const { return columns_; }
  size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  bool empty() const { return cells_.empty(); }
  /// Throws std::out_of_range if there is no such row.
  Row operator[](size_t row) const;
  Row front() const { return (*this)[0]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  friend class Row;
  friend class ReplyParser;

  static constexpr size_t null = SIZE_MAX;
  struct Place {
    size_t begin;
    size_t size;  ///< null for NULL
  };

  Cell cell(size_t at) const {
    const Place &place = cells_[at];
    return place.size == null ? Cell() : Cell(std::string_view(bytes_.data() + place.begin, place.size));
  }

  size_t columns_ = 0;
  std::string bytes_{};  ///< the reply's line, unescaped in place
  std::vector<Place> cells_{};
};

/// One reply of a pipeline. The kind of request decides which members are set.
struct Reply {
  Rows rows{};                   ///< a find's, and a modification's with Before::yes
  uint64_t count = 0;            ///< a modification's, an upsert's, an insert_or_ignore's
  std::optional<uint64_t> id{};  ///< an insert's: the new AUTO_INCREMENT value, 0 if it was given, nothing without one
  std::optional<Error> error{};  ///< the server refused the request

  explicit operator bool() const { return !error; }
};

}  // namespace handlersocket
