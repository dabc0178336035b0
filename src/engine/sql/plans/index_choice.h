// index_choice.h: choose_index(), which chooses the index by which a worker answers a SELECT by key exactly as the
// server would.
//
// Considers the column and the test of each condition, for values that find rows exactly. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace postern::sql {

enum class FormTest : uint8_t {
  equal,  ///< one value; true for no NULL
  in,     ///< one or more values
  /// A column of a row-constructor IN list: these conditions have equally many values, and hold together if the values
  /// of one position equal all their columns. Only useful for an index that begins with all of them.
  tuple,
  less,      ///< one value
  at_most,   ///< one value
  greater,   ///< one value
  at_least,  ///< one value
  unequal,   ///< one value; only usable as a filter
  like,      ///< one value, a pattern: an index serves a prefix, 'p%'
  null,      ///< no value
  not_null,  ///< no value; only usable as a filter
};

/// The way in which rows are found.
enum class ReadWay : uint8_t {
  one,      ///< a whole unique key by equality: at most one row
  several,  ///< a whole unique key, one part by IN, or several by row constructors: at most one row for each
  walk,     ///< an index range: equal leading parts, and a range or a prefix in the next one
};

/// The parts of a SELECT that matter for the choice of an index. Columns are positions in the table.
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
  std::vector<Order> order{};           ///< also empty if there is at most one row
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
    /// Rows for each value of the first part, of the first two, ..., by the table's statistics; 0: unknown.
    std::vector<double> rows{};
    bool is_unique = false;
    bool may_be_null = false;  ///< a part of it
    bool is_plain = true;      ///< ordered by its columns' values, and not ignored
    bool is_allowed = true;    ///< by the statement's FORCE INDEX or USE INDEX
  };

  std::vector<Index> indexes{};
  std::optional<uint32_t> primary{};     ///< the position of the primary key, by which the table's rows are stored
  std::vector<uint16_t> blank_padded{};  ///< columns with blanks in their keys that comparisons ignore
  bool is_partitioned = false;
};

struct IndexChoice {
  ReadWay way = ReadWay::one;
  uint32_t index = 0;
  std::vector<uint16_t> parts{};    ///< conditions on leading parts, in order: `equal`, `null`, `in` or `tuple`
  std::vector<uint16_t> range{};    ///< on the next part: at most one lower, one upper bound; or one `like`
  std::vector<uint16_t> filters{};  ///< to be checked for every row found
  bool backwards = false;           ///< the walk goes down the index
  /// Rows come in the order of ORDER BY, or, without one, in the server's order.
  bool ordered = true;
  bool ties = false;  ///< ORDER BY may leave rows equal
};

enum class NoIndex : uint8_t {
  none_fits,
  other_is_better,  ///< the server, which can sort, would take another index
  of_partitions,    ///< one of several ranges
  locks_others,     ///< rows would be locked that the statement does not select
};

/// Why no index serves; nullopt: `choice` is set.
std::optional<NoIndex> choose_index(const IndexedRead &read, const TableIndexes &table, IndexChoice &choice);

/// For an UPDATE or a DELETE by `chosen`: the walks of other indexes that the server weighs against it, also of indexes
/// of prefixes, to count their rows. False: some are not known, or the server reads another part of `chosen`.
bool find_others(const IndexedRead &read, const TableIndexes &table, const IndexChoice &chosen,
                 std::vector<IndexChoice> &others);

/// For an UPDATE or a DELETE by `chosen`: whether conditions on a column may contradict each other. If any index has
/// that column the server finds it before it locks a row.
bool may_contradict(const IndexedRead &read, const TableIndexes &table, const IndexChoice &chosen);

}  // namespace postern::sql
