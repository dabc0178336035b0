// memcached's text protocol, classic and meta. Rows are values under `user:KEY`, as `name TAB email TAB created`, or
// under their table's name; counters are numbers under `count:KEY`. Over a container of a table the key is the row's
// own, and separators are between the cells.
#include "protocol.h"

namespace postern::bench {
namespace {

constexpr Bytes line_end = "\r\n";

/// Cuts off the first line; false if it is incomplete.
bool first_line(Bytes received, Bytes &line) {
  const size_t end = received.find(line_end);
  if (end == Bytes::npos) return false;
  line = received.substr(0, end);
  return true;
}

Heard as(bool right, size_t bytes) {
  return {right ? Verdict::right : Verdict::wrong, bytes};
}

/// Errors as memcached sends them; any other unexpected line is a wrong answer.
bool is_error(Bytes line) {
  return line == "ERROR" || line.starts_with("SERVER_ERROR") || line.starts_with("CLIENT_ERROR");
}

bool is_number(Bytes text) {
  uint64_t number = 0;
  return parse_natural(text, number);
}

class Store : public Protocol {
 public:
  /// Without a container the server is a store without tables.
  explicit Store(const Plan &plan, Bytes container = {})
      : prefix_(container.empty() ? key_prefix(plan.shape.table) : ""),
        table_(plan.shape.table),
        between_(container.empty() ? '\t' : '|'),
        counter_prefix_(container.empty() ? "count:" : ""),
        container_(container) {}

  bool begin(Talk &talk, Use use, Opened &, std::string &error) override {
    if (container_.empty() || !(use.reads || use.writes)) return true;
    const std::string name = "@@" + container_;
    bool there = talk.send("get " + name + "\r\n");
    while (there && !talk.received().ends_with("END\r\n") && !is_error(talk.received())) there = talk.read_more();
    const std::string answer(talk.received());
    talk.drop(answer.size());
    if (answer.starts_with("VALUE " + name + " ")) return true;
    error = answer.empty() ? "the connection was closed" : "no container " + container_ + ": " + answer;
    return false;
  }

  Heard hear(Bytes received, const Request &request) final {
    Bytes line;
    if (!first_line(received, line)) return {};
    if (is_error(line)) return {Verdict::refused, line.size() + line_end.size()};
    return hear_after(line, received, request);
  }

 protected:
  void put_key(std::string &out, uint64_t key) const {
    out += prefix_;
    put_number(out, key);
  }
  void put_counter(std::string &out, uint64_t key) const {
    out += counter_prefix_;
    put_number(out, key);
  }
  /// The command, the key, what stands `before_size`, and the value but for its line end.
  void put_item(std::string &out, Bytes command, const Request &request, Bytes before_size) {
    out += command;
    request.kind == Kind::zero ? put_counter(out, request.key) : put_key(out, request.key);
    const Bytes value = body(request);
    out += before_size;
    put_number(out, value.size());
    out += line_end;
    out += value;
  }
  /// Parses the answer after its first `line`, which is not an error.
  virtual Heard hear_after(Bytes line, Bytes received, const Request &request) const = 0;
  /// Takes the value of a row off the front; false if it is incomplete.
  bool take_value(Bytes &received, size_t size, uint64_t key, bool &right) const {
    if (received.size() < size + line_end.size()) return false;
    right = right && is_row(received.substr(0, size), table_, key, between_);
    received.remove_prefix(size + line_end.size());
    return true;
  }

  const std::string prefix_;

 private:
  /// The value that a write stores.
  Bytes body(const Request &request) {
    body_.clear();
    if (request.kind == Kind::zero) return "0";
    put_row(body_, table_, request.key, request.version, between_);
    return body_;
  }

  const Table table_;
  const char between_;
  const std::string counter_prefix_;
  const std::string container_;
  std::string body_{};
};

class Text final : public Store {
 public:
  explicit Text(const Plan &plan, Bytes container = {}) : Store(plan, container), head_("VALUE " + prefix_) {}

  void ask(const Request &request, const Opened &, std::string &out) override {
    switch (request.kind) {
      case Kind::find:
        out += "get ";
        put_key(out, request.key);
        break;
      case Kind::multi:
        out += "get";
        for (const uint64_t key : request.keys) {
          out += ' ';
          put_key(out, key);
        }
        break;
      case Kind::increment:
        out += "incr ";
        put_counter(out, request.key);
        out += " 1";
        break;
      case Kind::update:
      case Kind::insert:
      case Kind::zero: put_item(out, "set ", request, " 0 0 "); break;
      case Kind::scan: break;  // its keys have no order
    }
    out += line_end;
  }

