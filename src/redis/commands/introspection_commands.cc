// introspection_commands.cc: COMMAND and its subcommands, and HELP of every container: what commands.def knows.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "redis/call.h"
#include "redis/commands/categories.h"
#include "redis/registry/command_keys.h"
#include "redis/registry/handlers.h"
#include "redis/wire/glob.h"

namespace postern::redis {

std::vector<Bytes> categories_of(const Command &command) {
  const auto in = [&](uint32_t category) { return (command.categories & category) != 0; };
  const bool admin = command.has(CommandFlag::admin);
  const struct {
    bool in;
    Bytes name;
  } all[] = {
      {in(Category::in_keyspace), "@keyspace"},
      {command.has(CommandFlag::readonly) && !in(Category::in_scripting), "@read"},
      {command.has(CommandFlag::write), "@write"},
      {in(Category::in_set), "@set"},
      {in(Category::in_sortedset), "@sortedset"},
      {in(Category::in_list), "@list"},
      {in(Category::in_hash), "@hash"},
      {in(Category::in_string), "@string"},
      {in(Category::in_bitmap), "@bitmap"},
      {in(Category::in_hyperloglog), "@hyperloglog"},
      {in(Category::in_geo), "@geo"},
      {admin || in(Category::in_admin), "@admin"},
      {in(Category::in_stream), "@stream"},
      {command.has(CommandFlag::pubsub), "@pubsub"},
      {command.has(CommandFlag::fast), "@fast"},
      {!command.has(CommandFlag::fast), "@slow"},
      {command.has(CommandFlag::blocking), "@blocking"},
      {admin || in(Category::in_dangerous), "@dangerous"},
      {in(Category::in_connection), "@connection"},
      {in(Category::in_transaction), "@transaction"},
      {in(Category::in_scripting), "@scripting"},
  };
  std::vector<Bytes> found;
  for (const auto &one : all)
    if (one.in) found.push_back(one.name);
  return found;
}

namespace lower {
namespace {

struct Named {
  uint32_t bit;
  Bytes name;
};

// In Redis's order.
constexpr Named flag_names[] = {
    {CommandFlag::write, "write"},
    {CommandFlag::readonly, "readonly"},
    {CommandFlag::denyoom, "denyoom"},
    {CommandFlag::admin, "admin"},
    {CommandFlag::pubsub, "pubsub"},
    {CommandFlag::noscript, "noscript"},
    {CommandFlag::blocking, "blocking"},
    {CommandFlag::loading, "loading"},
    {CommandFlag::stale, "stale"},
    {CommandFlag::skip_monitor, "skip_monitor"},
    {CommandFlag::skip_slowlog, "skip_slowlog"},
    {CommandFlag::fast, "fast"},
    {CommandFlag::no_auth, "no_auth"},
    {CommandFlag::no_mandatory_keys, "no_mandatory_keys"},
    {CommandFlag::no_async_loading, "no_async_loading"},
    {CommandFlag::no_multi, "no_multi"},
    {CommandFlag::movablekeys, "movablekeys"},
    {CommandFlag::allow_busy, "allow_busy"},
};

Bytes group_name(CommandGroup group) {
  switch (group) {
    case CommandGroup::connection: return "connection";
    case CommandGroup::server: return "server";
    case CommandGroup::transactions: return "transactions";
    case CommandGroup::string: return "string";
    case CommandGroup::bitmap: return "bitmap";
    case CommandGroup::hash: return "hash";
    case CommandGroup::generic: return "generic";
    case CommandGroup::list: return "list";
    case CommandGroup::set: return "set";
    case CommandGroup::sorted_set: return "sorted-set";
    case CommandGroup::cluster: return "cluster";
    case CommandGroup::pubsub: return "pubsub";
    case CommandGroup::scripting: return "scripting";
    case CommandGroup::stream: return "stream";
    case CommandGroup::hyperloglog: return "hyperloglog";
    case CommandGroup::geo: return "geo";
  }
  return "";
}

bool is_sub_of(const Command &command, const Command &container) {
  return command.name.size() > container.name.size() && command.name.starts_with(container.name) &&
         command.name[container.name.size()] == '|';
}

std::vector<const Command *> subcommands_of(const Command &container) {
  std::vector<const Command *> found;
  if (!container.is_container()) return found;
  for (const Command &command : commands())
    if (is_sub_of(command, container)) found.push_back(&command);
  return found;
}

size_t count_of_commands() {
  const std::span<const Command> all = commands();
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](const Command &one) { return !one.is_subcommand(); }));
}

void write_tips(Writer &writer, Bytes tips) {
  writer.set(tips.empty() ? 0 : 1 + static_cast<size_t>(std::count(tips.begin(), tips.end(), ' ')));
  while (!tips.empty()) {
    const size_t size = std::min(tips.find(' '), tips.size());
    writer.bulk(tips.substr(0, size));
    tips.remove_prefix(std::min(size + 1, tips.size()));
  }
}

