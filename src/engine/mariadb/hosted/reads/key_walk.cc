#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/basics/compat.h"
#include "engine/mariadb/hosted/reads/key_walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "engine/mariadb/hosted/reads/computed_value.h"
#include "engine/mariadb/hosted/reads/exact_value.h"

namespace postern::mariadb {
namespace {

constexpr char wild_escape = '\\';
constexpr char wild_one = '_';
constexpr char wild_many = '%';

/// While one lives, the column points into this record, not into its table's.
class InRecord {
 public:
  InRecord(Field &field, const TABLE &table, const unsigned char *record)
      : field_(field), offset_(record - table.record[0]) {
    field_.move_field_offset(offset_);
  }
  ~InRecord() { field_.move_field_offset(-offset_); }
  InRecord(const InRecord &) = delete;
  InRecord &operator=(const InRecord &) = delete;

 private:
  Field &field_;
  const my_ptrdiff_t offset_;
};

bool is_end(int code) {
  return code == HA_ERR_KEY_NOT_FOUND || code == HA_ERR_END_OF_FILE;
}

}  // namespace

std::optional<NotNow> KeyWalk::open(THD *thd, TABLE &table, const ReadForm &form, const ResolvedRead &read,
                                    std::span<const Value> arguments) {
  if (!prepare(thd, table, form, read, arguments)) return NotNow::value;
  for (const ResolvedCondition &filter : read.filters)
    if (!add_judged(filter)) return NotNow::value;
  return table.file->ha_index_init(read.index, true) == 0 ? std::nullopt : std::optional(NotNow::read_failed);
}

bool KeyWalk::prepare(THD *thd, TABLE &table, const ReadForm &form, const ResolvedRead &read,
                      std::span<const Value> arguments) {
  thd_ = thd;
  table_ = &table;
  form_ = &form;
  read_ = &read;
  arguments_ = arguments;
  records_used_ = 0;
  keys_used_ = 0;
  key_ = 0;
  in_key_ = false;
  low_.given = high_.given = false;
  judged_.clear();
  examined_ = 0;
  code_ = 0;
  unlocks_passed_ = false;
  return make_keys();
}

void KeyWalk::close() {
  const TABLE *const table = std::exchange(table_, nullptr);
  if (table != nullptr && table->file->inited == handler::INDEX) table->file->ha_index_end();
}

int KeyWalk::next() {
  for (;;) {
    code_ = step();
    if (code_ == 0 && ++examined_ > limits::find_rows_fast_max) code_ = too_much;
    if (code_ != 0 || matches()) return code_;
    if (unlocks_passed_) table_->file->unlock_row();
  }
}

uint64_t KeyWalk::estimated_rows() {
  uint64_t rows = 0;
  for (size_t i = 0; i < keys_used_; ++i) {
    const Record &key = keys_[i];
    const key_part_map parts = make_prev_keypart_map(read_->parts.size());
    const auto length = static_cast<uint>(key.size());
    const key_range from{key.data(), length, parts, HA_READ_KEY_EXACT};
    const key_range to{key.data(), length, parts, HA_READ_AFTER_KEY};
    rows += estimated_rows(&from, &to);
  }
  if (keys_used_ != 0) return rows;
  const key_range low = low_of_range();
  const key_range high = high_of_range();
  return estimated_rows(low_.given ? &low : nullptr, high_.given ? &high : nullptr);
}

uint64_t KeyWalk::estimated_rows(const key_range *from, const key_range *to) {
  page_range pages = unused_page_range;
  return table_->file->records_in_range(read_->index, from, to, &pages);
}

bool KeyWalk::costs_less_than_all_rows() {
  constexpr uint64_t rows_scanned = 16;                      // cost no less than one row by an index
  constexpr uint64_t rows_of_the_table = 2;                  // cost no less than one row of a range of it
  if (compat::has_own_statistics(*table_->s)) return false;  // perhaps of fewer rows
  const uint64_t rows = read_->way == ReadWay::walk ? estimated_rows() : keys_used_;
  table_->file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK);
  const uint64_t all = table_->file->stats.records;
  if (read_->index == table_->s->primary_key && ranges() == 1) return rows * rows_of_the_table <= all;
  return (rows + ranges()) * rows_scanned <= all;
}

