#include "engine/server/server.h"

#include "engine/rows/bounds.h"

#include <cstring>
#include <utility>

#include "engine/server/differences.h"

namespace postern::rows {
namespace {

// LIKE's wildcards and its escape character.
constexpr char escape = '\\';
constexpr char one = '_';
constexpr char many = '%';

constexpr bool is_special(my_wc_t character) {
  return character == static_cast<my_wc_t>(escape) || character == static_cast<my_wc_t>(one) ||
         character == static_cast<my_wc_t>(many);
}

void append(std::string &text, const CHARSET_INFO *charset, char character) {
  uchar bytes[8];
  const int size = charset->cset->wc_mb(charset, static_cast<my_wc_t>(character), bytes, bytes + sizeof bytes);
  if (size > 0) text.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(size));
}

/// When the server merges partitions' rows it does not keep the order of an index on column prefixes, so the last row
/// within bounds is unknown.
bool has_prefixes(const KEY &key) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i)
    if (key.key_part[i].key_part_flag & HA_PART_KEY_SEG) return true;
  return false;
}

}  // namespace

Failure Bounds::check(const OpenTable &table, const Find &find) {
  const KEY &key = table.key_info();
  if (find.until.size() > key.user_defined_key_parts) return Failure::too_many_key_parts;
  if (table.table->part_info != nullptr && has_prefixes(key)) return Failure::index_unusable;
  if (!find.prefix) return Failure::none;
  const Field &field = *table.table->field[key.key_part[find.key.size() - 1].fieldnr - 1];
  return is_text_column(field) ? Failure::none : Failure::index_unusable;
}

bool Bounds::open(THD *thd, OpenTable &table, const Find &find, KeyStart &start) {
  table_ = &table;
  find_ = &find;
  down_ = descending(find.comparison);
  if (find.prefix && !open_prefix(thd, start)) return false;
  if (find.until.empty()) return true;
  const Comparison up_to = find.until_included ? Comparison::at_most : Comparison::less;
  const Comparison down_to = find.until_included ? Comparison::at_least : Comparison::greater;
  until_key_.assign(table.key_info().key_length + 1, 0);
  build_key(thd, table, find.until, down_ ? down_to : up_to, 0, nullptr, until_key_, until_);
  return until_.comparison != Comparison::never;
}

bool Bounds::open_prefix(THD *thd, KeyStart &start) {
  const size_t last = find_->key.size() - 1;
  const Value &text = find_->key[last];
  if (text.is_null()) return false;
  Bytes begins = text.bytes();
  std::string converted;
  if (!in_charset(*table_, *prefixed(), begins, converted) || !write_pattern(begins)) return false;
  build_key(thd, *table_, find_->key.first(last), Comparison::equal, 0, nullptr, table_->key, leading_);
  if (leading_.comparison == Comparison::never) return false;
  const KEY_PART_INFO &part = table_->key_info().key_part[last];
  write_ends(part, begin_, end_);
  if (down_ != static_cast<bool>(part.key_part_flag & HA_REVERSE_SORT)) std::swap(begin_, end_);
  start = {.bytes = begin_.data(),
           .length = static_cast<uint32_t>(begin_.size()),
           .parts = parts_,
           .comparison = down_ ? Comparison::at_most : Comparison::at_least};
  return true;
}

/// The text without wildcards, with one after it. False if it is no text in the column's character set.
bool Bounds::write_pattern(Bytes text) {
  const CHARSET_INFO *const charset = prefixed()->charset();
  const char *at = text.data();
  const char *const end = at + text.size();
  pattern_.clear();
  while (at != end) {
    size_t size = 1;
    my_wc_t character = static_cast<uchar>(*at);
    if (charset->mbminlen > 1) {
      const int bytes = charset->cset->mb_wc(charset, &character, reinterpret_cast<const uchar *>(at),
                                             reinterpret_cast<const uchar *>(end));
      if (bytes <= 0) return false;
      size = static_cast<size_t>(bytes);
    } else if (const uint bytes = charset->mbmaxlen > 1 ? my_ismbchar(charset, at, end) : 0) {
      // Not asked of a set of single bytes, which has no such function in MySQL.
      size = bytes;
      character = 0;
    }
    if (is_special(character)) append(pattern_, charset, escape);
    pattern_.append(at, size);
    at += size;
  }
  append(pattern_, charset, many);
  return true;
}

