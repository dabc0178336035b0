// pattern_reads.h: what SORT's BY and GET name, a key, or a field of a hash, for each element; and PatternWork, which
// reads them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "redis/lists/list_work.h"

namespace postern::redis {

class Transaction;

/// `weight_*`, `user:*->name`, `#`: an element stands in the place of the first `*`. Borrows from the text.
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

/// Opens the tables of all mappings that may have keys of the pattern. Returns false after answering an error.
bool open_for(Call &call, const Pattern &pattern);

class PatternWork : public ListWork {
 public:
  /// `locks`: read rows are locked.
  PatternWork(Call &call, OpenMap &open, bool locks);

 protected:
  /// To be called first by run(), which may have been run before.
  void begin_looking() { bytes_ = 0; }
  /// The values named for each element. NULL: there is no such key or field, or it is of another type.
  Task<> look_up(const Pattern &pattern, std::span<const Bytes> elements, std::vector<Cell> &values);
  StepReply &add_looking(OpenTable &table, const Find &find) {
    return locks_ ? add_lock(table, find) : add_read(table, find);
  }

 private:
  // A key that does not fit its column is no row's.
  bool bears(Failure failure) const override { return failure == Failure::bad_key_value; }
  void add_generic(OpenMap &open, RowKey key, const Pattern &pattern, Cell &value, char &fits);
  void add_mapped(OpenMap &open, Bytes key, const Pattern &pattern, Cell &value);
  Flow take_value(const Value &from, Cell &to);

  OpenMaps &maps_;
  Transaction *const watching_;  // nullptr in EXEC
  const uint32_t database_;
  const bool locks_;
  size_t bytes_ = 0;  // of all that was looked up
};

}  // namespace postern::redis
