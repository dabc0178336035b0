#include "redis/collections/pops.h"

#include "redis/wire/numbers.h"

namespace postern::redis {

bool read_many_keys_pop(Call &call, size_t at, Bytes first, Bytes last, ManyKeysPop &pop) {
  const auto wrong = [&call](Bytes why) {
    refuse(call, why);
    return false;
  };
  const auto arguments = call.arguments.subspan(at);
  int64_t keys = 0;
  if (!parse_integer(arguments[0], keys) || keys < 1) return wrong("ERR numkeys should be greater than 0");
  if (static_cast<uint64_t>(keys) >= arguments.size() - 1) return wrong(syntax_error);
  const auto where = static_cast<size_t>(1 + keys);
  pop.from_end = is_word(arguments[where], last);
  if (!pop.from_end && !is_word(arguments[where], first)) return wrong(syntax_error);
  const auto options = arguments.subspan(where + 1);
  if (!options.empty()) {
    int64_t count = 0;
    if (options.size() == 1 || !is_word(options[0], "count")) return wrong(syntax_error);
    if (!parse_integer(options[1], count) || count < 1) return wrong("ERR count should be greater than 0");
    if (options.size() > 2) return wrong(syntax_error);
    pop.count = static_cast<uint64_t>(count);
  }
  pop.keys = arguments.subspan(1, static_cast<size_t>(keys));
  return add_sources(call, pop.keys, pop.sources, pop.open);
}

bool read_pop_count(Call &call, bool &one, uint64_t &count) {
  one = call.arguments.size() == 2;
  count = 1;
  if (one) return true;
  int64_t number = 0;
  if (call.arguments.size() > 3) {
    refuse_arity(call);
    return false;
  }
  if (!parse_integer(call.arguments[2], number) || number < 0) {
    refuse(call, not_positive);
    return false;
  }
  count = static_cast<uint64_t>(number);
  return true;
}

}  // namespace postern::redis
