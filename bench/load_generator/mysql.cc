// The server's own protocol, by text (COM_QUERY) and by prepared statement (COM_STMT_EXECUTE), spoken here rather than
// through a client library so that one loop serves all protocols. It sends the requests of MariaDB's C client:
// the capabilities include the one that omits a prepared statement's column descriptions while they are unchanged.
#include <algorithm>

#include "protocol.h"

namespace postern::bench {
namespace {

constexpr size_t header_bytes = 4;
// Capabilities.
constexpr uint64_t found_rows = 0x2;  // an update returns the number of found rows, changed or not
constexpr uint64_t with_database = 0x8;
constexpr uint64_t protocol_41 = 0x200;
constexpr uint64_t transactions = 0x2000;
constexpr uint64_t secure = 0x8000;
constexpr uint64_t named_plugin = 0x80000;
constexpr uint32_t cache_metadata = 1 << 4;  // bit 36 of the capabilities, in MariaDB's half

uint64_t little(Bytes bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = 0; i < size && at + i < bytes.size(); ++i)
    number |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

void put_little(std::string &out, uint64_t number, size_t size) {
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(number >> (8 * i));
}

/// Takes one packet off `bytes`; false if it is incomplete.
bool take_packet(Bytes &bytes, Bytes &packet) {
  if (bytes.size() < header_bytes) return false;
  const size_t size = little(bytes, 0, 3);
  if (bytes.size() < header_bytes + size) return false;
  packet = bytes.substr(header_bytes, size);
  bytes.remove_prefix(header_bytes + size);
  return true;
}

unsigned char first_of(Bytes packet) {
  return packet.empty() ? 0 : static_cast<unsigned char>(packet[0]);
}
bool is_error(Bytes packet) {
  return first_of(packet) == 0xff;
}
bool is_end(Bytes packet) {
  return first_of(packet) == 0xfe && packet.size() < 9;
}

/// Takes a length-encoded number; NULL (0xfb) and a missing one are 0.
uint64_t take_number(Bytes &packet) {
  const unsigned char first = first_of(packet);
  const size_t size = first < 0xfb ? 0 : first == 0xfc ? 2 : first == 0xfd ? 3 : first == 0xfe ? 8 : 0;
  const uint64_t number = first < 0xfb ? first : little(packet, 1, size);
  packet.remove_prefix(std::min(packet.size(), 1 + size));
  return number;
}
Bytes take_string(Bytes &packet) {
  const uint64_t size = take_number(packet);
  const Bytes text = packet.substr(0, size);
  packet.remove_prefix(text.size());
  return text;
}

class Sql : public Protocol {
 public:
  explicit Sql(const Plan &plan)
      : plan_(plan),
        columns_(columns_of(plan.shape.table).size()),
        created_column_(plan.shape.table.cells == Cells::user ? 2 : SIZE_MAX),
        select_("SELECT " + joined(columns_of(plan.shape.table)) + " FROM " + plan.shape.table.name +
                " WHERE user_id") {}

  bool begin(Talk &talk, Use use, Opened &opened, std::string &error) override {
    std::string text;
    if (!next(talk, text)) return closed(error);
    const uint32_t extended = greeting_of(text);
    metadata_flag_ = (extended & cache_metadata) != 0;
    std::string login;
    put_little(login, found_rows | with_database | protocol_41 | transactions | secure | named_plugin, 4);
    put_little(login, 1 << 24, 4);
    login += '\x2d';  // utf8mb4_general_ci
    login.append(19, '\0');
    put_little(login, extended & cache_metadata, 4);
    login += "root";
    login.append(2, '\0');  // no password
    login += "test";
    login += '\0';
    login += method_of(text);  // an empty password is empty by any method of the server's own
    login += '\0';
    if (!talk.send(framed(login, 1)) || !next(talk, text)) return closed(error);
    if (first_of(text) == 0) return !(use.reads || use.writes) || prepare(talk, opened, error);
    error = is_error(text) ? text.substr(std::min<size_t>(9, text.size())) : "another way of logging in was asked for";
    return false;
  }

  Heard hear(Bytes received, const Request &request) override {
    const size_t all = received.size();
    Bytes packet;
    if (!take_packet(received, packet)) return {};
    if (is_error(packet)) return {Verdict::refused, all - received.size()};
    if (first_of(packet) == 0) {
      packet.remove_prefix(1);
      const bool right = is_write(request.kind) && take_number(packet) == 1;  // rows found, changed or not
      return {right ? Verdict::right : Verdict::wrong, all - received.size()};
    }
    return result_set(received, packet, request, all);
  }

 protected:
  /// Does nothing for text.
  virtual bool prepare(Talk &, Opened &, std::string &) { return true; }
  virtual Bytes take_created(Bytes &row) const = 0;
  /// Skips the bytes before the columns of a row.
  virtual void skip_row_head(Bytes &row, size_t columns) const = 0;

