#include "sqldoor/normalise.h"

#include <algorithm>
#include <cstring>

#include "sqldoor/characters.h"
#include "sqldoor/literals.h"

namespace postern::sqldoor {
namespace {

/// Right before a quote they are a part of the literal.
constexpr Bytes words_of_literals[] = {"X", "B", "N", "DATE", "TIME", "TIMESTAMP"};

/// `word` is in capitals.
bool is_word(Bytes token, Bytes word) {
  if (token.size() != word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if ((token[i] & ~0x20) != word[i]) return false;
  }
  return true;
}

uint64_t hash_of(Bytes bytes) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  uint64_t hash = bytes.size() * factor;
  while (bytes.size() >= 8) {
    uint64_t chunk = 0;
    std::memcpy(&chunk, bytes.data(), 8);
    hash = (hash ^ chunk) * factor;
    hash ^= hash >> 29;
    bytes.remove_prefix(8);
  }
  uint64_t chunk = 0;
  std::memcpy(&chunk, bytes.data(), bytes.size());
  hash = (hash ^ chunk) * factor;
  return hash ^ (hash >> 32);
}

}  // namespace

/// Reads one text. It follows the grammar only as far as needed to find the literals that vary: those compared with a
/// column, and limits.
class FormReader {
 public:
  FormReader(NormalText &to, Bytes text, TextRules rules)
      : form_(to.form_.get()),
        form_end_(form_),
        values_(to.values_),
        rewritten_(to.rewritten_),
        text_(text),
        rules_(rules) {}

  bool run();
  bool changes() const { return writes_; }
  /// FROM DUAL reads no row.
  bool is_of_rows() const { return in_tail_ && !of_dual_; }
  size_t form_size() const { return static_cast<size_t>(form_end_ - form_); }

 private:
  /// The previous token, as far as the next one's meaning depends on it.
  enum class Before : uint8_t {
    nothing_special,
    wants_value,  // what comes next is compared with a column, or an element of a list
    wants_limit,
    in,       // IN: a list may follow
    point,    // what follows is a name, whatever word it is
    text,     // texts next to each other are one
    written,  // a literal that stays in the form
  };

  bool step();
  bool read_verb();
  bool skip_comment();
  void put_blank();
  bool read_word();
  void follow_word(Bytes word);
  bool read_quoted_name(char quote);
  bool read_bytes(size_t size);
  bool read_text();
  bool read_number();
  bool read_minus();
  bool read_semicolon();
  bool read_variable();
  /// What is taken stays in the form. It is copied once something else follows it there: one copy of many words.
  void take(size_t size) { at_ += size; }
  void copy_taken() {
    form_end_ = std::copy(text_.data() + copied_, text_.data() + at_, form_end_);
    copied_ = at_;
  }
  void skip(size_t size) {
    copy_taken();
    copied_ = at_ += size;
  }
  /// Everything that is written replaces at least as many bytes of the text, so that there is room.
  void put(char c) {
    copy_taken();
    *form_end_++ = c;
  }
  char last() const { return at_ != copied_ ? text_[at_ - 1] : form_end_[-1]; }
  void put_one_blank() {
    if (last() != ' ') put(' ');
  }
  bool replace(size_t size, Value value);
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool takes_value() const { return in_tail_ && (before_ == Before::wants_value || before_ == Before::wants_limit); }

  char *const form_;
  char *form_end_;
  std::vector<Value> &values_;
  std::string &rewritten_;
  Bytes text_;
  TextRules rules_;
  size_t at_ = 0;
  size_t copied_ = 0;  // from there to at_ the text is taken, but not copied yet
  Before before_ = Before::nothing_special;
  bool writes_ = false;
  bool in_tail_ = false;     // after FROM
  bool of_dual_ = false;     // it has the word DUAL
  bool in_between_ = false;  // AND comes before a value
  bool in_rows_ = false;     // after VALUES: lists follow, with commas between them
  bool in_limit_ = false;
  uint32_t lists_ = 0;  // a bit for each open parenthesis, the innermost lowest: it is one of values
  uint32_t depth_ = 0;
};

