// drive: runs one transcript of tests/wire/handlersocket/client through the installed library.
//   drive PORT < session        the session is one line of JSON
// Prints the outcome of each exchange, one line of JSON for each, in the form of the transcript's results.
#include <handlersocket/client.h>

#include <cstdio>
#include <iostream>

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
using postern::test::bytes_of;
using postern::test::Json;
using postern::test::member;

namespace {

Value value_of(const Json &json) {
  if (json.is_string()) return bytes_of(json);
  if (json.is_null()) return nullptr;
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  return json.get<int64_t>();
}

std::vector<Value> values_of(const Json &json) {
  std::vector<Value> values;
  for (const Json &item : json) values.push_back(value_of(item));
  return values;
}

uint64_t number_of(const Json &object, const char *name, uint64_t otherwise) {
  return object.value(name, otherwise);
}

bool is_set(const Json &object, const char *name) {
  return object.value(name, false);
}

Where where_of(const Json &request) {
  Where where{.operation = bytes_of(request, "operator"),
              .limit = number_of(request, "limit", 1),
              .offset = number_of(request, "offset", 0)};
  if (const Json &in = member(request, "in"); !in.is_null())
    where.in = handlersocket::In{.part = number_of(in, "part", 0), .values = values_of(member(in, "values"))};
  for (const Json &filter : member(request, "filters"))
    where.filters.push_back({.column = number_of(filter, "column", 0),
                             .operation = bytes_of(filter, "operator"),
                             .value = value_of(member(filter, "value")),
                             .ends = bytes_of(filter, "type") == "W"});
  return where;
}

handlersocket::IndexSpec spec_of(const Json &request) {
  handlersocket::IndexSpec spec{.database = bytes_of(request, "database"),
                                .table = bytes_of(request, "table"),
                                .index = bytes_of(request, "index")};
  for (const Json &name : member(request, "columns")) spec.columns.push_back(bytes_of(name));
  for (const Json &name : member(request, "filter_columns")) spec.filter_columns.push_back(bytes_of(name));
  spec.id = static_cast<uint32_t>(number_of(request, "id", 0));
  return spec;
}

void queue(Queue queue, const std::string &kind, const Json &request) {
  const Index index{.id = static_cast<uint32_t>(number_of(request, "id", 0))};
  const std::vector<Value> key = values_of(member(request, "key")), values = values_of(member(request, "values"));
  const bool before = is_set(request, "before");
  if (kind == "open") queue.open(spec_of(request));
  if (kind == "authenticate") queue.authenticate(bytes_of(request, "secret"));
  if (kind == "login") queue.login({.user = bytes_of(request, "user"), .password = bytes_of(request, "password")});
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

std::string as_string(std::string_view bytes) {
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
    default: return R"({"unexpected": )" + as_string(error.message()) + "}";
  }
}

std::string rows(const Reply &reply) {
  std::string json = R"({"columns": )" + std::to_string(reply.rows.columns()) + R"(, "rows": [)";
  for (const handlersocket::Row row : reply.rows) {
    json += json.ends_with('[') ? "[" : ", [";
    for (size_t i = 0; i < row.size(); ++i) {
      json += i == 0 ? "" : ", ";
      json += row[i].is_null() ? "null" : as_string(row[i].bytes());
    }
    json += ']';
  }
  return json + "]}";
}

std::string result(const std::string &kind, const Json &request, const Reply &reply) {
  if (reply.error)
    return R"({"error": {"code": )" + std::to_string(reply.error->code) + R"(, "text": )" +
           as_string(reply.error->text) + "}}";
  if (kind == "open" || kind == "authenticate" || kind == "login") return R"({"done": true})";
  if (kind == "insert") return R"({"id": )" + (reply.id ? std::to_string(*reply.id) : "null") + "}";
  if (kind == "find" || is_set(request, "before")) return rows(reply);
  return R"({"count": )" + std::to_string(reply.count) + "}";
}

}  // namespace

int main(int, char **arguments) {
  const Json session = postern::test::read_json(std::cin);
  Connection connection =
      Connection::connect({.port = static_cast<uint16_t>(std::stoi(arguments[1])),
                           .request_timeout = std::chrono::milliseconds(is_set(session, "stall") ? 200 : 20'000),
                           .reply_bytes_max = number_of(session, "reply_bytes_max", size_t{64} << 20)})
          .value();
  Reply reply;  // reused, as a pipeline does
  for (const Json &exchange : member(session, "exchanges")) {
    for (const Json &request : member(exchange, "requests"))
      queue(connection.queue(), request.begin().key(), request.begin().value());
    std::cout << '[';
    for (const Json &request : member(exchange, "requests")) {
      const auto received = connection.receive(reply);
      std::cout << (&request == &member(exchange, "requests").front() ? "" : ", ")
                << (received ? result(request.begin().key(), request.begin().value(), reply)
                             : broken(received.error()));
    }
    std::cout << "]" << std::endl;
  }
}
