// Redis' protocol, RESP 2. Keys and values as in memcached.cc.
#include "protocol.h"

namespace postern::bench {
namespace {

constexpr Bytes line_end = "\r\n";

class Redis final : public Protocol {
 public:
  explicit Redis(const Plan &plan) : table_(plan.shape.table), prefix_(key_prefix(table_)) {}
  bool begin(Talk &, Use, Opened &, std::string &) override { return true; }

  void ask(const Request &request, const Opened &, std::string &out) override {
    switch (request.kind) {
      case Kind::find:
        head(2, "GET", out);
        put_key(prefix_, request.key, out);
        break;
      case Kind::multi:
        head(request.keys.size() + 1, "MGET", out);
        for (const uint64_t key : request.keys) put_key(prefix_, key, out);
        break;
      case Kind::increment:
        head(2, "INCR", out);
        put_key("count:", request.key, out);
        break;
      case Kind::update:
      case Kind::insert:
        head(3, "SET", out);
        put_key(prefix_, request.key, out);
        text_.clear();
        put_row(text_, table_, request.key, request.version, '\t');
        put_string(text_, out);
        break;
      case Kind::zero:
        head(3, "SET", out);
        put_key("count:", request.key, out);
        put_string("0", out);
        break;
      case Kind::scan: out += line_end; break;  // there is no order among its keys
    }
  }

  Heard hear(Bytes received, const Request &request) override {
    const char *const begin = received.data();
    Bytes line;
    if (!take_line(received, line)) return {};
    bool right = false;
    switch (line.empty() ? '\0' : line[0]) {
      case '-': return {Verdict::refused, static_cast<size_t>(received.data() - begin)};
      case ':': right = request.kind == Kind::increment; break;
      case '+': right = is_write(request.kind) && request.kind != Kind::increment && line == "+OK"; break;
      case '$':
        right = request.kind == Kind::find;
        if (!take_value(received, line, request.key, right)) return {};
        break;
      case '*': {
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
  /// The string that `$SIZE` announces; false if it is not complete. No string (`$-1`) is not right.
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

  const Table table_;
  const std::string prefix_;
  std::string text_{};
};

}  // namespace

std::unique_ptr<Protocol> make_redis(const Plan &plan) {
  return std::make_unique<Redis>(plan);
}

}  // namespace postern::bench
