#include "redis/login.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/limits.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

constexpr Bytes wrong_password = "WRONGPASS invalid username-password pair or user is disabled.";

/// The server's fields in the reply to HELLO.
void write_server(Writer &writer, Client &client, bool read_only) {
  writer.map(7);
  writer.bulk("server");
  writer.bulk("redis");
  writer.bulk("version");
  writer.bulk(redis_version);
  writer.bulk("proto");
  writer.integer(writer.three() ? 3 : 2);
  writer.bulk("id");
  writer.integer(static_cast<int64_t>(client.id()));
  writer.bulk("mode");
  writer.bulk("standalone");
  writer.bulk("role");
  writer.bulk(read_only ? "replica" : "master");
  writer.bulk("modules");
  writer.array(0);
}

/// Called when nothing more can fail.
void take_on(RedisSession &session, int64_t resp, bool names, Bytes name) {
  if (resp != 0) session.client().speak(resp == 3 ? Resp::three : Resp::two);
  if (names) session.client().set_name(name);
}

Resp resp_after(const Call &call, const Greeting &greeting) {
  if (greeting.resp == 0) return call.resp;
  return greeting.resp == 3 ? Resp::three : Resp::two;
}

/// Continues after the verification: no other op follows the login.
class LoginStage final : public Stage {
 public:
  explicit LoginStage(const Greeting &greeting)
      : resp_(greeting.resp), names_(greeting.names), user_(greeting.user), name_(greeting.name) {}

  Next go_on(Call &call) override {
    RedisSession &session = call.session;
    if (session.candidate().account != nullptr) {
      session.identity()->account = std::move(session.candidate().account);
      session.client().set_user(user_);
      if (session.mailbox().is_monitor()) session.monitor();
      take_on(session, resp_, names_, name_);
    }
    session.end_login();
    return Next::go_on;
  }

 private:
  const int64_t resp_;
  const bool names_;
  const std::string user_;
  const std::string name_;
};

/// Receives the login's outcome.
class LoginReply final : public Reply {
 public:
  LoginReply(Output &output, Resp before, Resp after, bool greets, bool read_only, Client &client)
      : output_(output),
        passage_(output),
        before_(before),
        after_(after),
        greets_(greets),
        read_only_(read_only),
        client_(client) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    passage_.begin();
    if (outcome.failure != Failure::none) {
      Writer writer(output_, before_);
      if (outcome.failure == Failure::unauthorized) writer.error(wrong_password);
      else write_failure(writer, outcome);
      return;
    }
    Writer writer(output_, after_);
    if (greets_) write_server(writer, client_, read_only_);
    else writer.ok();
  }
  void restart() override { passage_.take_back(); }

 private:
  Output &output_;
  Passage passage_;
  const Resp before_;
  const Resp after_;
  const bool greets_;
  const bool read_only_;
  Client &client_;
};

Next add_login(Call &call, const Greeting &greeting, bool read_only) {
  RedisSession &session = call.session;
  if (greeting.user.empty() || greeting.user.size() > limits::name_bytes_max ||
      greeting.password.size() > limits::password_bytes_max)
    return refuse(call, wrong_password);
  session.begin_login();
  Op &op = call.batch.add();
  op.verb = Verb::login;
  op.identity = &session.candidate();
  op.reply = call.arena().make<LoginReply>(call.output, call.resp, resp_after(call, greeting), greeting.greets,
                                           read_only, session.client());
  op.login = call.arena().make<Login>(greeting.user, greeting.password);
  return session.wait_for(std::make_unique<LoginStage>(greeting));
}

Next greet(Call &call, const Greeting &greeting, bool read_only) {
  if (!call.session.knows_who())
    return refuse(call,
                  "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
                  "<user> <pass> option can be used to authenticate the client and select the RESP protocol version at "
                  "the same time");
  take_on(call.session, greeting.resp, greeting.names, greeting.name);
  call.resp = resp_after(call, greeting);
  answer(call,
         [&client = call.session.client(), read_only](Writer &writer) { write_server(writer, client, read_only); });
  return Next::go_on;
}

}  // namespace

bool is_client_name(Bytes name) {
  return std::all_of(name.begin(), name.end(), [](char byte) { return byte >= '!' && byte <= '~'; });
}

Next add_greeting(Call &call, const Greeting &greeting) {
  if (greeting.names && !is_client_name(greeting.name)) return refuse(call, bad_client_name);
  Figures figures;
  if (greeting.greets) call.session.protocol().tell(figures);
  const bool read_only = figures.read_only;
  if (greeting.logs_in && call.session.identity() != nullptr) return add_login(call, greeting, read_only);
  // Without accounts there is one user, with any password.
  if (greeting.logs_in && greeting.user != "default") return refuse(call, wrong_password);
  return greeting.greets ? greet(call, greeting, read_only) : answer_ok(call);
}

}  // namespace postern::redis
