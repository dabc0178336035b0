#include "memcached/wire/forms.h"

#include <algorithm>

#include "memcached/wire/base64.h"
#include "memcached/wire/lines.h"

namespace postern::memcached {
namespace {

constexpr Bytes done_code = "HD";
constexpr Bytes value_code = "VA ";

/// The values for return flags that are not in the request.
struct ReturnFlags {
  const Item *item = nullptr;  ///< t
  bool has_flags = false;
  bool has_cas = false;
  bool has_size = false;
  uint64_t cas = 0;
  size_t size = 0;
};

int64_t seconds_left(const Item &item) {
  return item.expires_at == 0 ? -1 : std::max<int64_t>(item.expires_at - item.now, 0);
}

void put_key(Output &output, const Request &request) {
  if (!request.meta.base64) return output.put(request.key);
  char *const begin = output.reserve(base64_encoded_bytes(request.key.size()));
  output.commit(static_cast<size_t>(encode_base64(request.key, begin) - begin));
}

void put_flag(Output &output, char letter, uint64_t number) {
  char *const begin = output.reserve(22);
  begin[0] = ' ';
  begin[1] = letter;
  output.commit(static_cast<size_t>(print_natural(begin + 2, number) - begin));
}

/// Everything after the code of a line, its end too: the fields asked for that exist, in the order of asking.
void put_flags(Output &output, const Request &request, const ReturnFlags &known) {
  Bytes left = request.meta.flags;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    const Bytes flag = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    switch (flag.empty() ? '\0' : flag[0]) {
      case 'O':
        output.put(' ');
        output.put(flag);
        break;
      case 'k':
        output.put(" k");
        put_key(output, request);
        if (request.meta.base64) output.put(" b");
        break;
      case 'c':
        if (known.has_cas) put_flag(output, 'c', known.cas);
        break;
      case 's':
        if (known.has_size) put_flag(output, 's', known.size);
        break;
      case 'f':
        if (known.has_flags) put_flag(output, 'f', known.item->flags);
        break;
      case 't':
        if (known.item == nullptr) break;
        output.put(" t");
        output.put_integer(seconds_left(*known.item));
        break;
    }
  }
  output.put("\r\n");
}

void put_debug(Output &output, const Request &request, const Item &item) {
  output.put("ME ");
  put_key(output, request);
  output.put(" exp=");
  output.put_integer(seconds_left(item));
  output.put(" cas=");
  output.put_natural(item.cas);
  output.put(" fetch=no cls=1 size=");
  output.put_natural(item.value.size());
  output.put("\r\n");
}

Bytes code_of(ItemAction action, Result result) {
  switch (result) {
    case Result::done: break;
    case Result::exists: return "EX";
    case Result::not_stored: return "NS";
    case Result::not_found: return action == ItemAction::get ? "EN" : "NF";
    case Result::not_a_number: break;
  }
  return done_code;
}

/// `q` leaves out the expected answer: a miss, or success.
bool untold(const Request &request, Result result) {
  if (!request.meta.quiet) return false;
  return result == (request.item.action == ItemAction::get ? Result::not_found : Result::done);
}

}  // namespace

void MetaForm::item(Output &output, const Request &request, const Item &item) const {
  if (request.opcode == 'e') return put_debug(output, request, item);
  const ReturnFlags flags{
      .item = &item, .has_flags = true, .has_cas = true, .has_size = true, .cas = item.cas, .size = item.value.size()};
  if (!request.meta.value) {
    output.put(done_code);
    return put_flags(output, request, flags);
  }
  output.put(value_code);
  output.put_natural(item.value.size());
  put_flags(output, request, flags);
  output.put(item.value);
  output.put("\r\n");
}

void MetaForm::number(Output &output, const Request &request, uint64_t number, const Item &item) const {
  if (untold(request, Result::done)) return;
  char digits[20];
  const Bytes value(digits, static_cast<size_t>(print_natural(digits, number) - digits));
  const ReturnFlags flags{.item = &item, .has_cas = true, .cas = item.cas};
  if (!request.meta.value) {
    output.put(done_code);
    return put_flags(output, request, flags);
  }
  output.put(value_code);
  output.put_natural(value.size());
  put_flags(output, request, flags);
  output.put(value);
  output.put("\r\n");
}

void MetaForm::result(Output &output, const Request &request, Result result, uint64_t cas) const {
  if (result == Result::not_a_number) return output.put(not_a_number_line);
  if (untold(request, result)) return;
  output.put(code_of(request.item.action, result));
  ReturnFlags flags;
  if (request.opcode == 's') {
    flags.has_cas = true;
    flags.cas = result == Result::done ? cas : 0;
    // The size of an appended item is not known here.
    flags.has_size = result == Result::done && !request.item.joins();
    flags.size = request.item.value.size();
  }
  put_flags(output, request, flags);
}

void MetaForm::failed(Output &output, const Request &, Failure failure, Bytes message) const {
  put_failure(output, failure, message);
}

void MetaForm::plain(Output &output, const Request &request, Bytes value) const {
  put_plain(output, request, value);
}

void MetaForm::statistic(Output &output, const Request &, Bytes name, Bytes value) const {
  put_statistic(output, name, value);
}

}  // namespace postern::memcached