bool FormReader::run() {
  values_.clear();
  rewritten_.clear();
  rewritten_.reserve(NormalText::text_bytes_max);  // it never moves
  if (text_.size() > NormalText::text_bytes_max || !read_verb()) return false;
  while (at_ < text_.size()) {
    if (!step()) return false;
  }
  copy_taken();
  while (form_end_ != form_ && kind(form_end_[-1]) == Char::blank) --form_end_;
  return depth_ == 0;
}

bool FormReader::read_verb() {
  for (;;) {
    while (kind(peek(0)) == Char::blank) skip(1);
    if (peek(0) != '/') break;
    if (!skip_comment()) return false;
  }
  // The first SELECT of a UNION may be in parentheses.
  for (; peek(0) == '('; take(1)) {
    if (++depth_ > 32) return false;
  }
  size_t size = 0;
  while (kind(peek(size)) == Char::letter) ++size;
  const Bytes verb = text_.substr(at_, size);
  writes_ = is_word(verb, "UPDATE") || is_word(verb, "DELETE") || is_word(verb, "INSERT") || is_word(verb, "REPLACE");
  if (writes_ ? depth_ != 0 : !is_word(verb, "SELECT")) return false;
  in_tail_ = writes_;  // no column has a name from it
  take(size);
  if (is_part_of_word(peek(0))) return false;
  // Applications identify themselves here in a comment, which does not become part of a column's name.
  size_t blanks = 0;
  while (kind(peek(blanks)) == Char::blank) ++blanks;
  if (peek(blanks) == '/' && peek(blanks + 1) == '*') {
    skip(blanks);
    if (!skip_comment()) return false;
    while (kind(peek(0)) == Char::blank) skip(1);
    put(' ');
  }
  return true;
}

/// At a slash. The server executes the comments /*! */ and /*M! */, and may execute others in future.
bool FormReader::skip_comment() {
  if (peek(1) != '*' || peek(2) == '!' || peek(2) == '+' || (peek(2) == 'M' && peek(3) == '!')) return false;
  const size_t end = text_.find("*/", at_ + 2);
  if (end == Bytes::npos) return false;
  const Bytes comment = text_.substr(at_, end + 2 - at_);
  if (comment.find('\0') != Bytes::npos) return false;
  skip(comment.size());
  return true;
}

void FormReader::put_blank() {
  // A column's name may be the text of its expression. Most blanks stand alone.
  if (!in_tail_ || (text_[at_] == ' ' && last() != ' ' && kind(peek(1)) != Char::blank)) return take(1);
  size_t size = 1;
  while (kind(peek(size)) == Char::blank) ++size;
  put_one_blank();
  skip(size);
}

bool FormReader::step() {
  const char c = text_[at_];
  switch (kind(c)) {
    case Char::refused: return false;
    case Char::blank: put_blank(); return true;
    case Char::letter: return read_word();
    case Char::digit: return read_number();
    case Char::backquote: return read_quoted_name(c);
    case Char::double_quote:
      if (rules_.ansi_quotes) return read_quoted_name(c);
      return read_text();
    case Char::quote: return read_text();
    case Char::slash:
      if (peek(1) == '*') {
        // In the select list it would be part of a column's name.
        if (!in_tail_ || !skip_comment()) return false;
        put_one_blank();
        return true;
      }
      before_ = Before::nothing_special;
      take(1);
      return true;
    case Char::minus: return read_minus();
    case Char::point:
      if (kind(peek(1)) == Char::digit) return false;
      before_ = Before::point;
      take(1);
      return true;
    case Char::open:
      if (++depth_ > 32) return false;
      lists_ = (lists_ << 1) | (before_ == Before::in || before_ == Before::wants_value ? 1 : 0);
      before_ = lists_ & 1 ? Before::wants_value : Before::nothing_special;
      take(1);
      return true;
    case Char::close:
      if (depth_ == 0) return false;
      --depth_;
      lists_ >>= 1;
      before_ = Before::nothing_special;
      take(1);
      return true;
    case Char::comma:
      before_ = lists_ & 1 ? Before::wants_value : in_limit_ ? Before::wants_limit : Before::nothing_special;
      if (in_rows_ && depth_ == 0) before_ = Before::in;
      take(1);
      return true;
    case Char::semicolon: return read_semicolon();
    case Char::at: return read_variable();
    case Char::compares:
      // 1 = 1 does not involve a column.
      if (before_ != Before::written) before_ = Before::wants_value;
      take(1);
      return true;
    case Char::other:
      before_ = writes_ && c == '+' ? Before::wants_value : Before::nothing_special;
      take(1);
      return true;
  }
  return false;
}