/// The server looks up a list of one value, or BETWEEN equal ones, as an equality, and knows a range without values.
KeyWalk::Access KeyWalk::access() const {
  if (keys_used_ != 0) return keys_used_ == 1 ? Access::by_key : Access::range;
  if (read_->range.empty()) return Access::scan;
  return is_empty_range() || is_one_value() ? Access::by_key : Access::range;
}

void KeyWalk::note() {
  noted_.assign(table_->record[0], table_->record[0] + table_->s->reclength);
}

bool KeyWalk::ties_with_noted() const {
  const my_ptrdiff_t offset = noted_.data() - table_->record[0];
  return std::ranges::all_of(form_->order, [&](const FormOrder &order) {
    for (Field **at = table_->field; *at != nullptr; ++at) {
      Field &field = **at;
      if (!compat::same_name(system_charset_info, field.field_name.str, order.column.c_str())) continue;
      const bool is_null = field.is_null();
      if (is_null || field.is_null_in_record(noted_.data())) return is_null == field.is_null_in_record(noted_.data());
      return field.cmp(field.ptr, field.ptr + offset) == 0;
    }
    return false;
  });
}

// --- values and keys -------------------------------------------------------------------------------------------------

Field &KeyWalk::field_of(const ResolvedCondition &condition) const {
  return *table_->field[condition.field];
}

bool KeyWalk::value_at(const ResolvedCondition &condition, size_t at, Value &value) const {
  const std::vector<FormValue> &values = condition_of(condition).values;
  return at < values.size() && value_of(values[at], arguments_, value);
}

/// Stores the value of that place, if the column then holds it exactly.
bool KeyWalk::store(const ResolvedCondition &condition, size_t at, Record &record) const {
  Field &field = field_of(condition);
  const InRecord moved(field, *table_, record.data());
  const std::vector<FormValue> &values = condition_of(condition).values;
  if (at < values.size() && values[at].from == FormValue::From::time)
    return store_time_exactly(field, condition.exact, values[at], arguments_);
  Value value;
  return value_at(condition, at, value) && store_exactly(thd_, field, condition.exact, value);
}

void KeyWalk::store_null(const ResolvedCondition &condition, Record &record) const {
  Field &field = field_of(condition);
  const InRecord moved(field, *table_, record.data());
  field.set_null();
}

uint32_t KeyWalk::key_length(size_t parts) const {
  uint32_t length = 0;
  for (size_t i = 0; i < parts; ++i) length += table_->key_info[read_->index].key_part[i].store_length;
  return length;
}

void KeyWalk::copy_key(Record &key, size_t parts) {
  const uint32_t length = key_length(parts);
  key.resize(length);
  if (length == 0) return;  // which the server would use as the whole key
  key_copy(key.data(), key_record_.data(), &table_->key_info[read_->index], length, true);
}

bool KeyWalk::make_keys() {
  key_record_.assign(table_->s->default_values, table_->s->default_values + table_->s->rec_buff_length);
  for (const ResolvedCondition &part : read_->parts) {
    switch (condition_of(part).test) {
      case FormTest::equal:
        if (!store(part, 0, key_record_)) return false;
        break;
      case FormTest::null: store_null(part, key_record_); break;
      case FormTest::in:
      case FormTest::tuple: break;  // below, after all others
      default: return false;
    }
  }
  if (read_->way == ReadWay::walk && (!read_->range.empty() || read_->parts.empty())) return make_range();
  if (std::ranges::any_of(read_->parts, [this](const ResolvedCondition &part) { return is_list(part); }))
    return make_list();
  if (keys_.empty()) keys_.emplace_back();
  keys_used_ = 1;
  copy_key(keys_[0], read_->parts.size());
  return true;
}

