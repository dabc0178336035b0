// The HandlerSocket protocol, and the null server's: lines of tab-separated fields.
#include "protocol.h"

namespace postern::bench {
namespace {

Bytes line_in(Bytes received) {
  return received.substr(0, received.find('\n'));
}

/// Takes the next field off `line`.
Bytes field(Bytes &line) {
  const size_t tab = line.find('\t');
  const Bytes taken = line.substr(0, tab);
  line.remove_prefix(tab == Bytes::npos ? line.size() : tab + 1);
  return taken;
}

class HandlerSocket : public Protocol {
 public:
  explicit HandlerSocket(const Plan &plan) : plan_(plan) {
    const std::vector<std::string> columns = columns_of(plan.shape.table);
    for (const std::string &column : columns) columns_ += (columns_.empty() ? "" : ",") + column;
    column_count_ = columns.size();
    head_ = "0\t" + std::to_string(column_count_) + "\t";
  }

  bool begin(Talk &talk, Use use, Opened &, std::string &error) override {
    if (use.reads && !open(talk, "P\t1\ttest\t" + plan_.shape.table.name + "\tPRIMARY\t" + columns_, error))
      return false;
    if (!use.writes) return true;
    return (!plan_.any(Kind::update) || open(talk, "P\t2\ttest\twritten\tPRIMARY\tuser_name", error)) &&
           (!plan_.any(Kind::insert) ||
            open(talk, "P\t3\ttest\tfresh\tPRIMARY\tuser_id,user_name,user_email,created", error)) &&
           (!plan_.any(Kind::increment) || open(talk, "P\t4\ttest\tcounter\tPRIMARY\thits", error));
  }

  void ask(const Request &request, const Opened &, std::string &out) override {
    switch (request.kind) {
      case Kind::find:
        out += "1\t=\t1\t";
        put_number(out, request.key);
        break;
      case Kind::multi:
        out += "1\t=\t1\t\t";
        put_number(out, request.keys.size());
        out += "\t0\t@\t0\t";
        put_number(out, request.keys.size());
        for (const uint64_t key : request.keys) {
          out += '\t';
          put_number(out, key);
        }
        break;
      case Kind::scan:
        out += "1\t>=\t1\t";
        put_number(out, request.key);
        out += '\t';
        put_number(out, plan_.shape.scan_rows);
        out += "\t0";
        break;
      case Kind::update:
        out += "2\t=\t1\t";
        put_number(out, request.key);
        out += "\t1\t0\tU\t";
        put_name(out, request.key, request.version);
        break;
      case Kind::insert:
        out += "3\t+\t4\t";
        put_number(out, request.key);
        out += '\t';
        put_row(out, {}, request.key, 0, '\t');
        break;
      case Kind::increment:
        out += "4\t=\t1\t";
        put_number(out, request.key);
        out += "\t1\t0\t+\t1";
        break;
      case Kind::zero: break;  // the counters are rows of a table here
    }
    out += '\n';
  }

  bool may_end(Bytes received) const override { return received.find('\n') != Bytes::npos; }

  Heard hear(Bytes received, const Request &request) override {
    const Bytes line = line_in(received);
    if (line.size() == received.size()) return {};
    const bool error = !line.starts_with("0\t");
    return {error ? Verdict::refused : judge(line, request) ? Verdict::right : Verdict::wrong, line.size() + 1};
  }

 private:
  static bool open(Talk &talk, Bytes request, std::string &error) {
    if (talk.send(std::string(request) + "\n")) {
      while (line_in(talk.received()).size() == talk.received().size()) {
        if (!talk.read_more()) break;
      }
    }
    const std::string line(line_in(talk.received()));
    talk.drop(line.size() + 1);
    if (line.starts_with("0\t")) return true;
    error = line.empty() ? "the connection was closed" : line;
    return false;
  }

  bool judge(Bytes line, const Request &request) const {
    switch (request.kind) {
      case Kind::find:
      case Kind::multi:
      case Kind::scan: return rows(line, request);
      case Kind::update:
      case Kind::increment: return line == "0\t1\t1";
      case Kind::insert: return line == "0\t1";
      case Kind::zero: break;
    }
    return false;
  }

  bool rows(Bytes line, const Request &request) const {
    const Table &table = plan_.shape.table;
    if (!line.starts_with(head_)) return false;
    line.remove_prefix(head_.size());
    if (request.kind == Kind::find) return is_row(line, table, request.key, '\t');
    for (uint32_t i = 0; i < rows_of(request, plan_.shape); ++i) {
      const uint64_t key = request.kind == Kind::multi ? request.keys[i] : request.key + i;
      for (size_t column = 0; column < column_count_; ++column) {
        if (!is_cell(field(line), table, column, key)) return false;
      }
    }
    return line.empty();
  }

  const Plan plan_;
  std::string columns_{};
  size_t column_count_ = 0;
  std::string head_{};  // the head of a find's answer
};

class Null final : public HandlerSocket {
 public:
  Null() : HandlerSocket({}) {}
  bool begin(Talk &, Use, Opened &, std::string &) override { return true; }
  Heard hear(Bytes received, const Request &) override {
    const Bytes row = "0\t3\tYukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33\n";
    if (received.size() < row.size()) return {};
    return {received.starts_with(row) ? Verdict::right : Verdict::wrong, row.size()};
  }
};

}  // namespace

std::unique_ptr<Protocol> make_handlersocket(const Plan &plan) {
  return std::make_unique<HandlerSocket>(plan);
}
std::unique_ptr<Protocol> make_null() {
  return std::make_unique<Null>();
}

}  // namespace postern::bench