bool FormReader::read_word() {
  const char *const from = text_.data() + at_;
  const char *const text_end = text_.data() + text_.size();
  const char *end = from;
  uint8_t all = 0;
  for (; end != text_end && is_part_of_word(*end); ++end) all |= static_cast<uint8_t>(*end);
  if (all >= 0x80 && !rules_.safe_characters) return false;
  const auto size = static_cast<size_t>(end - from);
  if (end != text_end && (*end == '\'' || *end == '"')) return read_bytes(size);
  const Bytes word = text_.substr(at_, size);
  take(size);
  if (before_ == Before::point) {
    before_ = Before::nothing_special;
  } else {
    follow_word(word);
  }
  return true;
}

void FormReader::follow_word(Bytes word) {
  before_ = Before::nothing_special;
  switch (word.size()) {
    case 2:
      if (is_word(word, "IN")) before_ = Before::in;
      break;
    case 3:
      if (in_between_ && is_word(word, "AND")) {
        in_between_ = false;
        before_ = Before::wants_value;
      }
      break;
    case 4:
      if (is_word(word, "FROM")) in_tail_ = true;
      if (is_word(word, "LIKE")) before_ = Before::wants_value;
      if (is_word(word, "DUAL")) of_dual_ = true;
      break;
    case 5:
      if (writes_ && is_word(word, "VALUE")) {
        in_rows_ = true;
        before_ = Before::in;
      }
      if (is_word(word, "UNION")) in_limit_ = false;
      if (is_word(word, "LIMIT")) {
        in_limit_ = true;
        before_ = Before::wants_limit;
      }
      break;
    case 6:
      if (writes_ && is_word(word, "VALUES")) {
        in_rows_ = true;
        before_ = Before::in;
      }
      if (is_word(word, "OFFSET")) before_ = Before::wants_limit;
      break;
    case 7:
      if (is_word(word, "BETWEEN")) {
        in_between_ = true;
        before_ = Before::wants_value;
      }
      break;
    default: break;
  }
}

bool FormReader::read_quoted_name(char quote) {
  size_t size = 1;
  for (;; ++size) {
    if (at_ + size >= text_.size()) return false;
    const char c = text_[at_ + size];
    if (c == '\0' || (static_cast<uint8_t>(c) >= 0x80 && !rules_.safe_characters)) return false;
    if (c != quote) continue;
    if (peek(size + 1) != quote) break;
    ++size;
  }
  take(size + 1);
  before_ = Before::nothing_special;
  return true;
}

