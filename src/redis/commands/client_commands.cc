// client_commands.cc: CLIENT and its subcommands.
#include <string>

#include "base/clock.h"
#include "redis/login.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis::lower {
namespace {

Next answer_lines(Call &call, const std::string &text) {
  answer(call, [copy = call.arena().copy(text)](Writer &writer) { writer.verbatim(copy); });
  return Next::go_on;
}

/// The client may see and end connections of this account.
std::string own_user(Call &call) {
  return call.session.client().user();
}

bool is_client_type(Bytes word) {
  return is_word(word, "normal") || is_word(word, "master") || is_word(word, "slave") || is_word(word, "replica") ||
         is_word(word, "pubsub");
}

/// False: there is no client of that type.
bool read_type(Bytes word, ClientFilter &filter) {
  filter.of = is_word(word, "pubsub") ? ClientFilter::Of::pubsub : ClientFilter::Of::normal;
  return is_word(word, "pubsub") || is_word(word, "normal");
}

struct Kill {
  ClientFilter filter{};
  bool skips_me = true;
  bool nobody = false;  // the type asked for is that of no client
};

/// `CLIENT KILL name value ...`. An error of the arguments, or nothing.
std::string read_filters(std::span<const Bytes> arguments, bool has_accounts, Kill &kill) {
  for (size_t i = 2; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return std::string(syntax_error);
    const Bytes name = arguments[i];
    const Bytes value = arguments[i + 1];
    if (is_word(name, "id")) {
      int64_t id = 0;
      if (!parse_integer(value, id) || id < 1) return "ERR client-id should be greater than 0";
      kill.filter.id = static_cast<uint64_t>(id);
    } else if (is_word(name, "addr")) {
      kill.filter.address = value;
    } else if (is_word(name, "laddr")) {
      kill.filter.local_address = value;
    } else if (is_word(name, "user")) {
      kill.filter.user = value;
      // With accounts the server decides.
      if (!has_accounts && value != "default") return "ERR No such user '" + std::string(told_of(value)) + "'";
    } else if (is_word(name, "type")) {
      if (!is_client_type(value)) return "ERR Unknown client type '" + std::string(told_of(value)) + "'";
      kill.nobody = !read_type(value, kill.filter);
    } else if (is_word(name, "skipme")) {
      if (!is_word(value, "yes") && !is_word(value, "no")) return std::string(syntax_error);
      kill.skips_me = is_word(value, "yes");
    } else {
      return std::string(syntax_error);
    }
  }
  return {};
}

Next answer_switch(Call &call) {
  if (!is_word(call.arguments[2], "on") && !is_word(call.arguments[2], "off")) return refuse(call, syntax_error);
  return answer_ok(call);
}

}  // namespace

Next client_id(Call &call) {
  return answer_integer(call, static_cast<int64_t>(call.session.client().id()));
}

Next client_getname(Call &call) {
  const std::string name = call.session.client().name();
  if (!name.empty()) return answer_bulk(call, call.arena().copy(name));
  answer(call, [](Writer &writer) { writer.nil(); });
  return Next::go_on;
}

Next client_setname(Call &call) {
  if (!is_client_name(call.arguments[2])) return refuse(call, bad_client_name);
  call.session.client().set_name(call.arguments[2]);
  return answer_ok(call);
}

Next client_setinfo(Call &call) {
  if (!is_word(call.arguments[2], "lib-name") && !is_word(call.arguments[2], "lib-ver")) {
    std::string text = "ERR Unrecognized option '";
    text.append(call.arguments[2].substr(0, 128)).append("'");
    return refuse(call, text);
  }
  if (!is_client_name(call.arguments[3])) {
    std::string text(is_word(call.arguments[2], "lib-name") ? "ERR lib-name" : "ERR lib-ver");
    return refuse(call, text, " cannot contain spaces, newlines or special characters.");
  }
  Client &client = call.session.client();
  if (is_word(call.arguments[2], "lib-name")) client.set_library(call.arguments[3]);
  else client.set_library_version(call.arguments[3]);
  return answer_ok(call);
}

