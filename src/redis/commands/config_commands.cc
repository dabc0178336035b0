// config_commands.cc: CONFIG GET and SET: options that client programs read, and the few settings of the door itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"

namespace postern::redis::lower {
namespace {

struct Option {
  Bytes name;
  std::string value;
  /// Changes it. Returns an error, or nothing. nullptr: it is a system variable of the server, or has no effect here.
  Bytes (*set)(Redis &protocol, Bytes value) = nullptr;
};

Bytes set_notices(Redis &protocol, Bytes value) {
  return protocol.notice_classes().choose(value)
             ? Bytes{}
             : Bytes("Invalid event class character. Use 'Ag$lshzxeKEtd', for the door tells of no others.");
}

Bytes set_slow_threshold(Redis &protocol, Bytes value) {
  int64_t number = 0;
  if (!parse_integer(value, number) || number < -1) return "argument couldn't be parsed into an integer";
  protocol.slow_log().threshold_us = number;
  return {};
}

Bytes set_slow_length(Redis &protocol, Bytes value) {
  int64_t number = 0;
  if (!parse_integer(value, number) || number < 0 || static_cast<uint64_t>(number) > SlowLog::length_max_max)
    return "argument must be between 0 and 10000 inclusive";
  protocol.slow_log().length_max = static_cast<size_t>(number);
  return {};
}

Bytes set_latency_threshold(Redis &protocol, Bytes value) {
  int64_t number = 0;
  if (!parse_integer(value, number) || number < 0) return "argument couldn't be parsed into an integer";
  protocol.latency_events().threshold_ms = std::min<int64_t>(number, INT32_MAX);
  return {};
}

std::vector<Option> options_of(const Redis &protocol) {
  Figures figures;
  protocol.tell(figures);
  const BoxBounds &boxes = protocol.settings().boxes;
  const int64_t slow_us = protocol.slow_log().threshold_us;
  const size_t slow_length = protocol.slow_log().length_max;
  const int64_t latency_ms = protocol.latency_events().threshold_ms;
  return {
      {"appendonly", "yes"},
      {"bind", figures.address},
      {"client-output-buffer-limit", "normal 0 0 0 slave 0 0 0 pubsub " + std::to_string(boxes.bytes_max) + " " +
                                         std::to_string(boxes.slow_bytes_max) + " " + std::to_string(boxes.slow_s_max)},
      {"databases", std::to_string(database_count)},
      {"hll-sparse-max-bytes", "3000"},
      {"latency-monitor-threshold", std::to_string(latency_ms), set_latency_threshold},
      {"maxclients", std::to_string(figures.connections_max)},
      {"maxmemory", "0"},
      {"maxmemory-policy", "noeviction"},
      {"notify-keyspace-events", protocol.notice_classes().letters(), set_notices},
      {"port", std::to_string(figures.port)},
      {"proto-max-bulk-len", std::to_string(protocol.settings().value_bytes_max)},
      {"requirepass", ""},
      {"save", ""},
      {"slowlog-log-slower-than", std::to_string(slow_us), set_slow_threshold},
      {"slowlog-max-len", std::to_string(slow_length), set_slow_length},
      {"timeout", std::to_string(figures.timeout)},
      {"unixsocket", figures.socket},
  };
}

bool matches_any(Bytes name, std::span<const Bytes> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](Bytes pattern) { return glob_matches(pattern, name, true); });
}

Next refuse_option(Call &call, Bytes name, Bytes why) {
  std::string text = "ERR CONFIG SET failed (possibly related to argument '";
  text.append(told_of(name, 128)).append("') - ").append(why);
  return refuse(call, text);
}

/// An option and its new value, as a client has them.
struct Wanted {
  const Option *option;
  Bytes name;
  Bytes value;
};

/// Returns false after answering an error; nothing is changed before all are found.
bool find_options(Call &call, const std::vector<Option> &options, std::vector<Wanted> &found) {
  const std::span<const Bytes> words = call.arguments;
  for (size_t i = 2; i < words.size(); i += 2) {
    const auto is_it = [&](const Option &one) { return is_word(words[i], one.name); };
    const auto option = std::find_if(options.begin(), options.end(), is_it);
    if (option == options.end()) {
      std::string text = "ERR Unknown option or number of arguments for CONFIG SET - '";
      text.append(told_of(words[i], 128)).append("'");
      refuse(call, text);
      return false;
    }
    if (option->set == nullptr && words[i + 1] != option->value) {
      refuse_option(call, words[i], "can't set immutable config");
      return false;
    }
    for (const Wanted &before : found) {
      if (before.option != &*option) continue;
      refuse_option(call, words[i], "duplicate parameter");
      return false;
    }
    found.push_back({&*option, words[i], words[i + 1]});
  }
  return true;
}

}  // namespace

Next config_get(Call &call) {
  const std::span<const Bytes> patterns = call.arguments.subspan(2);
  std::vector<std::pair<Bytes, Bytes>> found;
  for (const Option &one : options_of(call.session.protocol()))
    if (matches_any(one.name, patterns)) found.emplace_back(one.name, call.arena().copy(one.value));
  const std::span<std::pair<Bytes, Bytes>> kept = call.arena().array<std::pair<Bytes, Bytes>>(found.size());
  std::copy(found.begin(), found.end(), kept.begin());
  answer(call, [kept](Writer &writer) {
    writer.map(kept.size());
    for (const auto &[name, value] : kept) {
      writer.bulk(name);
      writer.bulk(value);
    }
  });
  return Next::go_on;
}

/// Sets all options or none.
Next config_set(Call &call) {
  if (call.arguments.size() % 2 != 0) return refuse(call, syntax_error);
  Redis &protocol = call.session.protocol();
  const std::vector<Option> options = options_of(protocol);
  std::vector<Wanted> wanted;
  if (!find_options(call, options, wanted)) return Next::go_on;
  const auto is_set = [](const Wanted &one) { return one.option->set != nullptr; };
  if (call.session.identity() != nullptr && std::any_of(wanted.begin(), wanted.end(), is_set))
    return refuse(call, "NOPERM with redis_auth=account this is a matter of the server's system variables");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!is_set(wanted[i])) continue;
    const Bytes error = wanted[i].option->set(protocol, wanted[i].value);
    if (error.empty()) continue;
    for (size_t before = i; before-- != 0;)
      if (is_set(wanted[before])) wanted[before].option->set(protocol, wanted[before].option->value);
    return refuse_option(call, wanted[i].name, error);
  }
  return answer_ok(call);
}

Next config_rewrite(Call &call) {
  return refuse(call, "ERR The server is running without a config file");
}

}  // namespace postern::redis::lower