/// A word right before a quote, of `size`: N'..', DATE'..', x'61' and similar literals are not plain strings. Those
/// that cannot be values stay in the form.
bool FormReader::read_bytes(size_t size) {
  if (before_ == Before::point || before_ == Before::text) return false;
  const Bytes word = text_.substr(at_, size);
  const Bytes rest = text_.substr(at_);
  Value value;
  size_t taken = 0;
  if (!takes_value()) {
    const bool is_literal =
        word[0] == '_' || std::ranges::any_of(words_of_literals, [word](Bytes one) { return is_word(word, one); });
    if (writes_ || !is_literal || peek(size) != '\'') return false;
    const size_t rewritten = rewritten_.size();
    taken = sqldoor::read_text(rest.substr(size), rules_, rewritten_, value);
    if (taken == 0 || rewritten_.size() != rewritten) return false;
    take(size + taken);
    before_ = Before::text;
    return true;
  }
  if (is_word(word, "X") && peek(1) == '\'') {
    taken = read_hex_text(rest, rewritten_, value);
  } else if (is_word(word, "_BINARY") && (peek(size) == '\'' || !rules_.ansi_quotes)) {
    taken = sqldoor::read_text(rest.substr(size), rules_, rewritten_, value);
    value = Value::of_literal(value.bytes(), Value::Spelling::binary);
    if (taken != 0) taken += size;
  } else if (!writes_ && peek(size) == '\'') {
    taken = read_typed_text(rest, rules_, value);
  }
  if (taken == 0 || !replace(taken, value)) return false;
  before_ = Before::text;
  return true;
}

bool FormReader::read_text() {
  if (before_ == Before::text) return false;
  const size_t rewritten = rewritten_.size();
  Value value;
  const size_t size = sqldoor::read_text(text_.substr(at_), rules_, rewritten_, value);
  if (size == 0) return false;
  if (takes_value()) {
    if (!replace(size, value)) return false;
  } else {
    // Code that shows the form reads it, too, and does not handle escapes.
    if (rewritten_.size() != rewritten) return false;
    take(size);
  }
  before_ = Before::text;
  return true;
}

bool FormReader::read_number() {
  if (before_ == Before::point) return false;
  if (takes_value()) {
    Value value;
    const size_t size = sqldoor::read_number(text_.substr(at_), rewritten_, value);
    if (size == 0 || !replace(size, value)) return false;
    before_ = value.kind() == Value::Kind::bytes ? Before::text : Before::nothing_special;  // 0x41 may be one
    return true;
  }
  // Names may begin with digits, and 0x41 may be a text.
  const size_t size = size_of_number(text_.substr(at_));
  if (size == 0 || (writes_ && text_.substr(at_, size).find_first_not_of("0123456789") != Bytes::npos)) return false;
  take(size);
  before_ = Before::written;
  return true;
}

bool FormReader::read_minus() {
  if (peek(1) == '-') return false;  // the rest of the line may be a comment
  if (in_tail_ && before_ == Before::wants_value && kind(peek(1)) == Char::digit) return read_number();
  before_ = writes_ ? Before::wants_value : Before::nothing_special;
  take(1);
  return true;
}

/// A user's variable, where a value may be: it stays in the form. @@ is the server's.
bool FormReader::read_variable() {
  if (!in_tail_ || before_ != Before::wants_value) return false;
  size_t size = 1;
  while (is_part_of_word(peek(size))) {
    if (static_cast<uint8_t>(peek(size)) >= 0x80) return false;
    ++size;
  }
  if (size == 1 || peek(size) == '.') return false;
  take(size);
  before_ = Before::nothing_special;
  return true;
}

/// The server drops what ends a text: semicolons and blanks.
bool FormReader::read_semicolon() {
  for (size_t i = at_; i < text_.size(); ++i) {
    if (text_[i] != ';' && kind(text_[i]) != Char::blank) return false;
  }
  skip(text_.size() - at_);
  return true;
}

/// Puts a ? in place of a literal.
bool FormReader::replace(size_t size, Value value) {
  if (values_.size() == NormalText::values_max) return false;
  values_.push_back(value);
  put('?');
  skip(size);
  return true;
}

bool NormalText::read(Bytes text, TextRules rules) {
  if (form_ == nullptr) form_ = std::make_unique_for_overwrite<char[]>(text_bytes_max);
  FormReader reader(*this, text, rules);
  if (!reader.run()) return false;
  size_ = reader.form_size();
  hash_ = hash_of(form());
  facts_ = {.kind = hash_ | 1, .changes = reader.changes(), .of_rows = reader.is_of_rows()};
  return true;
}

}  // namespace postern::sqldoor