Next client_info(Call &call) {
  return answer_lines(call, call.session.client().line(clock_ms()) + "\n");
}

Next client_list(Call &call) {
  const std::span<const Bytes> arguments = call.arguments;
  Clients &clients = call.session.protocol().clients();
  if (arguments.size() == 2) return answer_lines(call, clients.lines(own_user(call), {}, clock_ms()));
  std::string text;
  if (arguments.size() == 4 && is_word(arguments[2], "type")) {
    if (!is_client_type(arguments[3]))
      return refuse(call, "ERR Unknown client type '" + std::string(told_of(arguments[3])) + "'");
    ClientFilter filter;
    if (read_type(arguments[3], filter)) text = clients.lines(own_user(call), filter, clock_ms());
  } else if (arguments.size() > 3 && is_word(arguments[2], "id")) {
    for (const Bytes argument : arguments.subspan(3)) {
      int64_t id = 0;
      if (!parse_integer(argument, id)) return refuse(call, "ERR Invalid client ID");
      if (id > 0) text += clients.lines(own_user(call), {.id = static_cast<uint64_t>(id)}, clock_ms());
    }
  } else {
    return refuse(call, syntax_error);
  }
  return answer_lines(call, text);
}

Next client_kill(Call &call) {
  Kill kill;
  const bool by_address = call.arguments.size() == 3;
  if (by_address) {
    kill.filter.address = call.arguments[2];
    kill.skips_me = false;
  } else if (const std::string error = read_filters(call.arguments, call.session.identity() != nullptr, kill);
             !error.empty()) {
    return refuse(call, error);
  }
  Killed told;
  if (!kill.nobody) told = call.session.protocol().clients().kill(call.session.client(), kill.filter, kill.skips_me);
  const auto [killed, denied, self] = told;
  if (self) call.session.end();
  if (killed == 0 && denied != 0)
    return refuse(call,
                  "NOPERM this user has no permissions to run the 'client|kill' command on connections of others");
  if (!by_address) return answer_integer(call, static_cast<int64_t>(killed));
  return killed != 0 ? answer_ok(call) : refuse(call, "ERR No such client");
}

/// ON is answered, the others are not.
Next client_reply(Call &call) {
  const Bytes word = call.arguments[2];
  if (is_word(word, "on")) {
    call.session.set_replies(Replies::on);
    answer_to(call.session.output(), call, [](Writer &writer) { writer.ok(); });
    return Next::go_on;
  }
  if (is_word(word, "off")) {
    call.session.set_replies(Replies::off);
    return Next::go_on;
  }
  if (!is_word(word, "skip")) return refuse(call, syntax_error);
  if (call.session.replies() != Replies::off) call.session.set_replies(Replies::skip);
  return Next::go_on;
}

Next client_unblock(Call &call) {
  const std::span<const Bytes> arguments = call.arguments;
  Unblocked how = Unblocked::as_late;
  if (arguments.size() > 4) {
    std::string text = "ERR unknown subcommand or wrong number of arguments for '";
    text.append(arguments[1]).append("'. Try CLIENT HELP.");
    return refuse(call, text);
  }
  if (arguments.size() == 4) {
    if (is_word(arguments[3], "error")) how = Unblocked::with_error;
    else if (!is_word(arguments[3], "timeout"))
      return refuse(call, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  int64_t id = 0;
  if (!parse_integer(arguments[2], id)) return refuse(call, not_an_integer);
  Redis &protocol = call.session.protocol();
  const auto client = static_cast<uint64_t>(id);
  if (protocol.clients().is_others(own_user(call), client))
    return refuse(call,
                  "NOPERM this user has no permissions to run the 'client|unblock' command on connections of others");
  return answer_integer(call, protocol.waiters().unblock(client, how) ? 1 : 0);
}

Next client_no_evict(Call &call) {
  return answer_switch(call);
}

Next client_no_touch(Call &call) {
  return answer_switch(call);
}

Next client_getredir(Call &call) {
  return answer_integer(call, -1);
}

}  // namespace postern::redis::lower