/// The keys between which the server looks for texts LIKE the pattern.
void Bounds::write_ends(const KEY_PART_INFO &part, std::vector<uchar> &low, std::vector<uchar> &high) {
  const uint32_t nullable = part.null_bit != 0 ? 1 : 0;
  const uint32_t counted = part.store_length - part.length - nullable;  // what says how long it is
  const uint32_t text_at = leading_.length + nullable + counted;
  for (std::vector<uchar> *const key : {&low, &high}) {
    key->assign(leading_.length + part.store_length, 0);
    std::memcpy(key->data(), leading_.bytes, leading_.length);
  }
  size_t low_size = 0;
  size_t high_size = 0;
  parts_ = leading_.parts + 1;
  const CHARSET_INFO *const charset = prefixed()->charset();
  if (charset->coll->like_range(charset, pattern_.data(), pattern_.size(), escape, one, many, part.length,
                                reinterpret_cast<char *>(low.data() + text_at),
                                reinterpret_cast<char *>(high.data() + text_at), &low_size, &high_size)) {
    // Anywhere among the rows of the parts before.
    parts_ = leading_.parts;
    for (std::vector<uchar> *const key : {&low, &high}) key->resize(leading_.length);
  } else if (counted != 0) {
    // A collation that pads with spaces has 'a' and a TAB before 'a'; the low end is filled up with zeros, which are
    // lower still.
    if (pads_with_spaces(charset)) low_size = part.length;
    int2store(low.data() + text_at - counted, static_cast<uint16>(low_size));
    int2store(high.data() + text_at - counted, static_cast<uint16>(high_size));
  }
}

Bounds::Verdict Bounds::judge() const {
  if (find_->prefix) {
    if (is_past(end_.data(), parts_)) return Verdict::beyond;
    if (leading_.recheck && !row_matches(*table_, leading_, find_->key, 0, nullptr)) return Verdict::outside;
    if (!has_prefix()) return Verdict::outside;
  }
  if (find_->until.empty() || row_matches(*table_, until_, find_->until, 0, nullptr)) return Verdict::within;
  // Where the index does not know the order of whole values, later rows may be within.
  return !until_.recheck || is_past(until_key_.data(), until_.parts) ? Verdict::beyond : Verdict::outside;
}

Field *Bounds::prefixed() const {
  return table_->table->field[table_->key_info().key_part[find_->key.size() - 1].fieldnr - 1];
}

bool Bounds::has_prefix() const {
  Field *const field = prefixed();
  if (field->is_null()) return false;
  String buffer;
  const String *const text = field->val_str(&buffer);
  const CHARSET_INFO *const charset = field->charset();
  return charset->coll->wildcmp(charset, text->ptr(), text->ptr() + text->length(), pattern_.data(),
                                pattern_.data() + pattern_.size(), escape, one, many) == 0;
}

/// Whether the walk has come past all rows with this key.
bool Bounds::is_past(const uchar *key, uint32_t parts) const {
  for (uint32_t i = 0; i < parts; ++i) {
    const KEY_PART_INFO &part = table_->key_info().key_part[i];
    const bool key_is_null = part.null_bit != 0 && *key != 0;
    const bool row_is_null = table_->table->field[part.fieldnr - 1]->is_null();
    int order = static_cast<int>(key_is_null) - static_cast<int>(row_is_null);
    if (!key_is_null && !row_is_null) order = part.field->key_cmp(key + (part.null_bit != 0 ? 1 : 0), part.length);
    if (part.key_part_flag & HA_REVERSE_SORT) order = -order;
    if (order != 0) return down_ ? order < 0 : order > 0;
    key += part.store_length;
  }
  return false;
}

}  // namespace postern::rows
