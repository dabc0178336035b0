#include "redis/registry/command.h"

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "redis/registry/handlers.h"

namespace postern::redis {
namespace {

namespace rows {
using namespace CommandFlag;
using namespace Category;
using namespace lower;
constexpr Command all[] = {
#define COMMAND(name, arity, flags, keys, tips, group, categories, since, summary, handler) \
  {name, arity, (flags), keys, tips, CommandGroup::group, (categories), since, summary, lower::handler},
#include "redis/registry/commands.def"
#undef COMMAND
};
}  // namespace rows

constexpr size_t name_bytes_max = 32;

size_t hash_of(Bytes name) {
  uint32_t hash = 2'166'136'261;
  for (const char byte : name) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619;
  return hash ^ hash >> 15;
}

/// First, last and step of all keys, as far as these three can describe them.
void find_legacy_range(Command &command) {
  int16_t last_before = 0;
  for (const KeySpec &spec : command.key_specs) {
    const bool follows = spec.step == 1 && (last_before == 0 || last_before == spec.first - 1);
    if (spec.find != KeySpec::Find::range || (!follows && command.key_specs.size() != 1)) {
      command.flags |= CommandFlag::movablekeys;
      continue;
    }
    if (command.first_key == 0) command.first_key = spec.first;
    command.last_key = static_cast<int16_t>(spec.last < 0 ? spec.last : spec.first + spec.last);
    command.key_step = spec.step;
    last_before = command.last_key;
  }
}

/// All commands by name. Immutable.
class Table {
 public:
  Table() {
    for (Command command : rows::all) {
      if (command.name.find('|') != Bytes::npos) command.flags |= CommandFlag::subcommand;
      command.key_specs = specs_.emplace_back(read_key_specs(command.keys));
      find_legacy_range(command);
      command.place = commands_.size();
      commands_.push_back(command);
    }
    for (const Command &command : commands_) {
      size_t at = hash_of(command.name) % places_.size();
      while (places_[at] != nullptr) at = (at + 1) % places_.size();
      places_[at] = &command;
    }
  }

  std::span<const Command> commands() const { return commands_; }

  /// `name` is in lower case.
  const Command *find(Bytes name) const {
    for (size_t at = hash_of(name) % places_.size(); places_[at] != nullptr; at = (at + 1) % places_.size())
      if (places_[at]->name == name) return places_[at];
    return nullptr;
  }

 private:
  std::vector<Command> commands_;
  std::deque<std::vector<KeySpec>> specs_;
  std::array<const Command *, 1'024> places_{};
  static_assert(std::size(rows::all) * 2 <= 1'024);
};

const Table &table() {
  static const Table made;
  return made;
}

/// After the bytes that `to` has already. False: no command has so long a name.
bool append_lower(char *to, size_t &size, Bytes name) {
  if (size + name.size() > name_bytes_max) return false;
  for (const char byte : name) to[size++] = static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
  return true;
}

}  // namespace

bool Command::is_container() const {
  return handler == lower::container;
}

std::span<const Command> commands() {
  return table().commands();
}

const Command *find_command(Bytes name) {
  char lowered[name_bytes_max];
  size_t size = 0;
  return append_lower(lowered, size, name) ? table().find({lowered, size}) : nullptr;
}

const Command *find_subcommand(const Command &container, Bytes name) {
  char lowered[name_bytes_max];
  size_t size = 0;
  if (name.find('|') != Bytes::npos) return nullptr;
  return append_lower(lowered, size, container.name) && append_lower(lowered, size, "|") &&
                 append_lower(lowered, size, name)
             ? table().find({lowered, size})
             : nullptr;
}

bool is_word(Bytes argument, Bytes word) {
  if (argument.size() != word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const char byte = argument[i];
    if ((byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte) != word[i]) return false;
  }
  return true;
}

}  // namespace postern::redis
