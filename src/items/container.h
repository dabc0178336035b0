// container.h: Container, which columns of which table hold the key, the value, the flags, the CAS and the expiry of
// an item.
//
// Immutable and shared by all sessions that use it. Columns are counted as the container's table is opened: key
// columns, value columns, then flags, CAS and expiry if it has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "contract/table.h"
#include "contract/value.h"
#include "items/trouble.h"

namespace postern::items {

/// Where a command works.
enum class Policy : uint8_t {
  table,
  memory,
  disabled,  ///< disabled: gets miss, everything else succeeds without effect
};

struct Policies {
  Policy get = Policy::table;
  Policy set = Policy::table;
  Policy erase = Policy::table;
  Policy flush = Policy::table;

  bool operator==(const Policies &) const = default;
};

/// One container's row in the mapping, unchecked.
struct ContainerRow {
  std::string name;
  std::string database;
  std::string table;
  std::string key_columns;
  std::string value_columns;
  std::string flags_column;  ///< "0" or empty: none, here and in the next two
  std::string cas_column;
  std::string expiry_column;
  std::string index;
  std::string separator = "|";
  Policies policies{};

  bool operator==(const ContainerRow &) const = default;
};

class Container {
 public:
  static constexpr uint32_t no_column = UINT32_MAX;

  explicit Container(ContainerRow row);

  const ContainerRow &row() const { return row_; }
  const std::string &name() const { return row_.name; }
  Bytes separator() const { return row_.separator; }
  const Policies &policies() const { return row_.policies; }
  /// The error in the row; empty if it can be used.
  const std::string &problem() const { return problem_; }

  uint32_t key_columns() const { return key_columns_; }
  uint32_t value_columns() const { return value_columns_; }
  uint32_t first_value_column() const { return key_columns_; }
  /// Positions, or no_column.
  uint32_t flags_column() const { return flags_column_; }
  uint32_t cas_column() const { return cas_column_; }
  uint32_t expiry_column() const { return expiry_column_; }
  uint32_t columns() const { return columns_; }
  bool keeps_cas() const { return cas_column_ != no_column; }
  bool keeps_expiry() const { return expiry_column_ != no_column; }

  /// The spec to open. Borrows from the container.
  TableSpec spec() const;
  /// `schema/table`, for messages.
  const std::string &place() const { return place_; }
  /// The last error of its table. Any thread.
  Trouble &trouble() const { return trouble_; }

 private:
  void find_problem();
  uint32_t add_columns(Bytes list, bool several);
  uint32_t add_meta_column(const std::string &column);

  const ContainerRow row_;
  std::vector<Bytes> column_names_;  // views into row_
  std::string place_;
  std::string problem_;
  uint32_t key_columns_ = 0;
  uint32_t value_columns_ = 0;
  uint32_t flags_column_ = no_column;
  uint32_t cas_column_ = no_column;
  uint32_t expiry_column_ = no_column;
  uint32_t columns_ = 0;
  mutable Trouble trouble_;
};

/// Splits a joined key or value into parts: each ends at the separator, the last takes the rest.
class Pieces {
 public:
  Pieces(Bytes joined, Bytes separator, uint32_t count) : rest_(joined), separator_(separator), left_(count) {}

  /// False if none is left: fewer parts than columns.
  bool next(Bytes &piece) {
    if (left_ == 0 || ended_) return false;
    --left_;
    const size_t end = left_ == 0 || separator_.empty() ? Bytes::npos : rest_.find(separator_);
    piece = rest_.substr(0, end);
    ended_ = end == Bytes::npos;
    if (!ended_) rest_.remove_prefix(end + separator_.size());
    return true;
  }

 private:
  Bytes rest_;
  Bytes separator_;
  uint32_t left_;
  bool ended_ = false;
};

/// A column's value as a number: 0 for NULL and for other texts.
inline uint64_t number_in(const Value &value) {
  switch (value.kind()) {
    case Value::Kind::null: return 0;
    case Value::Kind::integer: return value.integer() < 0 ? 0 : static_cast<uint64_t>(value.integer());
    case Value::Kind::natural: return value.natural();
    case Value::Kind::bytes: {
      uint64_t number = 0;
      return parse_natural(value.bytes(), number) ? number : 0;
    }
  }
  return 0;
}

/// An item's CAS, flags and expiry from its row.
struct ItemState {
  uint64_t cas = 0;
  uint32_t flags = 0;
  int64_t expires_at = 0;
};
inline ItemState state_of(const Container &container, Row row) {
  ItemState state;
  if (container.keeps_cas()) state.cas = number_in(row[container.cas_column()]);
  if (container.flags_column() != Container::no_column)
    state.flags = static_cast<uint32_t>(number_in(row[container.flags_column()]));
  if (container.keeps_expiry())
    state.expires_at = static_cast<int64_t>(number_in(row[container.expiry_column()]) & INT64_MAX);
  return state;
}

}  // namespace postern::items
