// wire.h: the protocol's bytes (src/handlersocket/grammar.md of the server): requests are appended to a string, replies
// are read from a line. No sockets here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "handlersocket/options.h"
#include "handlersocket/reply.h"
#include "handlersocket/value.h"

namespace handlersocket {

void put_number(std::string &out, uint64_t number);
/// As a value: bytes below 0x10 are escaped.
void put_bytes(std::string &out, std::string_view bytes);
void put_value(std::string &out, const Value &value);
/// Each after a tab.
void put_values(std::string &out, Values values);

/// Whether a name, a secret or an operator can be sent: such a token is taken as it is, so it has no byte that ends
/// one.
bool sendable(std::string_view token);
bool sendable(const IndexSpec &spec);
bool sendable(const Where &where);

/// `P` and what belongs to it, without LF.
void put_open(std::string &out, uint32_t id, const IndexSpec &spec);
/// The id, the operator, and the key; limit, offset, IN and filters where they are not the usual ones or `always`.
void put_where(std::string &out, uint32_t id, Values key, const Where &where, bool always);

/// The answer to a request, if it is not refused.
enum class Answer : uint8_t { done, rows, count, id, any };

class ReplyParser {
 public:
  /// Fills `reply` from a line without its LF; `columns` is what rows must have. False if the line is malformed.
  static bool parse(std::string_view line, Answer answer, std::optional<size_t> columns, Reply &reply);

 private:
  static bool parse_error(std::string_view words, uint64_t code, Reply &reply);
  static bool take_cells(std::string_view cells, Rows &rows);
};

}  // namespace handlersocket
