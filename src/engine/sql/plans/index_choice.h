// index_choice.h: choose_index(), the index by which a SELECT of rows by key is answered as the server would answer it.
//
// Only values matter that find rows exactly: which column a condition is on, and how it tests it. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace postern::sql {

enum class FormTest : uint8_t {
  equal,  ///< one value; true for no NULL
  in,     ///< one or more values
  /// One of a list of rows: such conditions have as many values each, and are true together where one place's values
  /// equal all their columns. Only good for an index that begins with all of them.
  tuple,
  less,      ///< one value
  at_most,   ///< one value
  greater,   ///< one value
  at_least,  ///< one value
  unequal,   ///< one value; only good for a filter
  like,      ///< one value, a pattern: an index serves a prefix, 'p%'
  null,      ///< no value
  not_null,  ///< no value; only good for a filter
};

/// How the rows are found.
enum class ReadWay : uint8_t {
  one,      ///< a whole unique key by equality: a row or none
  several,  ///< a whole unique key, one part of it by IN, or some by a list of rows: a row or none for each
  walk,     ///< by the index: rows equal in the leading parts, in a range or with a prefix in the next one
};

/// A SELECT, as far as it matters to indexes. Columns are positions in the table.
struct IndexedRead {
  struct Condition {
    uint16_t column = 0;
    FormTest test = FormTest::equal;
    size_t values = 1;
  };
  struct Order {
    uint16_t column = 0;
    bool descending = false;
  };

  std::vector<Condition> conditions{};  ///< that all must be true
  std::vector<Order> order{};           ///< empty also where there is one row
  std::vector<uint16_t> columns{};      ///< that are sent
  bool has_limit = false;
  bool exists = false;  ///< SELECT EXISTS (...)
  bool counts = false;  ///< COUNT alone
  bool locks = false;
};

/// The indexes of a table.
struct TableIndexes {
  struct Part {
    uint16_t column = 0;
    bool is_prefix = false;  ///< of a text
    bool is_down = false;    ///< DESC
  };
  struct Index {
    std::vector<Part> parts{};
    /// Rows that are equal in the first part, in the first two, ..., by the table's statistics; 0: they say nothing.
    std::vector<double> rows{};
    bool is_unique = false;
    bool may_be_null = false;  ///< a part of it
    bool is_plain = true;      ///< ordered by its columns' values, and not ignored
    bool is_allowed = true;    ///< by the statement's FORCE INDEX or USE INDEX
  };

  std::vector<Index> indexes{};
  std::optional<uint32_t> primary{};     ///< the position of the primary key, by which the table's rows are stored
  std::vector<uint16_t> blank_padded{};  ///< columns with blanks in their keys that comparisons do not see
  bool is_partitioned = false;
};

struct IndexChoice {
  ReadWay way = ReadWay::one;
  uint32_t index = 0;
  std::vector<uint16_t> parts{};    ///< conditions on leading parts, in order: `equal`, `null`, `in` or `tuple`
  std::vector<uint16_t> range{};    ///< on the next part: at most one lower, one upper bound; or one `like`
  std::vector<uint16_t> filters{};  ///< to be judged of every row found
  bool backwards = false;           ///< the walk goes down the index
  /// Rows come in the order that the statement asks for, or in the one that the server would give them without asking.
  bool ordered = true;
  bool ties = false;  ///< the order asked for may leave rows equal
};

enum class NoIndex : uint8_t {
  none_fits,
  other_is_better,  ///< the server, which may sort, would take another index
  of_partitions,    ///< a walk of several
  locks_others,     ///< rows would be locked that the statement does not want
};

/// Why none serves; nullopt: `choice` does.
std::optional<NoIndex> choose_index(const IndexedRead &read, const TableIndexes &table, IndexChoice &choice);

}  // namespace postern::sql
