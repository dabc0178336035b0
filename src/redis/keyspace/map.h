// map.h: Map, the meaning of the keys with one prefix: the rows of a table, a column of them, or a generic keyspace.
//
// Immutable and shared by all sessions that use it. Columns are counted as the table is opened: key columns, then the
// expiry and the version if there are such, then the fields, or the value, or the other columns of an entry.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/table.h"
#include "contract/value.h"
#include "items/trouble.h"

namespace postern::redis {

/// A row of postern.redis_maps, unchecked.
struct MapRow {
  std::string prefix;
  std::string db;
  std::string kind;
  std::string database;
  std::string table;
  std::string key_columns;
  std::string value_columns;
  std::string index = "PRIMARY";
  std::string separator = ":";
  std::string expire_column;
  std::string expire_unit = "ms";
  std::string version_column{};
  std::string options{};  ///< words separated by commas

  bool operator==(const MapRow &) const = default;
};

/// The type of a key's value, as entries.type has it.
enum class Type : uint8_t { none = 0, string = 1, list = 2, set = 3, hash = 4, zset = 5, stream = 6 };

class Map {
 public:
  enum class Kind : uint8_t { row, value, generic };
  static constexpr uint32_t no_column = UINT32_MAX;

  explicit Map(MapRow row);

  const MapRow &row() const { return row_; }
  Bytes prefix() const { return row_.prefix; }
  uint32_t db() const { return db_; }
  Kind kind() const { return kind_; }
  bool generic() const { return kind_ == Kind::generic; }
  /// The error in the row; empty if it can be used.
  const std::string &problem() const { return problem_; }
  /// `shop.user`, for messages.
  const std::string &place() const { return place_; }

  uint32_t key_columns() const { return key_columns_; }
  /// Positions, or no_column.
  uint32_t expiry_column() const { return expiry_column_; }
  uint32_t version_column() const { return version_column_; }
  /// The first field, or the value.
  uint32_t first_field() const { return first_field_; }
  bool keeps_expiry() const { return expiry_column_ != no_column; }
  bool keeps_version() const { return version_column_ != no_column; }
  /// Of Kind::row, in the order of the columns from first_field().
  std::span<const Bytes> fields() const { return fields_; }
  /// Its position among fields(), or no_column.
  uint32_t find_field(Bytes field) const;
  Bytes column_of(uint32_t field) const { return column_names_[first_field_ + field]; }

  bool read_only() const { return read_only_; }
  bool may_flush() const { return !no_flush_ && !read_only_; }
  bool may_scan() const { return !no_scan_; }
  bool may_create() const { return !no_create_ && !read_only_; }
  bool may_delete() const { return !no_delete_ && !read_only_; }

  /// The spec with all columns. Borrows from the map.
  TableSpec spec() const;
  /// The spec of only the first `count` columns and these fields. `names` has room for all of them.
  TableSpec spec(std::span<const uint32_t> fields, std::span<Bytes> names) const;
  /// The spec of a generic keyspace for reading strings only. `names` has room for string_entry::columns.
  TableSpec string_spec(std::span<Bytes> names) const;
  /// Columns before the fields.
  std::span<const Bytes> leading_columns() const { return std::span(column_names_).first(first_field_); }

  /// Milliseconds since 1970 in the unit of the column, rounded up, and back. 0 is never.
  int64_t to_column(int64_t expires_ms) const { return seconds_ ? (expires_ms + 999) / 1'000 : expires_ms; }
  int64_t from_column(int64_t expires) const { return seconds_ ? expires * 1'000 : expires; }
  /// When a row's key expires, in milliseconds; 0: never.
  int64_t expires_ms(Row row) const { return keeps_expiry() ? expires_ms(row[expiry_column_]) : 0; }
  /// The same from the value of the expiry column.
  int64_t expires_ms(const Value &value) const;

  /// The last error of its table. Any thread.
  items::Trouble &trouble() const { return trouble_; }

 private:
  void read_kind();
  void read_options();
  void add_fields();
  uint32_t add_columns(Bytes list);
  void find_problem();

  const MapRow row_;
  std::vector<Bytes> column_names_;  // views into row_, as the next one
  std::vector<Bytes> fields_;
  std::vector<uint32_t> by_name_;  // positions in fields_, sorted
  std::string place_;
  std::string problem_;
  uint32_t db_ = 0;
  Kind kind_ = Kind::row;
  uint32_t key_columns_ = 0;
  uint32_t first_field_ = 0;
  uint32_t expiry_column_ = no_column;
  uint32_t version_column_ = no_column;
  bool seconds_ = false;
  bool read_only_ = false;
  bool no_flush_ = false;
  bool no_scan_ = false;
  bool no_create_ = false;
  bool no_delete_ = false;
  mutable items::Trouble trouble_;
};

/// Positions of the columns of postern_redis.entries in Map::spec() of a generic keyspace.
namespace entry {
inline constexpr uint32_t key = 0;
inline constexpr uint32_t expires = 1;
inline constexpr uint32_t version = 2;
inline constexpr uint32_t type = 3;
inline constexpr uint32_t len = 4;
inline constexpr uint32_t head = 5;
inline constexpr uint32_t value = 6;
inline constexpr uint32_t columns = 7;
/// Bytes of a key: the size of its column.
inline constexpr size_t key_bytes_max = 512;
}  // namespace entry

/// The same in Map::string_spec().
namespace string_entry {
inline constexpr uint32_t key = 0;
inline constexpr uint32_t expires = 1;
inline constexpr uint32_t type = 2;
inline constexpr uint32_t value = 3;
inline constexpr uint32_t columns = 4;
}  // namespace string_entry

}  // namespace postern::redis
