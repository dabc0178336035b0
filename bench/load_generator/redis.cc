// Redis' protocol, RESP 2. Keys and values as in memcached.cc; or hashes with the columns of a row as fields.
#include "protocol.h"

namespace postern::bench {
namespace {

constexpr Bytes line_end = "\r\n";

class Redis final : public Protocol {
 public:
  Redis(const Plan &plan, RedisRows rows)
      : table_(plan.shape.table),
        rows_(rows),
        columns_(columns_of(table_)),
        prefix_(rows == RedisRows::strings ? key_prefix(table_) : "row:") {}
  bool begin(Talk &, Use, Opened &, std::string &) override { return true; }

  void ask(const Request &request, const Opened &, std::string &out) override {
    switch (request.kind) {
      case Kind::find: ask_find(request.key, out); break;
      case Kind::multi:
        head(request.keys.size() + 1, "MGET", out);
        for (const uint64_t key : request.keys) put_key(prefix_, key, out);
        break;
      case Kind::increment:
        head(2, "INCR", out);
        put_key("count:", request.key, out);
        break;
      case Kind::update:
      case Kind::insert: ask_write(request, out); break;
      case Kind::zero:
        head(3, "SET", out);
        put_key("count:", request.key, out);
        put_string("0", out);
        break;
      case Kind::scan: out += line_end; break;  // its keys have no order
    }
  }

  Heard hear(Bytes received, const Request &request) override {
    const char *const begin = received.data();
    Bytes line;
    if (!take_line(received, line)) return {};
    bool right = false;
    switch (line.empty() ? '\0' : line[0]) {
      case '-': return {Verdict::refused, static_cast<size_t>(received.data() - begin)};
      case ':':
        right = request.kind == Kind::increment || (is_write(request.kind) && rows_ != RedisRows::strings);
        break;
      case '+': right = is_write(request.kind) && request.kind != Kind::increment && line == "+OK"; break;
      case '$':
        right = request.kind == Kind::find;
        if (!take_value(received, line, request.key, right)) return {};
        break;
      case '*': {
        if (rows_ != RedisRows::strings && request.kind == Kind::find) {
          if (!take_fields(received, line, request.key, right)) return {};
          break;
        }
        uint64_t count = 0;
        right = request.kind == Kind::multi && parse_natural(line.substr(1), count) && count == request.keys.size();
        for (uint64_t i = 0; right && i < count; ++i) {
          if (!take_line(received, line)) return {};
          if (!take_value(received, line, request.keys[i], right)) return {};
        }
        break;
      }
      default: break;
    }
    return {right ? Verdict::right : Verdict::wrong, static_cast<size_t>(received.data() - begin)};
  }

 private:
  void ask_find(uint64_t key, std::string &out) {
    switch (rows_) {
      case RedisRows::strings: head(2, "GET", out); break;
      case RedisRows::whole_hashes: head(2, "HGETALL", out); break;
      case RedisRows::fields: head(2 + columns_.size(), "HMGET", out); break;
    }
    put_key(prefix_, key, out);
    if (rows_ == RedisRows::fields)
      for (const std::string &column : columns_) put_string(column, out);
  }
  void ask_write(const Request &request, std::string &out) {
    text_.clear();
    put_row(text_, table_, request.key, request.version, '\t');
    const std::string row = text_;
    if (rows_ == RedisRows::strings) {
      head(3, "SET", out);
      put_key(prefix_, request.key, out);
      return put_string(row, out);
    }
    head(2 + 2 * columns_.size(), "HSET", out);
    put_key(prefix_, request.key, out);
    size_t at = 0;
    for (const std::string &column : columns_) {
      const size_t end = std::min(row.find('\t', at), row.size());
      put_string(column, out);
      put_string(Bytes(row).substr(at, end - at), out);
      at = end + 1;
    }
  }

  static void head(size_t words, Bytes command, std::string &out) {
    out += '*';
    put_number(out, words);
    out += line_end;
    put_string(command, out);
  }
  static void put_string(Bytes text, std::string &out) {
    out += '$';
    put_number(out, text.size());
    out += line_end;
    out += text;
    out += line_end;
  }
  void put_key(Bytes prefix, uint64_t key, std::string &out) {
    text_ = prefix;
    put_number(text_, key);
    put_string(text_, out);
  }

  static bool take_line(Bytes &received, Bytes &line) {
    const size_t end = received.find(line_end);
    if (end == Bytes::npos) return false;
    line = received.substr(0, end);
    received.remove_prefix(end + line_end.size());
    return true;
  }
  /// Reads the string that `$SIZE` announces; false if it is incomplete. A null string (`$-1`) is wrong.
  bool take_value(Bytes &received, Bytes line, uint64_t key, bool &right) const {
    uint64_t size = 0;
    if (!line.starts_with("$") || !parse_natural(line.substr(1), size)) {
      right = false;
      return true;
    }
    if (received.size() < size + line_end.size()) return false;
    right = right && is_row(received.substr(0, size), table_, key, '\t');
    received.remove_prefix(size + line_end.size());
    return true;
  }

  /// Reads the fields that `line` announces; false if they are incomplete. A door sends a row's columns in their order,
  /// and so does Redis if they were written in it.
  bool take_fields(Bytes &received, Bytes line, uint64_t key, bool &right) const {
    const size_t each = rows_ == RedisRows::whole_hashes ? 2 : 1;
    uint64_t count = 0;
    right = parse_natural(line.substr(1), count) && count == each * columns_.size();
    for (size_t i = 0; i < count; ++i) {
      uint64_t size = 0;
      if (!take_line(received, line)) return false;
      if (!line.starts_with("$") || !parse_natural(line.substr(1), size)) {
        right = false;
        continue;
      }
      if (received.size() < size + line_end.size()) return false;
      const Bytes text = received.substr(0, size);
      received.remove_prefix(size + line_end.size());
      const size_t column = i / each;
      right = right && (each == 2 && i % 2 == 0 ? text == columns_[column] : is_cell(text, table_, column, key));
    }
    return true;
  }

  const Table table_;
  const RedisRows rows_;
  const std::vector<std::string> columns_;
  const std::string prefix_;
  std::string text_{};
};

}  // namespace

std::unique_ptr<Protocol> make_redis(const Plan &plan, RedisRows rows) {
  return std::make_unique<Redis>(plan, rows);
}

}  // namespace postern::bench
