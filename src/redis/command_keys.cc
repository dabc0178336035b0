#include "redis/command_keys.h"

#include "redis/call.h"
#include "redis/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// Where SORT stores to: the last STORE counts. Nothing: it stores nowhere.
std::span<const Bytes> target_of_sort(const Command &command, std::span<const Bytes> arguments) {
  std::span<const Bytes> target;
  if (command.handler == lower::sort_ro) return target;
  for (size_t i = 2; i < arguments.size(); ++i) {
    if (is_word(arguments[i], "limit")) i += 2;
    else if (is_word(arguments[i], "get") || is_word(arguments[i], "by")) ++i;
    else if (is_word(arguments[i], "store") && i + 1 < arguments.size()) target = arguments.subspan(i + 1, 1);
  }
  return target;
}

/// The keys whose places first, last and step do not tell.
std::span<const Bytes> moved_keys_of(const Command &command, std::span<const Bytes> arguments) {
  if (!command.has(CommandFlag::movablekeys)) return {};
  return is_sort(command) ? target_of_sort(command, arguments) : counted_keys_of(command, arguments);
}

}  // namespace

std::span<const Bytes> counted_keys_of(const Command &command, std::span<const Bytes> arguments) {
  const size_t at = static_cast<size_t>(command.first_key) + (command.has(CommandFlag::blocking) ? 2 : 1);
  uint64_t count = 0;
  if (at >= arguments.size() || !parse_natural(arguments[at], count)) return {};
  const auto rest = arguments.subspan(at + 1);
  return count > rest.size() ? std::span<const Bytes>{} : rest.first(count);
}

bool is_sort(const Command &command) {
  return command.handler == lower::sort || command.handler == lower::sort_ro;
}

std::vector<Bytes> keys_of(const Command &command, std::span<const Bytes> arguments) {
  std::vector<Bytes> keys;
  const auto count = static_cast<int64_t>(arguments.size());
  const int64_t last = command.last_key < 0 ? count + command.last_key : command.last_key;
  for (int64_t at = command.first_key; at != 0 && at <= last && at < count; at += command.key_step)
    keys.push_back(arguments[static_cast<size_t>(at)]);
  const std::span<const Bytes> moved = moved_keys_of(command, arguments);
  keys.insert(keys.end(), moved.begin(), moved.end());
  return keys;
}

}  // namespace postern::redis