  static std::string framed(Bytes payload, unsigned sequence) {
    std::string packet;
    put_little(packet, payload.size(), 3);
    packet += static_cast<char>(sequence);
    packet += payload;
    return packet;
  }
  static bool next(Talk &talk, std::string &payload) {
    for (;;) {
      Bytes rest = talk.received();
      Bytes packet;
      if (take_packet(rest, packet)) {
        payload = packet;
        talk.drop(header_bytes + packet.size());
        return true;
      }
      if (!talk.read_more()) return false;
    }
  }
  /// The server's authentication plugin, at the end of its greeting.
  static std::string method_of(Bytes greeting) {
    if (!greeting.empty() && greeting.back() == '\0') greeting.remove_suffix(1);
    return std::string(greeting.substr(greeting.rfind('\0') + 1));
  }
  static bool closed(std::string &error) {
    error = "the connection was closed";
    return false;
  }

  const Plan plan_;
  const size_t columns_;
  const size_t created_column_;  // the column that a binary row packs
  const std::string select_;     // without the condition

 private:
  static std::string joined(const std::vector<std::string> &columns) {
    std::string list;
    for (const std::string &column : columns) list += (list.empty() ? "" : ",") + column;
    return list;
  }

  /// MariaDB's half of the capabilities, in bytes that MySQL leaves zero.
  static uint32_t greeting_of(Bytes packet) {
    const size_t version_end = packet.find('\0');
    return static_cast<uint32_t>(little(packet, version_end + 1 + 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 6, 4));
  }

  Heard result_set(Bytes received, Bytes packet, const Request &request, size_t all) {
    uint64_t columns = take_number(packet);
    const bool described = !metadata_flag_ || first_of(packet) != 0;
    bool right = columns == columns_ && !is_write(request.kind);
    const size_t in_row = columns;
    for (columns = described ? columns : 0; columns != 0; --columns) {
      if (!take_packet(received, packet)) return {};
    }
    if (!take_packet(received, packet)) return {};
    if (!is_end(packet)) return {Verdict::wrong, all};
    found_.clear();
    for (uint32_t rows = 0;; ++rows) {
      if (!take_packet(received, packet)) return {};
      if (is_error(packet)) return {Verdict::refused, all - received.size()};
      if (is_end(packet)) break;
      if (right) right = judge(packet, in_row, request, rows);
    }
    right = right && complete(request);
    return {right ? Verdict::right : Verdict::wrong, all - received.size()};
  }

  bool judge(Bytes row, size_t columns, const Request &request, uint32_t index) {
    skip_row_head(row, columns);
    const Table &table = plan_.shape.table;
    uint64_t key = request.key + index;
    for (size_t column = 0; column < columns; ++column) {
      const Bytes cell = column == created_column_ ? take_created(row) : take_string(row);
      // The rows of a list of keys come in the order of the index, not of the list.
      if (column == 0 && request.kind == Kind::multi) key = key_of_name(cell);
      if (!is_cell(cell, table, column, key)) return false;
    }
    found_.push_back(key);
    return row.empty();
  }

  bool complete(const Request &request) {
    if (request.kind != Kind::multi) return found_.size() == rows_of(request, plan_.shape);
    wanted_ = request.keys;
    std::sort(wanted_.begin(), wanted_.end());
    std::sort(found_.begin(), found_.end());
    return wanted_ == found_;
  }

  bool metadata_flag_ = false;
  std::vector<uint64_t> found_{};
  std::vector<uint64_t> wanted_{};
};

class SqlText final : public Sql {
 public:
  using Sql::Sql;

  void ask(const Request &request, const Opened &, std::string &out) override {
    text_ = '\x03';
    switch (request.kind) {
      case Kind::find:
        select(" = ");
        put_number(text_, request.key);
        break;
      case Kind::multi:
        select(" IN (");
        for (const uint64_t key : request.keys) {
          put_number(text_, key);
          text_ += key == request.keys.back() ? ')' : ',';
        }
        break;
      case Kind::scan:
        select(" >= ");
        put_number(text_, request.key);
        text_ += " ORDER BY user_id LIMIT ";
        put_number(text_, plan_.shape.scan_rows);
        break;
      case Kind::update:
        text_ += "UPDATE written SET user_name = '";
        put_name(text_, request.key, request.version);
        text_ += "' WHERE user_id = ";
        put_number(text_, request.key);
        break;
      case Kind::insert:
        text_ += "INSERT INTO fresh VALUES (";
        put_number(text_, request.key);
        text_ += ",'";
        put_name(text_, request.key, 0);
        text_ += "','";
        put_email(text_, request.key);
        text_ += "','";
        text_ += created;
        text_ += "')";
        break;
      case Kind::increment:
        text_ += "UPDATE counter SET hits = hits + 1 WHERE id = ";
        put_number(text_, request.key);
        break;
      case Kind::zero: text_ += "DO 0"; break;  // the counters are rows of a table here
    }
    put_little(out, text_.size(), 4);
    out += text_;
  }