bool KeyWalk::is_list(const ResolvedCondition &condition) const {
  const FormTest test = condition_of(condition).test;
  return test == FormTest::in || test == FormTest::tuple;
}

/// Of values of several types the server makes no ranges: it reads all rows, or by another index.
bool KeyWalk::is_of_one_type(const ResolvedCondition &list) const {
  std::optional<ComparedAs> type;
  const size_t count = condition_of(list).values.size();
  for (size_t i = 0; i < count; ++i) {
    Value value;
    if (!value_at(list, i, value)) continue;  // a time
    const ComparedAs this_type = compared_as(list.exact, value);
    if (type.value_or(this_type) != this_type) return false;
    type = this_type;
  }
  return true;
}

/// One key for each different value, or row of values, in the order of the walk.
bool KeyWalk::make_list() {
  const auto is_of_list = [this](const ResolvedCondition &part) { return is_list(part); };
  for (const ResolvedCondition &part : read_->parts)
    if (condition_of(part).test == FormTest::in && !is_of_one_type(part)) return false;
  const size_t count = condition_of(*std::ranges::find_if(read_->parts, is_of_list)).values.size();
  if (keys_.size() < count) keys_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    for (const ResolvedCondition &listed : read_->parts)
      if (is_list(listed) && !store(listed, i, key_record_)) return false;
    copy_key(keys_[i], read_->parts.size());
  }
  KEY_PART_INFO *const part = table_->key_info[read_->index].key_part;
  const auto order = [&](const Record &a, const Record &b) {
    return key_tuple_cmp(part, a.data(), b.data(), static_cast<uint>(a.size()));
  };
  const auto end = keys_.begin() + static_cast<ptrdiff_t>(count);
  std::sort(keys_.begin(), end, [&](const Record &a, const Record &b) { return order(a, b) < 0; });
  const auto last = std::unique(keys_.begin(), end, [&](const Record &a, const Record &b) { return order(a, b) == 0; });
  if (read_->backwards) std::reverse(keys_.begin(), last);
  keys_used_ = static_cast<size_t>(last - keys_.begin());
  return true;
}

/// Both ends of a walk: those of the condition on the next part, otherwise all rows equal in the earlier parts;
/// excludes NULL if the condition is never true for it.
bool KeyWalk::make_range() {
  const size_t parts = read_->parts.size();
  for (End *const end : {&low_, &high_}) {
    end->given = parts != 0;
    end->included = true;
    end->parts = static_cast<uint32_t>(parts);
    copy_key(end->key, parts);
  }
  for (const ResolvedCondition &condition : read_->range) {
    const FormTest test = condition_of(condition).test;
    if (test == FormTest::like) return make_prefix(condition);
    if (!store(condition, 0, key_record_)) return false;
    End &end = test == FormTest::greater || test == FormTest::at_least ? low_ : high_;
    end.given = true;
    end.included = test == FormTest::at_least || test == FormTest::at_most;
    end.parts = static_cast<uint32_t>(parts) + 1;
    copy_key(end.key, parts + 1);
  }
  if (read_->range.empty()) return true;
  if (low_.parts > parts) return !(locks_rows() && is_empty_range());
  const ResolvedCondition &upper = read_->range.front();
  if (!field_of(upper).maybe_null()) return true;
  store_null(upper, key_record_);
  low_.given = true;
  low_.included = false;
  low_.parts = static_cast<uint32_t>(parts) + 1;
  copy_key(low_.key, parts + 1);
  return true;
}

bool KeyWalk::locks_rows() const {
  return table_->reginfo.lock_type != TL_READ;
}

/// Whether no value can be between the ends. The server finds that before it locks a row; a walk would lock the gap.
bool KeyWalk::is_empty_range() const {
  if (!low_.given || !high_.given || low_.parts != high_.parts) return false;
  const int order = key_tuple_cmp(table_->key_info[read_->index].key_part, low_.key.data(), high_.key.data(),
                                  static_cast<uint>(low_.key.size()));
  return order > 0 || (order == 0 && !(low_.included && high_.included));
}