void write_key_flags(Writer &writer, uint32_t flags) {
  const std::vector<Bytes> names = key_flag_names(flags);
  writer.set(names.size());
  for (const Bytes name : names) writer.status(name);
}

using Numbers = std::initializer_list<std::pair<Bytes, int64_t>>;

/// Writes how keys are found: `what` by `type` and these numbers.
void write_way(Writer &writer, Bytes what, Bytes type, const Numbers &numbers) {
  writer.bulk(what);
  writer.map(2);
  writer.bulk("type");
  writer.bulk(type);
  writer.bulk("spec");
  writer.map(numbers.size());
  for (const auto &[name, number] : numbers) {
    writer.bulk(name);
    writer.integer(number);
  }
}

void write_beginning(Writer &writer, const KeySpec &spec) {
  if (spec.find == KeySpec::Find::unknown) return write_way(writer, "begin_search", "unknown", {});
  const bool option = spec.find == KeySpec::Find::option;
  if (spec.find != KeySpec::Find::behind_word && !option)
    return write_way(writer, "begin_search", "index", {{"index", spec.first}});
  writer.bulk("begin_search");
  writer.map(2);
  writer.bulk("type");
  writer.bulk("keyword");
  writer.bulk("spec");
  writer.map(2);
  writer.bulk("keyword");
  writer.bulk(option ? spec.word : key_word);
  writer.bulk("startfrom");
  writer.integer(spec.first);
}

void write_key_spec(Writer &writer, const KeySpec &spec) {
  writer.map(spec.notes.empty() ? 3 : 4);
  if (!spec.notes.empty()) {
    writer.bulk("notes");
    writer.bulk(spec.notes);
  }
  writer.bulk("flags");
  write_key_flags(writer, spec.flags);
  write_beginning(writer, spec);
  switch (spec.find) {
    case KeySpec::Find::range:
    case KeySpec::Find::option:
      return write_way(writer, "find_keys", "range", {{"lastkey", spec.last}, {"keystep", spec.step}, {"limit", 0}});
    case KeySpec::Find::counted:
      return write_way(writer, "find_keys", "keynum", {{"keynumidx", 0}, {"firstkey", 1}, {"keystep", spec.step}});
    case KeySpec::Find::behind_word:
      return write_way(writer, "find_keys", "range", {{"lastkey", -1}, {"keystep", 1}, {"limit", 2}});
    case KeySpec::Find::unknown: return write_way(writer, "find_keys", "unknown", {});
  }
}

void write_info(Writer &writer, const Command &command) {
  writer.array(10);
  writer.bulk(command.name);
  writer.integer(command.arity);
  writer.set(static_cast<size_t>(std::count_if(std::begin(flag_names), std::end(flag_names),
                                               [&](const Named &flag) { return command.has(flag.bit); })));
  for (const Named &flag : flag_names)
    if (command.has(flag.bit)) writer.status(flag.name);
  writer.integer(command.first_key);
  writer.integer(command.last_key);
  writer.integer(command.key_step);
  const std::vector<Bytes> categories = categories_of(command);
  writer.set(categories.size());
  for (const Bytes category : categories) writer.status(category);
  write_tips(writer, command.tips);
  writer.set(command.key_specs.size());
  for (const KeySpec &spec : command.key_specs) write_key_spec(writer, spec);
  const std::vector<const Command *> subcommands = subcommands_of(command);
  if (subcommands.empty()) return writer.set(0);
  writer.array(subcommands.size());
  for (const Command *const subcommand : subcommands) write_info(writer, *subcommand);
}

void write_docs(Writer &writer, const Command &command) {
  const std::vector<const Command *> subcommands = subcommands_of(command);
  writer.bulk(command.name);
  writer.map(subcommands.empty() ? 3 : 4);
  writer.bulk("summary");
  writer.bulk(command.summary);
  writer.bulk("since");
  writer.bulk(command.since);
  writer.bulk("group");
  writer.bulk(group_name(command.group));
  if (subcommands.empty()) return;
  writer.bulk("subcommands");
  writer.map(subcommands.size());
  for (const Command *const subcommand : subcommands) write_docs(writer, *subcommand);
}

void write_all_infos(Writer &writer) {
  writer.array(count_of_commands());
  for (const Command &command : commands())
    if (!command.is_subcommand()) write_info(writer, command);
}

/// The commands that COMMAND LIST lists.
struct Filter {
  enum class By : uint8_t { nothing, module, category, pattern } by = By::nothing;
  Bytes value{};

  bool passes(const Command &command) const {
    switch (by) {
      case By::nothing: return true;
      case By::module: return false;
      case By::pattern: return glob_matches(value, command.name, true);
      case By::category: {
        const std::vector<Bytes> all = categories_of(command);
        return std::any_of(all.begin(), all.end(), [&](Bytes one) { return is_word(value, one.substr(1)); });
      }
    }
    return false;
  }
};

