// connection_commands.cc: PING, ECHO, AUTH, HELLO, SELECT, RESET, QUIT.
#include <string>

#include "redis/commands/flush.h"
#include "redis/login.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"
#include "redis/work/key_ops.h"

namespace postern::redis::lower {
namespace {

/// Forgets the client's account. Ops before this point to its identity, so it waits until they are settled.
class ForgetAccount final : public Stage {
 public:
  Next go_on(Call &call) override {
    call.session.identity()->account.reset();
    call.session.client().set_user({});
    return Next::go_on;
  }
};

/// The options of HELLO after the version. Returns false after answering an error.
bool read_options(Call &call, Greeting &greeting) {
  const std::span<const Bytes> arguments = call.arguments;
  for (size_t i = 2; i < arguments.size();) {
    const size_t left = arguments.size() - i - 1;
    if (is_word(arguments[i], "auth") && left >= 2) {
      greeting.logs_in = true;
      greeting.user = arguments[i + 1];
      greeting.password = arguments[i + 2];
      i += 3;
    } else if (is_word(arguments[i], "setname") && left >= 1) {
      greeting.names = true;
      greeting.name = arguments[i + 1];
      i += 2;
    } else {
      std::string text = "ERR Syntax error in HELLO option '";
      text.append(told_of(arguments[i], 128)).append("'");
      refuse(call, text);
      return false;
    }
  }
  return true;
}

}  // namespace

Next ping(Call &call) {
  if (call.arguments.size() > 2) return refuse_arity(call);
  if (call.session.mailbox().is_subscribed() && call.resp == Resp::two) {
    const Bytes text = call.arguments.size() == 1 ? Bytes() : call.arguments[1];
    answer(call, [text](Writer &writer) {
      writer.array(2);
      writer.bulk("pong");
      writer.bulk(text);
    });
    return Next::go_on;
  }
  return call.arguments.size() == 1 ? answer_status(call, "PONG") : answer_bulk(call, call.arguments[1]);
}

Next echo(Call &call) {
  return answer_bulk(call, call.arguments[1]);
}

Next auth(Call &call) {
  if (call.arguments.size() > 3) return refuse(call, syntax_error);
  Greeting greeting{.logs_in = true};
  if (call.arguments.size() == 3) {
    greeting.user = call.arguments[1];
    greeting.password = call.arguments[2];
    return add_greeting(call, greeting);
  }
  const Settings &settings = call.session.protocol().settings();
  const std::string user = settings.accounts ? settings.default_account.text() : "";
  if (user.empty())
    return refuse(call,
                  "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
                  "configuration is correct?");
  greeting.user = call.arena().copy(user);
  greeting.password = call.arguments[1];
  return add_greeting(call, greeting);
}

Next hello(Call &call) {
  Greeting greeting{.greets = true};
  if (call.arguments.size() > 1) {
    if (!parse_integer(call.arguments[1], greeting.resp))
      return refuse(call, "ERR Protocol version is not an integer or out of range");
    if (greeting.resp < 2 || greeting.resp > 3) return refuse(call, "NOPROTO unsupported protocol version");
  }
  if (!read_options(call, greeting)) return Next::go_on;
  return add_greeting(call, greeting);
}

Next select_database(Call &call) {
  int64_t number = 0;
  if (!read_database(call, call.arguments[1], number)) return Next::go_on;
  call.session.client().select(static_cast<uint8_t>(number));
  return answer_ok(call);
}

Next reset(Call &call) {
  // It is answered also under CLIENT REPLY OFF, which ends with it.
  Output &output = call.session.replies() == Replies::off ? call.session.output() : call.output;
  call.session.reset();
  flush_letters(call);
  answer_to(output, call, [](Writer &writer) { writer.status("RESET"); });
  return call.session.identity() == nullptr ? Next::go_on : call.session.wait_for(std::make_unique<ForgetAccount>());
}

Next quit(Call &call) {
  answer_ok(call);
  return Next::close;
}

}  // namespace postern::redis::lower
