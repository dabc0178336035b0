#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_edit.h"
#include "redis/strings/string_work.h"

namespace postern::redis {
namespace {

enum class BitOperation : uint8_t { conjunction, disjunction, difference, negation };

/// Of strings of different lengths the shorter one is followed by zeros.
void combine(BitOperation operation, std::string &result, Bytes with) {
  if (result.size() < with.size()) result.resize(with.size(), '\0');
  for (size_t i = 0; i < result.size(); ++i) {
    const char other = i < with.size() ? with[i] : '\0';
    switch (operation) {
      case BitOperation::conjunction: result[i] = static_cast<char>(result[i] & other); break;
      case BitOperation::disjunction: result[i] = static_cast<char>(result[i] | other); break;
      case BitOperation::difference: result[i] = static_cast<char>(result[i] ^ other); break;
      case BitOperation::negation: break;
    }
  }
}

/// BITOP.
class BitOperationWork final : public StringWork {
 public:
  BitOperationWork(Call &call, BitOperation operation, const Place &to, std::vector<Place> from)
      : StringWork(call, *to.open), operation_(operation), to_(to), from_(std::move(from)) {}

 private:
  Task<> run() override {
    std::string result;
    bool first = true;
    for (const Place &place : from_) {
      Held held;
      if (place.state == Place::State::there) held = co_await hold(place);
      if (held.there && held.type != Type::string) {
        writer().error(wrong_type);
        co_return;
      }
      if (std::exchange(first, false)) result = std::move(held.text);
      else combine(operation_, result, held.text);
    }
    if (operation_ == BitOperation::negation)
      for (char &byte : result) byte = static_cast<char>(~byte);
    if (result.empty()) co_await remove(to_);
    else co_await set(to_, result);
    writer().integer(static_cast<int64_t>(result.size()));
  }

  const BitOperation operation_;
  const Place to_;
  const std::vector<Place> from_;
};

}  // namespace

namespace lower {

Next bitop(Call &call) {
  const Bytes word = call.arguments[1];
  BitOperation operation{};
  if (is_word(word, "and")) operation = BitOperation::conjunction;
  else if (is_word(word, "or")) operation = BitOperation::disjunction;
  else if (is_word(word, "xor")) operation = BitOperation::difference;
  else if (is_word(word, "not")) operation = BitOperation::negation;
  else return refuse(call, syntax_error);
  if (operation == BitOperation::negation && call.arguments.size() != 4)
    return refuse(call, "ERR BITOP NOT must be called with a single source key.");
  const Place to = place_of(call, call.arguments[2]);
  if (!may_write_string(call, to)) return Next::go_on;
  if (!to.map().may_create()) return refuse_read_only(call, to);
  if (!to.map().may_delete()) return refuse_delete(call, to);
  if (to.generic()) open_elements(call, *to.open);
  std::vector<Place> from;
  for (const Bytes key : call.arguments.subspan(3)) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) return refuse_place(call, place);
    if (place.generic()) open_elements(call, *place.open);
    from.push_back(place);
  }
  return begin_work(call, tables_of(call).keep<BitOperationWork>(call, operation, to, std::move(from)));
}

}  // namespace lower
}  // namespace postern::redis
