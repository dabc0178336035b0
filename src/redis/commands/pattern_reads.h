// pattern_reads.h: the patterns of SORT's BY and GET, which name a key or a hash field for each element; and
// PatternWork, which reads these.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "redis/lists/list_work.h"

namespace postern::redis {

class Transaction;

/// `weight_*`, `user:*->name`, `#`: each element replaces the first `*`. Borrows from the text.
struct Pattern {
  enum class Names : uint8_t { nothing, element, key };

  explicit Pattern(Bytes text);
  bool has_field() const { return !field.empty(); }
  std::string key_of(Bytes element) const;

  Names names = Names::nothing;
  Bytes before{};
  Bytes behind{};
  Bytes field{};  ///< a hash's; empty: the key is a string
};

/// Opens the tables of all mappings with keys that may match the pattern. Returns false after answering an error.
bool open_for(Call &call, const Pattern &pattern);

class PatternWork : public ListWork {
 public:
  /// `locks`: whether to lock the rows that it reads.
  PatternWork(Call &call, OpenMap &open, bool locks);

 protected:
  /// Called first by run(), which may have run before.
  void begin_looking() { bytes_ = 0; }
  /// The value for each element. NULL: no such key or field, or another type.
  Task<> look_up(const Pattern &pattern, std::span<const Bytes> elements, std::vector<Cell> &values);
  StepReply &add_looking(OpenTable &table, const Find &find) {
    return locks_ ? add_lock(table, find) : add_read(table, find);
  }

 private:
  // No row has a key that does not fit its column.
  bool bears(Failure failure) const override { return failure == Failure::bad_key_value; }
  void add_generic(OpenMap &open, RowKey key, const Pattern &pattern, Cell &value, char &fits);
  void add_mapped(OpenMap &open, Bytes key, const Pattern &pattern, Cell &value);
  Flow take_value(const Value &from, Cell &to);

  OpenMaps &maps_;
  Transaction &watching_;  // nothing in EXEC
  const uint32_t database_;
  const bool locks_;
  size_t bytes_ = 0;  // of all lookups
};

}  // namespace postern::redis
