#include "redis/wire/request_parser.h"

#include <algorithm>

#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

bool is_blank(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/// As in Redis, where more characters separate arguments than end one.
bool ends_argument(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\0';
}

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

/// The arguments of an inline line, one after the other.
class Splitter {
 public:
  Splitter(Bytes line, Arena &arena) : left_(line), arena_(arena) {}

  /// False: there is no further argument, or the line is malformed.
  bool next(Bytes &argument) {
    while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
    if (left_.empty() || left_.front() == '\0') return false;
    const size_t size = std::min(left_.size(), std::min(left_.find_first_of(" \t\n\r\"'"), left_.find('\0')));
    if (size == left_.size() || (left_[size] != '"' && left_[size] != '\'')) {
      argument = left_.substr(0, size);
      left_.remove_prefix(size);
      return true;
    }
    return take_quoted(argument);
  }
  bool malformed() const { return malformed_; }

 private:
  /// An argument that is partly or wholly in quotes.
  bool take_quoted(Bytes &argument) {
    const std::span<char> room = arena_.array<char>(left_.size());
    size_t size = 0;
    while (!left_.empty() && !ends_argument(left_.front())) {
      const char quote = left_.front();
      if (quote != '"' && quote != '\'') {
        room[size++] = take();
        continue;
      }
      take();
      while (!left_.empty() && left_.front() != quote) room[size++] = quote == '"' ? take_escaped() : take_literal();
      malformed_ = left_.empty();
      if (malformed_) return false;
      take();
      malformed_ = !left_.empty() && !is_blank(left_.front()) && left_.front() != '\0';
      if (malformed_) return false;
      break;  // bytes after a closing quote are another argument
    }
    argument = {room.data(), size};
    return true;
  }

  char take() {
    const char byte = left_.front();
    left_.remove_prefix(1);
    return byte;
  }
  char take_literal() {
    if (left_.starts_with("\\'")) left_.remove_prefix(1);
    return take();
  }
  char take_escaped() {
    const char byte = take();
    if (byte != '\\' || left_.empty()) return byte;
    const char escaped = take();
    switch (escaped) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'b': return '\b';
      case 'a': return '\a';
      case 'x': {
        const int high = left_.size() >= 2 ? hex_digit(left_[0]) : -1;
        const int low = left_.size() >= 2 ? hex_digit(left_[1]) : -1;
        if (high < 0 || low < 0) return escaped;
        left_.remove_prefix(2);
        return static_cast<char>(high * 16 + low);
      }
      default: return escaped;
    }
  }

  Bytes left_;
  Arena &arena_;
  bool malformed_ = false;
};

/// The line that begins at `at`, without its end CR LF. The byte after CR is not checked, as in Redis. False:
/// incomplete.
bool line_at(Bytes bytes, size_t at, Bytes &line) {
  const Bytes rest = bytes.substr(at);
  const size_t end = rest.substr(0, line_bytes_max + 1).find('\r');
  if (end == Bytes::npos || end + 2 > rest.size()) return false;
  line = rest.substr(0, end);
  return true;
}

/// Parses the number at `at` if it has one to four digits before the line end; returns their number. 0: it does not, or
/// too few bytes have come to decide.
size_t short_number_at(Bytes bytes, size_t at, int64_t &number) {
  constexpr size_t digits_max = 4;
  if (bytes.size() < at + digits_max + 2) return 0;
  const char *const line = bytes.data() + at;
  const auto digit = [line](size_t i) { return static_cast<unsigned char>(line[i] - '0'); };
  if (digit(0) > 9) return 0;
  number = digit(0);
  size_t size = 1;
  for (; number != 0 && size < digits_max && digit(size) <= 9; ++size) number = number * 10 + digit(size);
  return line[size] == '\r' ? size : 0;
}

/// The maximum of arguments on the fast path.
constexpr size_t cuts_max = 8;
/// Like Bytes, but not initialised: most elements of an array are never used.
struct Cut {
  const char *data;
  size_t size;
};

/// Fast path: cuts a complete request with few, short arguments, as nearly all are. Returns the bytes consumed; 0 if
/// the slow path has to parse it.
size_t cut_at_once(Bytes bytes, const Bounds &bounds, Cut *cuts, size_t &count) {
  int64_t number = 0;
  size_t digits = short_number_at(bytes, 1, number);
  if (digits == 0 || bounds.stranger) return 0;
  count = static_cast<size_t>(number);
  if (count - 1 >= std::min(cuts_max, bounds.arguments_max)) return 0;
  size_t at = 1 + digits + 2;
  for (size_t i = 0; i < count; ++i) {
    if (at >= bytes.size() || bytes[at] != '$') return 0;
    digits = short_number_at(bytes, at + 1, number);
    if (digits == 0) return 0;
    const size_t size = static_cast<size_t>(number);
    const size_t begin = at + 1 + digits + 2;
    at = begin + size + 2;
    if (size > bounds.argument_bytes_max || at > bytes.size()) return 0;
    cuts[i] = {bytes.data() + begin, size};
  }
  return at > bounds.request_bytes_max ? 0 : at;
}

enum class Line : uint8_t { number, endless, other };

/// The line that begins at `at`: one byte, and a number after it. `size` is without the line's end.
Line number_line_at(Bytes bytes, size_t at, int64_t &number, size_t &size) {
  // As nearly all are.
  if (const size_t digits = short_number_at(bytes, at + 1, number); digits != 0) {
    size = 1 + digits;
    return Line::number;
  }
  Bytes line;
  if (!line_at(bytes, at, line)) return Line::endless;
  size = line.size();
  return parse_integer(line.substr(1), number) ? Line::number : Line::other;
}

}  // namespace

