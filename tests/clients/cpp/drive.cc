// drive: runs one transcript of tests/wire/handlersocket/client through the installed library.
//   drive PORT < session        the session is one line of JSON
// Prints what each exchange came to, one line of JSON for each, in the form of the transcript's results.
#include <handlersocket/client.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "json.h"

using handlersocket::Connection;
using handlersocket::Error;
using handlersocket::Filter;
using handlersocket::Index;
using handlersocket::Queue;
using handlersocket::Reply;
using handlersocket::Value;
using handlersocket::Values;
using handlersocket::Where;
using postern::test::Json;

namespace {

/// What JSON's reader loses: whether a value was a string. The test marks strings with a leading `=`.
Value value_of(const Json &json) {
  const std::string &text = json.text;
  if (text.starts_with('=')) return std::string_view(text).substr(1);
  if (text == "null") return nullptr;
  if (text.find_first_of(".e") != std::string::npos) return std::stod(text);
  if (text.starts_with('-')) return static_cast<int64_t>(std::stoll(text));
  return static_cast<uint64_t>(std::stoull(text));
}

std::vector<Value> values_of(const Json &json) {
  std::vector<Value> values;
  for (const Json &item : json.items) values.push_back(value_of(item));
  return values;
}

std::string bytes_of(const Json &json) {
  return json.text.substr(json.text.starts_with('=') ? 1 : 0);
}

uint64_t number_of(const Json &json, uint64_t otherwise) {
  return json.text.empty() ? otherwise : std::stoull(json.text);
}

Where where_of(const Json &request) {
  Where where{.operation = bytes_of(request["operator"]),
              .limit = number_of(request["limit"], 1),
              .offset = number_of(request["offset"], 0)};
  if (!request["in"].members.empty())
    where.in =
        handlersocket::In{.part = number_of(request["in"]["part"], 0), .values = values_of(request["in"]["values"])};
  for (const Json &filter : request["filters"].items)
    where.filters.push_back({.column = number_of(filter["column"], 0),
                             .operation = bytes_of(filter["operator"]),
                             .value = value_of(filter["value"]),
                             .ends = bytes_of(filter["type"]) == "W"});
  return where;
}

handlersocket::IndexSpec spec_of(const Json &request) {
  handlersocket::IndexSpec spec{.database = bytes_of(request["database"]),
                                .table = bytes_of(request["table"]),
                                .index = bytes_of(request["index"])};
  for (const Json &name : request["columns"].items) spec.columns.push_back(bytes_of(name));
  for (const Json &name : request["filter_columns"].items) spec.filter_columns.push_back(bytes_of(name));
  spec.id = static_cast<uint32_t>(number_of(request["id"], 0));
  return spec;
}

void queue(Queue queue, const std::string &kind, const Json &request) {
  const Index index{.id = static_cast<uint32_t>(number_of(request["id"], 0))};
  const std::vector<Value> key = values_of(request["key"]), values = values_of(request["values"]);
  const bool before = request["before"].text == "true";
  if (kind == "open") queue.open(spec_of(request));
  if (kind == "authenticate") queue.authenticate(bytes_of(request["secret"]));
  if (kind == "login") queue.login({.user = bytes_of(request["user"]), .password = bytes_of(request["password"])});
  if (kind == "find") queue.find(index, key, where_of(request));
  if (kind == "insert") queue.insert(index, values);
  if (kind == "upsert") queue.upsert(index, values);
  if (kind == "insert_or_ignore") queue.insert_or_ignore(index, values);
  if (kind == "update" && !before) queue.update(index, key, values, where_of(request));
  if (kind == "update" && before) queue.update_fetch(index, key, values, where_of(request));
  if (kind == "delete" && !before) queue.remove(index, key, where_of(request));
  if (kind == "delete" && before) queue.remove_fetch(index, key, where_of(request));
  if (kind == "increment" && !before) queue.increment(index, key, values, where_of(request));
  if (kind == "increment" && before) queue.increment_fetch(index, key, values, where_of(request));
  if (kind == "decrement" && !before) queue.decrement(index, key, values, where_of(request));
  if (kind == "decrement" && before) queue.decrement_fetch(index, key, values, where_of(request));
}

std::string quoted(std::string_view bytes) {
  std::string json = "\"";
  for (const char byte : bytes) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    json += code;
  }
  return json + '"';
}

std::string broken(const Error &error) {
  switch (error.kind) {
    case Error::Kind::closed: return R"({"broken": "closed"})";
    case Error::Kind::timeout: return R"({"broken": "timeout"})";
    case Error::Kind::malformed: return R"({"broken": "malformed"})";
    case Error::Kind::too_large: return R"({"broken": "too large"})";
    default: return R"({"unexpected": )" + quoted(error.message()) + "}";
  }
}

std::string rows(const Reply &reply) {
  std::string json = R"({"columns": )" + std::to_string(reply.rows.columns()) + R"(, "rows": [)";
  for (const handlersocket::Row row : reply.rows) {
    json += json.ends_with('[') ? "[" : ", [";
    for (size_t i = 0; i < row.size(); ++i) {
      json += i == 0 ? "" : ", ";
      json += row[i].is_null() ? "null" : quoted(row[i].bytes());
    }
    json += ']';
  }
  return json + "]}";
}

std::string result(const std::string &kind, const Json &request, const Reply &reply) {
  if (reply.error)
    return R"({"error": {"code": )" + std::to_string(reply.error->code) + R"(, "text": )" + quoted(reply.error->text) +
           "}}";
  if (kind == "open" || kind == "authenticate" || kind == "login") return R"({"done": true})";
  if (kind == "insert") return R"({"id": )" + (reply.id ? std::to_string(*reply.id) : "null") + "}";
  if (kind == "find" || request["before"].text == "true") return rows(reply);
  return R"({"count": )" + std::to_string(reply.count) + "}";
}

}  // namespace

int main(int, char **arguments) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const Json session = postern::test::JsonReader(text).read();
  Connection connection =
      Connection::connect({.port = static_cast<uint16_t>(std::stoi(arguments[1])),
                           .request_timeout = std::chrono::milliseconds(session["stall"].text == "true" ? 200 : 20'000),
                           .reply_bytes_max = number_of(session["reply_bytes_max"], size_t{64} << 20)})
          .value();
  Reply reply;  // used again and again, as a pipeline does
  for (const Json &exchange : session["exchanges"].items) {
    for (const Json &request : exchange["requests"].items)
      queue(connection.queue(), request.members.begin()->first, request.members.begin()->second);
    std::cout << '[';
    for (const Json &request : exchange["requests"].items) {
      const auto received = connection.receive(reply);
      const auto &[kind, members] = *request.members.begin();
      std::cout << (&request == exchange["requests"].items.data() ? "" : ", ")
                << (received ? result(kind, members, reply) : broken(received.error()));
    }
    std::cout << "]" << std::endl;
  }
}