 private:
  void select(Bytes condition) {
    text_ += select_;
    text_ += condition;
  }
  Bytes take_created(Bytes &row) const override { return take_string(row); }
  void skip_row_head(Bytes &, size_t) const override {}

  std::string text_{};
};

class SqlPrepared final : public Sql {
 public:
  using Sql::Sql;

  void ask(const Request &request, const Opened &opened, std::string &out) override {
    text_ = '\x17';
    put_little(text_, opened.statements[static_cast<size_t>(request.kind)], 4);
    text_ += '\0';  // no cursor
    put_little(text_, 1, 4);
    const size_t parameters = request.kind == Kind::multi    ? request.keys.size()
                              : request.kind == Kind::insert ? 4
                              : request.kind == Kind::update ? 2
                                                             : 1;
    text_.append((parameters + 7) / 8, '\0');  // none is NULL
    text_ += '\1';                             // types follow
    values_.clear();
    switch (request.kind) {
      case Kind::find:
      case Kind::scan:
      case Kind::increment: add(request.key); break;
      case Kind::multi:
        for (const uint64_t key : request.keys) add(key);
        break;
      case Kind::update:
        name_.clear();
        put_name(name_, request.key, request.version);
        add(name_);
        add(request.key);
        break;
      case Kind::insert:
        add(request.key);
        name_.clear();
        put_name(name_, request.key, 0);
        add(name_);
        name_.clear();
        put_email(name_, request.key);
        add(name_);
        add(created);
        break;
      case Kind::zero: break;
    }
    text_ += values_;
    put_little(out, text_.size(), 4);
    out += text_;
  }

 private:
  bool prepare(Talk &talk, Opened &opened, std::string &error) override {
    for (size_t kind = 0; kind < kinds; ++kind) {
      if (!plan_.asks[kind]) continue;
      const std::string statement = statement_of(static_cast<Kind>(kind));
      std::string answer;
      if (!talk.send(framed("\x16" + statement, 0)) || !next(talk, answer)) return closed(error);
      if (is_error(answer)) {
        error = answer.substr(std::min<size_t>(9, answer.size()));
        return false;
      }
      opened.statements[kind] = little(answer, 1, 4);
      const uint64_t columns = little(answer, 5, 2);
      const uint64_t parameters = little(answer, 7, 2);
      const uint64_t more = columns + (columns != 0) + parameters + (parameters != 0);
      for (uint64_t i = 0; i < more; ++i) {
        if (!next(talk, answer)) return closed(error);
      }
    }
    return true;
  }

  std::string statement_of(Kind kind) const {
    switch (kind) {
      case Kind::find: return select_ + " = ?";
      case Kind::multi: {
        std::string list = select_ + " IN (?";
        for (uint32_t i = 1; i < plan_.shape.multi_keys; ++i) list += ",?";
        return list + ")";
      }
      case Kind::scan: return select_ + " >= ? ORDER BY user_id LIMIT " + std::to_string(plan_.shape.scan_rows);
      case Kind::update: return "UPDATE written SET user_name = ? WHERE user_id = ?";
      case Kind::insert: return "INSERT INTO fresh VALUES (?,?,?,?)";
      case Kind::increment: return "UPDATE counter SET hits = hits + 1 WHERE id = ?";
      case Kind::zero: break;
    }
    return "DO 0";
  }

  void add(uint64_t number) {
    text_ += '\x08';  // BIGINT
    text_ += '\x80';  // UNSIGNED
    put_little(values_, number, 8);
  }
  void add(Bytes text) {
    text_ += '\xfd';  // VARCHAR
    text_ += '\0';
    values_ += static_cast<char>(text.size());  // all are shorter than 251 bytes
    values_ += text;
  }

  /// A DATETIME: length, year in two bytes, month, day, hour, minute, second.
  Bytes take_created(Bytes &row) const override {
    const Bytes packed = take_string(row);
    return packed == Bytes("\xda\x07\x02\x03\x0b\x16\x21", 7) ? created : Bytes();
  }
  void skip_row_head(Bytes &row, size_t columns) const override {
    row.remove_prefix(std::min(row.size(), 1 + (columns + 9) / 8));
  }

  std::string text_{};
  std::string values_{};
  std::string name_{};
};

}  // namespace

std::unique_ptr<Protocol> make_sql_text(const Plan &plan) {
  return std::make_unique<SqlText>(plan);
}
std::unique_ptr<Protocol> make_sql_prepared(const Plan &plan) {
  return std::make_unique<SqlPrepared>(plan);
}

}  // namespace postern::bench