Parsed RequestParser::take(std::span<const char> span, const Bounds &bounds, Arena &arena) {
  const Bytes bytes(span.data(), span.size());
  if (bytes.empty()) return Parsed::need_more;
  if (count_ == 0) {
    if (bytes.front() != '*') return take_inline(bytes, arena);
    Cut cuts[cuts_max];
    size_t count = 0;
    if (const size_t size = cut_at_once(bytes, bounds, cuts, count); size != 0) {
      const std::span<Bytes> list = arena.array<Bytes>(count);
      for (size_t i = 0; i < count; ++i) list[i] = {cuts[i].data, cuts[i].size};
      arguments_ = list;
      consumed_ = size;
      return Parsed::request;
    }
    const Parsed begun = begin_array(bytes, bounds);
    if (begun != Parsed::request) return begun;
  }
  return take_arguments(bytes, bounds, arena);
}

Parsed RequestParser::fail(Bytes error) {
  error_ = error;
  count_ = 0;
  return Parsed::broken;
}

Parsed RequestParser::take_inline(Bytes bytes, Arena &arena) {
  const size_t end = bytes.substr(0, line_bytes_max + 1).find('\n');
  if (end == Bytes::npos)
    return bytes.size() > line_bytes_max ? fail("Protocol error: too big inline request") : Parsed::need_more;
  Bytes line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  size_t count = 0;
  Bytes argument;
  Splitter counter(line, arena);
  while (counter.next(argument)) ++count;
  if (counter.malformed()) return fail("Protocol error: unbalanced quotes in request");
  consumed_ = end + 1;
  if (count == 0) return Parsed::nothing;
  const std::span<Bytes> list = arena.array<Bytes>(count);
  Splitter splitter(line, arena);
  for (Bytes &one : list) splitter.next(one);
  arguments_ = list;
  return Parsed::request;
}

/// Reads the count of an array. `request`: there are arguments to come.
Parsed RequestParser::begin_array(Bytes bytes, const Bounds &bounds) {
  int64_t count = 0;
  size_t line_bytes = 0;
  const Line line = number_line_at(bytes, 0, count, line_bytes);
  if (line == Line::endless)
    return bytes.size() > line_bytes_max + 1 ? fail("Protocol error: too big mbulk count string") : Parsed::need_more;
  if (line == Line::other || count > static_cast<int64_t>(bounds.arguments_max))
    return fail("Protocol error: invalid multibulk length");
  if (bounds.stranger && count > static_cast<int64_t>(stranger_arguments_max))
    return fail("Protocol error: unauthenticated multibulk length");
  consumed_ = at_ = line_bytes + 2;
  if (count <= 0) return Parsed::nothing;
  count_ = static_cast<uint32_t>(count);
  seen_ = 0;
  return Parsed::request;
}

Parsed RequestParser::take_arguments(Bytes bytes, const Bounds &bounds, Arena &arena) {
  Bytes first[first_max];
  const uint32_t seen_before = seen_;
  for (; seen_ < count_; ++seen_) {
    if (at_ >= bytes.size()) return Parsed::need_more;
    if (const char byte = bytes[at_]; byte != '$') {
      char text[] = "Protocol error: expected '$', got '?'";
      text[sizeof text - 3] = byte;
      return fail(arena.copy({text, sizeof text - 1}));
    }
    int64_t size = 0;
    size_t line_bytes = 0;
    const Line line = number_line_at(bytes, at_, size, line_bytes);
    if (line == Line::endless)
      return bytes.size() - at_ > line_bytes_max + 1 ? fail("Protocol error: too big bulk count string")
                                                     : Parsed::need_more;
    if (line == Line::other || size < 0 || size > static_cast<int64_t>(bounds.argument_bytes_max))
      return fail("Protocol error: invalid bulk length");
    if (bounds.stranger && size > static_cast<int64_t>(stranger_argument_bytes_max))
      return fail("Protocol error: unauthenticated bulk length");
    const size_t begin = at_ + line_bytes + 2;
    const size_t end = begin + static_cast<size_t>(size) + 2;
    if (end > bounds.request_bytes_max) return fail("Protocol error: too big request");
    if (end > bytes.size()) return Parsed::need_more;
    if (seen_ < first_max) first[seen_] = bytes.substr(begin, static_cast<size_t>(size));
    at_ = end;
  }
  if (seen_before == 0 && count_ <= first_max) {
    const std::span<Bytes> list = arena.array<Bytes>(count_);
    std::copy_n(first, count_, list.begin());
    arguments_ = list;
  } else {
    list_arguments(bytes, arena);
  }
  consumed_ = at_;
  count_ = 0;
  return Parsed::request;
}

/// All arguments are complete and were checked before.
void RequestParser::list_arguments(Bytes bytes, Arena &arena) {
  const std::span<Bytes> list = arena.array<Bytes>(count_);
  Bytes line;
  line_at(bytes, 0, line);
  size_t at = line.size() + 2;
  for (Bytes &one : list) {
    line_at(bytes, at, line);
    int64_t size = 0;
    (void)parse_integer(line.substr(1), size);
    one = bytes.substr(at + line.size() + 2, static_cast<size_t>(size));
    at += line.size() + 2 + one.size() + 2;
  }
  arguments_ = list;
}

}  // namespace postern::redis