bool KeyWalk::is_one_value() const {
  return condition_of(read_->range.front()).test != FormTest::like && low_.given && high_.given &&
         low_.parts == high_.parts && low_.included && high_.included && low_.key == high_.key;
}

/// Makes the ends of a range from a pattern as the server does; every row is also checked against the pattern.
bool KeyWalk::make_prefix(const ResolvedCondition &condition) {
  if (!add_judged(condition)) return false;
  const Bytes pattern = judged_.back().pattern;
  Field &field = field_of(condition);
  CHARSET_INFO *const charset = field.charset();
  const size_t parts = read_->parts.size();
  const KEY_PART_INFO &part = table_->key_info[read_->index].key_part[parts];
  if (pattern.empty() || charset->mbminlen > 1 || pattern[0] == wild_one || pattern[0] == wild_many) return false;
  const uint32_t nullable = part.null_bit != 0 ? 1 : 0;
  const uint32_t counted = part.store_length - part.length - nullable;
  const uint32_t before = key_length(parts);
  const uint32_t text_at = before + nullable + counted;
  size_t sizes[2] = {};
  for (End *const end : {&low_, &high_}) {
    end->given = true;
    end->parts = static_cast<uint32_t>(parts) + 1;
    end->key.resize(before);
    end->key.resize(before + part.store_length, 0);
  }
  if (charset->like_range(pattern.data(), pattern.size(), wild_escape, wild_one, wild_many, part.length,
                          reinterpret_cast<char *>(low_.key.data() + text_at),
                          reinterpret_cast<char *>(high_.key.data() + text_at), &sizes[0], &sizes[1]))
    return false;
  if (counted != 0) {
    // A collation that pads with spaces has 'a' and a TAB before 'a'; the low end is filled up with zeros, lower still.
    if (!(charset->state & MY_CS_NOPAD)) sizes[0] = part.length;
    int2store(low_.key.data() + text_at - counted, static_cast<uint16>(sizes[0]));
    int2store(high_.key.data() + text_at - counted, static_cast<uint16>(sizes[1]));
  }
  return true;
}

bool KeyWalk::add_judged(const ResolvedCondition &condition) {
  const FormCondition &form = condition_of(condition);
  Judged judged{.condition = &condition, .first = records_used_, .count = 0, .pattern = {}};
  if (form.test == FormTest::like) {
    Value value;
    if (!value_at(condition, 0, value) || value.kind() != Value::Kind::bytes) return false;
    if (value.spelling() != Value::Spelling::text) return false;
    judged.pattern = value.bytes();
    if (thd_->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES || !text_is_same(thd_, field_of(condition), value.bytes()))
      return false;
  } else {
    // A long text is stored outside the record, in a single buffer of the column.
    const bool outside = field_of(condition).flags & BLOB_FLAG;
    const bool again = std::ranges::any_of(
        judged_, [&](const Judged &other) { return other.count != 0 && other.condition->field == condition.field; });
    if (outside && (again || form.values.size() > 1)) return false;
    for (size_t i = 0; i < form.values.size(); ++i) {
      if (records_.size() == records_used_) records_.emplace_back();
      Record &record = records_[records_used_++];
      record.assign(table_->s->default_values, table_->s->default_values + table_->s->rec_buff_length);
      if (!store(condition, i, record)) return false;
      ++judged.count;
    }
  }
  judged_.push_back(judged);
  return true;
}

// --- rows ------------------------------------------------------------------------------------------------------------

int KeyWalk::step() {
  if (keys_used_ == 0) {
    if (in_key_) return next_of_range();
    in_key_ = true;
    return first_of_range();
  }
  for (;;) {
    if (in_key_) {
      const int code = next_by_key();
      if (!is_end(code)) return code;
      in_key_ = false;
      ++key_;
    }
    if (key_ == keys_used_) return HA_ERR_END_OF_FILE;
    const int code = first_by_key();
    in_key_ = code == 0;
    if (!is_end(code)) return code;
    ++key_;
  }
}

