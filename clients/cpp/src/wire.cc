#include "wire.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace handlersocket {
namespace {

constexpr char escape = 0x01, shift = 0x40, null_byte = 0x00;
/// Bytes below this are escaped.
constexpr unsigned char plain_from = 0x10;
/// More than any number has, a shortest double included.
constexpr size_t digits_max = 32;

template <class T>
void put_digits(std::string &out, T number) {
  char digits[digits_max];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

bool is_plain(char byte) {
  return static_cast<unsigned char>(byte) >= plain_from;
}

void put_name(std::string &out, std::string_view name) {
  if (name.find_first_of(",`") == std::string_view::npos) {
    out += name;
    return;
  }
  out += '`';
  for (const char byte : name) {
    if (byte == '`') out += '`';
    out += byte;
  }
  out += '`';
}

void put_names(std::string &out, const std::vector<std::string> &names) {
  const char *comma = "";
  for (const std::string &name : names) {
    out += comma;
    put_name(out, name);
    comma = ",";
  }
}

/// A few short things that are appended together: appending to a string costs more than writing a byte.
class Short {
 public:
  static constexpr size_t operation_bytes_max = 16;

  void put(char byte) { *end_++ = byte; }
  void put(std::string_view operation) { end_ = std::copy(operation.begin(), operation.end(), end_); }
  template <class T>
  void put_digits(T number) {
    end_ = std::to_chars(end_, end_ + digits_max, number).ptr;
  }
  std::string_view bytes() const { return {bytes_, static_cast<size_t>(end_ - bytes_)}; }

 private:
  char bytes_[3 * digits_max + operation_bytes_max + 8];
  char *end_ = bytes_;
};

/// Takes the token at the begin of a line, a number below 2^64 in decimal digits and nothing else, and the tab after
/// it. `more`: there was one.
bool take_number(std::string_view &line, uint64_t &number, bool &more) {
  const char *const end = line.data() + line.size();
  const auto [stop, failure] = std::from_chars(line.data(), end, number);
  more = stop != end;
  if (failure != std::errc{} || (more && *stop != '\t')) return false;
  line.remove_prefix(static_cast<size_t>(stop - line.data()) + (more ? 1 : 0));
  return true;
}

/// Unescapes in place; the new end, or nullptr if an escape is malformed.
char *unescape(char *from, char *end) {
  char *to = std::find(from, end, escape);
  for (from = to; from != end; ++from) {
    if (*from != escape) {
      *to++ = *from;
      continue;
    }
    if (++from == end || static_cast<unsigned char>(*from) < static_cast<unsigned char>(shift)) return nullptr;
    *to++ = static_cast<char>(*from - shift);
  }
  return to;
}

}  // namespace

void put_number(std::string &out, uint64_t number) {
  put_digits(out, number);
}

void put_bytes(std::string &out, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto stop = std::find_if_not(bytes.begin(), bytes.end(), is_plain);
    const auto plain = static_cast<size_t>(stop - bytes.begin());
    out.append(bytes.substr(0, plain));
    if (stop == bytes.end()) return;
    out += escape;
    out += static_cast<char>(*stop + shift);
    bytes.remove_prefix(plain + 1);
  }
}

void put_value(std::string &out, const Value &value) {
  switch (value.kind()) {
    case Value::Kind::null: out += null_byte; break;
    case Value::Kind::bytes: put_bytes(out, value.bytes()); break;
    case Value::Kind::integer: put_digits(out, value.integer()); break;
    case Value::Kind::natural: put_digits(out, value.natural()); break;
    case Value::Kind::fraction: put_digits(out, value.fraction()); break;
  }
}

void put_values(std::string &out, Values values) {
  for (const Value &value : values) {
    out += '\t';
    put_value(out, value);
  }
}

bool sendable(std::string_view token) {
  return token.find_first_of(std::string_view("\t\n\r\0", 4)) == std::string_view::npos;
}

bool sendable(const IndexSpec &spec) {
  const auto good = [](const std::string &name) { return sendable(std::string_view(name)); };
  return good(spec.database) && good(spec.table) && good(spec.index) &&
         std::all_of(spec.columns.begin(), spec.columns.end(), good) &&
         std::all_of(spec.filter_columns.begin(), spec.filter_columns.end(), good);
}

bool sendable(const Where &where) {
  return sendable(where.operation) && std::all_of(where.filters.begin(), where.filters.end(),
                                                  [](const Filter &filter) { return sendable(filter.operation); });
}