  Heard hear_after(Bytes line, Bytes received, const Request &request) const override {
    const size_t bytes = line.size() + line_end.size();
    switch (request.kind) {
      case Kind::find: return values(received, &request.key, 1);
      case Kind::multi: return values(received, request.keys.data(), request.keys.size());
      case Kind::increment: return as(is_number(line), bytes);
      case Kind::update:
      case Kind::insert:
      case Kind::zero: return as(line == "STORED", bytes);
      case Kind::scan: break;
    }
    return as(false, bytes);
  }

 private:
  /// `VALUE user:KEY 0 SIZE`, the value, ... `END`; values come in the order of the request.
  Heard values(Bytes received, const uint64_t *key, size_t count) const {
    const char *const begin = received.data();
    bool right = true;
    for (size_t i = 0;; ++i) {
      Bytes line;
      if (!first_line(received, line)) return {};
      received.remove_prefix(line.size() + line_end.size());
      if (line == "END") return as(right && i == count, static_cast<size_t>(received.data() - begin));
      uint64_t size = 0;
      if (!line.starts_with(head_) || !parse_natural(line.substr(line.rfind(' ') + 1), size) || i >= count)
        return as(false, static_cast<size_t>(received.data() - begin));
      if (!take_value(received, size, key[i], right)) return {};
    }
  }

  const std::string head_;
};

class Meta final : public Store {
 public:
  using Store::Store;

  void ask(const Request &request, const Opened &, std::string &out) override {
    switch (request.kind) {
      case Kind::find: get(request.key, " v\r\n", out); break;
      case Kind::multi:
        // As memcached's documentation recommends: quiet gets, which answer only hits, and a no-op that marks the end.
        for (const uint64_t key : request.keys) get(key, " v q\r\n", out);
        out += "mn\r\n";
        break;
      case Kind::increment:
        out += "ma ";
        put_counter(out, request.key);
        out += line_end;
        break;
      case Kind::update:
      case Kind::insert:
      case Kind::zero:
        put_item(out, "ms ", request, " ");
        out += line_end;
        break;
      case Kind::scan: out += line_end; break;
    }
  }

  Heard hear_after(Bytes line, Bytes received, const Request &request) const override {
    const size_t bytes = line.size() + line_end.size();
    switch (request.kind) {
      case Kind::find: return values(received, &request.key, 1, false);
      case Kind::multi: return values(received, request.keys.data(), request.keys.size(), true);
      case Kind::increment:
      case Kind::update:
      case Kind::insert:
      case Kind::zero: return as(line == "HD", bytes);
      case Kind::scan: break;
    }
    return as(false, bytes);
  }

 private:
  void get(uint64_t key, Bytes flags, std::string &out) const {
    out += "mg ";
    put_key(out, key);
    out += flags;
  }

  /// `VA SIZE`, the value, ...; then `MN` if a no-op was sent.
  Heard values(Bytes received, const uint64_t *key, size_t count, bool marked) const {
    const char *const begin = received.data();
    const auto so_far = [&] { return static_cast<size_t>(received.data() - begin); };
    bool right = true;
    for (size_t i = 0; i < count || marked; ++i) {
      Bytes line;
      if (!first_line(received, line)) return {};
      received.remove_prefix(line.size() + line_end.size());
      if (line == "MN") return as(right && i == count, so_far());
      uint64_t size = 0;
      if (!line.starts_with("VA ") || !parse_natural(line.substr(3), size) || i >= count) return as(false, so_far());
      if (!take_value(received, size, key[i], right)) return {};
    }
    return as(right, so_far());
  }
};

}  // namespace

std::unique_ptr<Protocol> make_memcached(const Plan &plan) {
  return std::make_unique<Text>(plan);
}
std::unique_ptr<Protocol> make_memcached_container(const Plan &plan) {
  // A connection uses one container; incremented, inserted and updated rows have tables of their own.
  return std::make_unique<Text>(plan, plan.any(Kind::increment) ? Bytes("counter")
                                      : plan.any(Kind::insert)  ? Bytes("fresh")
                                      : plan.any(Kind::update)  ? Bytes("written")
                                                                : Bytes(plan.shape.table.name));
}
std::unique_ptr<Protocol> make_memcached_meta(const Plan &plan) {
  return std::make_unique<Meta>(plan);
}

}  // namespace postern::bench