int KeyWalk::first_by_key() {
  const bool last = read_->backwards && read_->way == ReadWay::walk;
  return table_->file->ha_index_read_map(table_->record[0], keys_[key_].data(),
                                         make_prev_keypart_map(read_->parts.size()),
                                         last ? HA_READ_PREFIX_LAST : HA_READ_KEY_EXACT);
}

int KeyWalk::next_by_key() {
  if (read_->way != ReadWay::walk) return HA_ERR_END_OF_FILE;
  const Record &key = keys_[key_];
  const auto length = static_cast<uint>(key.size());
  if (!read_->backwards) return table_->file->ha_index_next_same(table_->record[0], key.data(), length);
  const int code = table_->file->ha_index_prev(table_->record[0]);
  if (code != 0) return code;
  return key_cmp_if_same(table_, key.data(), read_->index, length) ? HA_ERR_END_OF_FILE : 0;
}

key_range KeyWalk::low_of_range() const {
  return {low_.key.data(), static_cast<uint>(low_.key.size()), make_prev_keypart_map(low_.parts),
          low_.included ? HA_READ_KEY_OR_NEXT : HA_READ_AFTER_KEY};
}

key_range KeyWalk::high_of_range() const {
  return {high_.key.data(), static_cast<uint>(high_.key.size()), make_prev_keypart_map(high_.parts),
          high_.included ? HA_READ_AFTER_KEY : HA_READ_BEFORE_KEY};
}

int KeyWalk::first_of_range() {
  handler &file = *table_->file;
  if (!read_->backwards) {
    const key_range low = low_of_range();
    const key_range high = high_of_range();
    return file.read_range_first(low_.given ? &low : nullptr, high_.given ? &high : nullptr, false, true);
  }
  if (!high_.given) return within_range(file.ha_index_last(table_->record[0]));
  return within_range(file.ha_index_read_map(table_->record[0], high_.key.data(), make_prev_keypart_map(high_.parts),
                                             high_.included ? HA_READ_PREFIX_LAST_OR_PREV : HA_READ_BEFORE_KEY));
}

int KeyWalk::next_of_range() {
  if (!read_->backwards) return table_->file->read_range_next();
  return within_range(table_->file->ha_index_prev(table_->record[0]));
}

/// Downwards: ends the walk if the row is below the low end.
int KeyWalk::within_range(int code) const {
  if (code != 0 || !low_.given) return code == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : code;
  const int order = key_cmp(table_->key_info[read_->index].key_part, low_.key.data(), low_.key.size());
  return order < 0 || (order == 0 && !low_.included) ? HA_ERR_END_OF_FILE : 0;
}

bool KeyWalk::matches() const {
  return std::ranges::all_of(judged_, [this](const Judged &judged) { return holds(judged); });
}

bool KeyWalk::holds(const Judged &judged) const {
  Field &field = field_of(*judged.condition);
  const FormTest test = condition_of(*judged.condition).test;
  if (test == FormTest::null) return field.is_null();
  if (field.is_null()) return false;
  if (test == FormTest::not_null) return true;
  if (test == FormTest::like) {
    String buffer;
    const String *const text = field.val_str(&buffer);
    return field.charset()->wildcmp(text->ptr(), text->end(), judged.pattern.data(),
                                    judged.pattern.data() + judged.pattern.size(), wild_escape, wild_one,
                                    wild_many) == 0;
  }
  const auto compare = [&](uint32_t at) {
    return field.cmp(field.ptr, field.ptr + (records_[judged.first + at].data() - table_->record[0]));
  };
  switch (test) {
    case FormTest::less: return compare(0) < 0;
    case FormTest::at_most: return compare(0) <= 0;
    case FormTest::greater: return compare(0) > 0;
    case FormTest::at_least: return compare(0) >= 0;
    case FormTest::unequal: return compare(0) != 0;
    default:
      for (uint32_t i = 0; i < judged.count; ++i)
        if (compare(i) == 0) return true;
      return false;
  }
}

}  // namespace postern::mariadb
