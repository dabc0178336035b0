// key_walk.h: KeyWalk, which reads the rows of a recognised read one by one, from a table that is open and locked in
// the client's session.
//
// It makes the same calls as the server's own access by that index, so rows and counters are the same. Filters use the
// columns' own comparison, with values that the columns hold exactly.
#pragma once

#include <optional>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/value.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class Field;
class THD;
struct TABLE;
struct st_key_range;

namespace postern::mariadb {

/// Kept by a thread from one read to the next, for its memory. From open() to close() the table must stay open.
class KeyWalk {
 public:
  /// More rows were examined than a turn allows.
  static constexpr int too_much = -1;

  /// Converts the form's values to keys, and begins to read by the index, or returns why not. close() must follow in
  /// any case, while the table is still open. The arguments outlive the walk.
  std::optional<NotNow> open(THD *thd, TABLE &table, const ReadForm &form, const ResolvedRead &read,
                             std::span<const Value> arguments);
  /// Idempotent.
  void close();
  /// The first step of open(): makes the keys only, to ask for estimated_rows(). False: not with these values.
  bool prepare(THD *thd, TABLE &table, const ReadForm &form, const ResolvedRead &read,
               std::span<const Value> arguments);
  /// The storage engine's estimate of the rows in the ranges of the index. The server asks for the same.
  uint64_t estimated_rows();
  /// Whether these rows certainly cost the server less by the index than all rows of the table. After prepare(), and
  /// before open(): to estimate rows InnoDB makes the index that of its handler.
  bool costs_less_than_all_rows();
  /// Ranges of the index.
  size_t ranges() const { return keys_used_ == 0 ? 1 : keys_used_; }
  /// For locking walks: the storage engine is told of rows for which a condition is false, and may unlock them.
  void unlock_passed(bool unlocks) { unlocks_passed_ = unlocks; }

  /// Reads the next row for which all conditions are true into the table's record. 0; or the storage engine's error,
  /// HA_ERR_END_OF_FILE after the last row; or too_much.
  int next();

  /// The last result of next().
  int code() const { return code_; }
  /// Rows read, matching or not.
  uint64_t examined() const { return examined_; }
  /// Keys looked up by equality; 0: a range.
  size_t keys() const { return keys_used_; }
  /// How the server counts such an access: Select_range, Select_scan, or neither. Before close().
  enum class Access : uint8_t { by_key, range, scan };
  Access access() const;
  /// Notes the last row read.
  void note();
  /// Whether the last row equals the noted one in every column of ORDER BY.
  bool ties_with_noted() const;

 private:
  using Record = std::vector<unsigned char>;
  struct End {
    bool given = false;  ///< otherwise the index's own end
    bool included = true;
    uint32_t parts = 0;
    Record key;
  };
  /// A condition to check for every row, with its values in records of their own.
  struct Judged {
    const ResolvedCondition *condition;
    uint32_t first;  // in records_
    uint32_t count;
    Bytes pattern;
  };

  const FormCondition &condition_of(const ResolvedCondition &condition) const {
    return form_->conditions[condition.condition];
  }
  Field &field_of(const ResolvedCondition &condition) const;
  bool value_at(const ResolvedCondition &condition, size_t at, Value &value) const;
  bool store(const ResolvedCondition &condition, size_t at, Record &record) const;
  void store_null(const ResolvedCondition &condition, Record &record) const;
  uint32_t key_length(size_t parts) const;
  void copy_key(Record &key, size_t parts);

  st_key_range low_of_range() const;
  st_key_range high_of_range() const;
  uint64_t estimated_rows(const st_key_range *from, const st_key_range *to);

  bool make_keys();
  bool is_list(const ResolvedCondition &condition) const;
  bool make_list();
  bool is_of_one_type(const ResolvedCondition &list) const;
  bool make_range();
  bool locks_rows() const;
  bool is_empty_range() const;
  bool is_one_value() const;
  bool make_prefix(const ResolvedCondition &condition);
  bool add_judged(const ResolvedCondition &condition);

  int step();
  int first_by_key();
  int next_by_key();
  int first_of_range();
  int next_of_range();
  int within_range(int code) const;
  bool matches() const;
  bool holds(const Judged &judged) const;

  THD *thd_ = nullptr;
  TABLE *table_ = nullptr;
  const ReadForm *form_ = nullptr;
  const ResolvedRead *read_ = nullptr;
  std::span<const Value> arguments_;
  Record key_record_;
  std::vector<Record> records_;
  uint32_t records_used_ = 0;
  std::vector<Record> keys_;  // keys to read by equality, one by one
  size_t keys_used_ = 0;
  size_t key_ = 0;
  bool in_key_ = false;  // a row of keys_[key_] was read
  End low_;
  End high_;
  std::vector<Judged> judged_;
  Record noted_;
  uint64_t examined_ = 0;
  int code_ = 0;
  bool unlocks_passed_ = false;
};

}  // namespace postern::mariadb