void put_open(std::string &out, uint32_t id, const IndexSpec &spec) {
  out += "P\t";
  put_number(out, id);
  for (const std::string *name : {&spec.database, &spec.table, &spec.index}) {
    out += '\t';
    out += *name;
  }
  out += '\t';
  put_names(out, spec.columns);
  if (spec.filter_columns.empty()) return;
  out += '\t';
  put_names(out, spec.filter_columns);
}

void put_where(std::string &out, uint32_t id, Values key, const Where &where, bool always) {
  Short head;
  head.put_digits(id);
  head.put('\t');
  if (where.operation.size() <= Short::operation_bytes_max) {
    head.put(where.operation);
  } else {
    out += head.bytes();
    out += where.operation;
    head = {};
  }
  head.put('\t');
  head.put_digits(key.size());
  const Value::Kind kind = key.size() == 1 ? key[0].kind() : Value::Kind::bytes;
  const bool one_number = kind == Value::Kind::integer || kind == Value::Kind::natural;
  if (one_number) {
    head.put('\t');
    kind == Value::Kind::integer ? head.put_digits(key[0].integer()) : head.put_digits(key[0].natural());
  }
  out += head.bytes();
  if (!one_number) put_values(out, key);
  if (!always && where.limit == 1 && where.offset == 0 && !where.in && where.filters.empty()) return;
  out += '\t';
  put_number(out, where.limit);
  out += '\t';
  put_number(out, where.offset);
  if (where.in) {
    out += "\t@\t";
    put_number(out, where.in->part);
    out += '\t';
    put_number(out, where.in->values.size());
    put_values(out, where.in->values);
  }
  for (const Filter &filter : where.filters) {
    out += filter.ends ? "\tW\t" : "\tF\t";
    out += filter.operation;
    out += '\t';
    put_number(out, filter.column);
    out += '\t';
    put_value(out, filter.value);
  }
}

bool ReplyParser::parse_error(std::string_view words, uint64_t code, Reply &reply) {
  reply.error = Error{Error::Kind::refused, static_cast<unsigned>(code), {}};
  const size_t tab = words.find('\t');
  if (tab == std::string_view::npos) return true;
  std::string &text = reply.error->text;
  text = words.substr(tab + 1);
  text.resize(std::min(text.size(), text.find('\t')));
  const char *const end = unescape(text.data(), text.data() + text.size());
  if (end != nullptr) text.resize(static_cast<size_t>(end - text.data()));
  return end != nullptr;
}

bool ReplyParser::take_cells(std::string_view cells, Rows &rows) {
  rows.bytes_.assign(cells);
  const bool escapes = std::memchr(cells.data(), escape, cells.size()) != nullptr;
  char *const base = rows.bytes_.data(), *const end = base + cells.size();
  for (char *begin = base;; ++begin) {
    auto *stop = static_cast<char *>(std::memchr(begin, '\t', static_cast<size_t>(end - begin)));
    if (stop == nullptr) stop = end;
    const char *const last = escapes ? unescape(begin, stop) : stop;
    if (last == nullptr) return false;
    const bool is_null = stop - begin == 1 && *begin == null_byte;
    rows.cells_.push_back(
        {static_cast<size_t>(begin - base), is_null ? Rows::null : static_cast<size_t>(last - begin)});
    if (stop == end) return true;
    begin = stop;
  }
}

bool ReplyParser::parse(std::string_view line, Answer answer, std::optional<size_t> columns, Reply &reply) {
  Rows &rows = reply.rows;
  reply.error.reset();
  reply.id.reset();
  reply.count = 0;
  rows.cells_.clear();
  rows.columns_ = 0;

  std::string_view rest = line;
  uint64_t code = 0, told = 0;
  bool more = false;
  if (!take_number(rest, code, more) || code > UINT32_MAX) return false;
  if (code != 0) return parse_error(rest, code, reply);
  if (!more || !take_number(rest, told, more)) return false;

  switch (answer) {
    case Answer::done: return told == 1 && !more;
    case Answer::count: return told == 1 && more && take_number(rest, reply.count, more) && !more;
    case Answer::id:
      if (told != 1 || !more) return told == 1;
      return take_number(rest, reply.id.emplace(), more) && !more;
    case Answer::rows:
      if (columns != told) return false;
      break;
    case Answer::any: break;
  }
  rows.columns_ = told;
  if (!more) return true;
  return take_cells(rest, rows) && told != 0 && rows.cells_.size() % told == 0;
}

}  // namespace handlersocket
