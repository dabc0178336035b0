#include "redis/registry/command_keys.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "redis/registry/command.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

struct Named {
  uint32_t bit;
  Bytes name;
};

// In Redis's order.
constexpr Named flag_names[] = {
    {KeyFlag::reads, "RO"},       {KeyFlag::changes, "RW"},
    {KeyFlag::writes, "OW"},      {KeyFlag::removes, "RM"},
    {KeyFlag::access, "access"},  {KeyFlag::update, "update"},
    {KeyFlag::insert, "insert"},  {KeyFlag::erase, "delete"},
    {KeyFlag::no_key, "not_key"}, {KeyFlag::by_options, "variable_flags"},
};

/// Takes the text before `end`, or all of it if there is none.
Bytes take_until(Bytes &text, Bytes end) {
  const size_t size = std::min(text.find(end), text.size());
  const Bytes taken = text.substr(0, size);
  text.remove_prefix(std::min(size + end.size(), text.size()));
  return taken;
}

int16_t number_in(Bytes text) {
  int16_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// After the @.
void read_place(Bytes text, KeySpec &spec) {
  if (text == "?") {
    spec.find = KeySpec::Find::unknown;
    return;
  }
  if (text.ends_with('#')) spec.find = KeySpec::Find::counted;
  if (text.ends_with('!')) spec.find = KeySpec::Find::behind_word;
  const size_t colon = text.find(':');
  if (colon != Bytes::npos) {
    spec.find = KeySpec::Find::option;
    spec.word = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  Bytes range = take_until(text, "/");
  if (!text.empty()) spec.step = number_in(text);
  spec.first = number_in(take_until(range, ".."));
  if (!range.empty()) spec.last = number_in(range);
}

KeySpec read_key_spec(Bytes text) {
  KeySpec spec;
  if (text.starts_with('(')) {
    text.remove_prefix(1);
    spec.notes = take_until(text, ") ");
  }
  while (!text.starts_with('@')) {
    const Bytes word = take_until(text, " ");
    for (const Named &flag : flag_names)
      if (flag.name == word) spec.flags |= flag.bit;
  }
  read_place(text.substr(1), spec);
  return spec;
}

bool is_same_word(Bytes one, Bytes other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

/// False: the arguments are malformed.
bool add_keys(const KeySpec &spec, std::span<const Bytes> arguments, std::vector<FoundKey> &keys) {
  const auto count = static_cast<int64_t>(arguments.size());
  int64_t first = spec.first;
  int64_t last = spec.last < 0 ? count + spec.last : first + spec.last;
  if (spec.find == KeySpec::Find::behind_word) {
    while (first < count && !is_word(arguments[static_cast<size_t>(first)], "streams")) ++first;
    last = first + (count - 1 - first) / 2;
    ++first;
  }
  if (spec.find == KeySpec::Find::option) {
    while (first + 1 < count && !is_same_word(arguments[static_cast<size_t>(first)], spec.word)) ++first;
    if (first + 1 >= count) return true;
    last = ++first;
  }
  if (spec.find == KeySpec::Find::counted) {
    int64_t number = 0;
    if (first >= count || !parse_integer(arguments[static_cast<size_t>(first)], number) || number > count) return false;
    last = first + number;
    ++first;
  }
  if (last >= count || last < first) return false;
  for (int64_t at = first; at <= last; at += spec.step)
    keys.push_back({arguments[static_cast<size_t>(at)], spec.flags});
  return true;
}

/// SORT's STORE may stand anywhere, and the last one counts.
std::optional<Bytes> target_of_sort(std::span<const Bytes> arguments) {
  std::optional<Bytes> target;
  for (size_t i = 2; i < arguments.size(); ++i) {
    if (is_word(arguments[i], "limit")) i += 2;
    else if (is_word(arguments[i], "get") || is_word(arguments[i], "by")) ++i;
    else if (is_word(arguments[i], "store") && i + 1 < arguments.size()) target = arguments[i + 1];
  }
  return target;
}

bool has_option(std::span<const Bytes> options, Bytes word) {
  return std::any_of(options.begin(), options.end(), [&](Bytes one) { return is_word(one, word); });
}

/// True if BITFIELD only reads.
bool only_gets(std::span<const Bytes> operations) {
  for (size_t i = 0; i < operations.size(); ++i) {
    const size_t rest = operations.size() - i - 1;
    if (is_word(operations[i], "get") && rest >= 2) i += 2;
    else if (is_word(operations[i], "overflow") && rest >= 1) ++i;
    else return false;
  }
  return true;
}

}  // namespace

std::vector<KeySpec> read_key_specs(Bytes text) {
  std::vector<KeySpec> specs;
  while (!text.empty()) specs.push_back(read_key_spec(take_until(text, "; ")));
  return specs;
}

std::vector<Bytes> key_flag_names(uint32_t flags) {
  std::vector<Bytes> names;
  for (const Named &flag : flag_names)
    if ((flags & flag.bit) != 0) names.push_back(flag.name);
  return names;
}

std::vector<FoundKey> keys_of(const Command &command, std::span<const Bytes> arguments) {
  std::vector<FoundKey> keys;
  for (const KeySpec &spec : command.key_specs)
    if (spec.find != KeySpec::Find::unknown && (spec.flags & KeyFlag::no_key) == 0 && !add_keys(spec, arguments, keys))
      return {};
  if (command.handler == lower::sort) {
    if (const std::optional<Bytes> target = target_of_sort(arguments))
      keys.push_back({*target, KeyFlag::writes | KeyFlag::update});
  } else if (command.handler == lower::bitfield) {
    const uint32_t writes = KeyFlag::changes | KeyFlag::access | KeyFlag::update;
    keys.front().flags = only_gets(arguments.subspan(2)) ? KeyFlag::reads | KeyFlag::access : writes;
  } else if (command.handler == lower::set) {
    const bool reads = has_option(arguments.subspan(3), "get");
    keys.front().flags =
        reads ? KeyFlag::changes | KeyFlag::access | KeyFlag::update : KeyFlag::writes | KeyFlag::update;
  }
  return keys;
}

}  // namespace postern::redis