/// The command in the arguments of COMMAND GETKEYS; nullptr after answering an error.
const Command *command_with_keys(Call &call) {
  const std::span<const Bytes> asked = call.arguments.subspan(2);
  const Command *command = find_command(asked.front());
  if (command != nullptr && command->is_container() && asked.size() > 1) command = find_subcommand(*command, asked[1]);
  if (command == nullptr) {
    refuse(call, "ERR Invalid command specified");
  } else if (command->key_specs.empty()) {
    refuse(call, "ERR The command has no key arguments");
  } else if (!command->takes(asked.size())) {
    refuse(call, "ERR Invalid number of arguments specified for command");
  } else if (!command->has(CommandFlag::no_mandatory_keys) && keys_of(*command, asked).empty()) {
    refuse(call, "ERR Invalid arguments specified for command");
  } else {
    return command;
  }
  return nullptr;
}

/// Answers the keys of the command in the arguments; `write` writes one.
template <class Write>
Next answer_keys(Call &call, Write write) {
  const Command *const command = command_with_keys(call);
  if (command == nullptr) return Next::go_on;
  answer(call, [command, arguments = call.arguments.subspan(2), write](Writer &writer) {
    const std::vector<FoundKey> keys = keys_of(*command, arguments);
    writer.array(keys.size());
    for (const FoundKey &found : keys) write(writer, found);
  });
  return Next::go_on;
}

}  // namespace

/// A container without a subcommand: only COMMAND is allowed.
Next container(Call &call) {
  answer(call, [](Writer &writer) { write_all_infos(writer); });
  return Next::go_on;
}

Next command_count(Call &call) {
  return answer_integer(call, static_cast<int64_t>(count_of_commands()));
}

Next command_info(Call &call) {
  if (call.arguments.size() == 2) return container(call);
  answer(call, [names = call.arguments.subspan(2)](Writer &writer) {
    writer.array(names.size());
    for (const Bytes name : names) {
      if (const Command *const command = find_command(name)) write_info(writer, *command);
      else writer.nil();
    }
  });
  return Next::go_on;
}

Next command_docs(Call &call) {
  answer(call, [names = call.arguments.subspan(2)](Writer &writer) {
    if (names.empty()) {
      writer.map(count_of_commands());
      for (const Command &command : commands())
        if (!command.is_subcommand()) write_docs(writer, command);
      return;
    }
    writer.map(static_cast<size_t>(
        std::count_if(names.begin(), names.end(), [](Bytes name) { return find_command(name) != nullptr; })));
    for (const Bytes name : names)
      if (const Command *const command = find_command(name)) write_docs(writer, *command);
  });
  return Next::go_on;
}

Next command_list(Call &call) {
  const std::span<const Bytes> arguments = call.arguments;
  Filter filter;
  if (arguments.size() == 5 && is_word(arguments[2], "filterby")) {
    filter.value = arguments[4];
    if (is_word(arguments[3], "module")) filter.by = Filter::By::module;
    else if (is_word(arguments[3], "aclcat")) filter.by = Filter::By::category;
    else if (is_word(arguments[3], "pattern")) filter.by = Filter::By::pattern;
    else return refuse(call, syntax_error);
  } else if (arguments.size() != 2) {
    return refuse(call, syntax_error);
  }
  answer(call, [filter](Writer &writer) {
    const std::span<const Command> all = commands();
    const auto wanted = [&](const Command &one) { return filter.passes(one); };
    const auto count = static_cast<size_t>(std::count_if(all.begin(), all.end(), wanted));
    // As in Redis: all commands are a set, filtered ones a list.
    if (filter.by == Filter::By::nothing) writer.set(count);
    else writer.array(count);
    for (const Command &one : all)
      if (wanted(one)) writer.bulk(one.name);
  });
  return Next::go_on;
}

Next command_getkeys(Call &call) {
  return answer_keys(call, [](Writer &writer, const FoundKey &found) { writer.bulk(found.key); });
}

Next command_getkeysandflags(Call &call) {
  return answer_keys(call, [](Writer &writer, const FoundKey &found) {
    writer.array(2);
    writer.bulk(found.key);
    write_key_flags(writer, found.flags);
  });
}

/// HELP of any container.
Next help(Call &call) {
  const Bytes container = call.command.name.substr(0, call.command.name.find('|'));
  answer(call, [container](Writer &writer) {
    const Command *const command = find_command(container);
    const std::vector<const Command *> subcommands = subcommands_of(*command);
    writer.array(2 * subcommands.size() + 1);
    std::string name(container);
    std::transform(name.begin(), name.end(), name.begin(), [](char byte) { return byte - ('a' - 'A'); });
    writer.status(name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    for (const Command *const one : subcommands) {
      std::string sub(one->name.substr(container.size() + 1));
      std::transform(sub.begin(), sub.end(), sub.begin(),
                     [](char byte) { return byte >= 'a' && byte <= 'z' ? byte - ('a' - 'A') : byte; });
      writer.status(sub);
      writer.status("    " + std::string(one->summary));
    }
  });
  return Next::go_on;
}

}  // namespace lower
}  // namespace postern::redis
