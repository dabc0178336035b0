// acl_commands.cc: ACL, limited to the client's name and the categories of commands. Accounts and their grants are the
// server's.
#include <sys/random.h>

#include <algorithm>
#include <string>
#include <vector>

#include "redis/commands/categories.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

// In Redis's order.
constexpr Bytes category_names[] = {"keyspace",   "read",        "write",    "set",         "sortedset", "list",
                                    "hash",       "string",      "bitmap",   "hyperloglog", "geo",       "stream",
                                    "pubsub",     "admin",       "fast",     "slow",        "blocking",  "dangerous",
                                    "connection", "transaction", "scripting"};

/// The account's name; without accounts there is one user.
std::string own_name(RedisSession &session) {
  const std::string user = session.client().user();
  return user.empty() ? "default" : user;
}

void write_texts(Writer &writer, const std::vector<std::string> &texts) {
  writer.array(texts.size());
  for (const std::string &text : texts) writer.bulk(text);
}

}  // namespace

namespace lower {

Next acl_whoami(Call &call) {
  answer(call, [&session = call.session](Writer &writer) { writer.bulk(own_name(session)); });
  return Next::go_on;
}

Next acl_users(Call &call) {
  answer(call, [&session = call.session](Writer &writer) { write_texts(writer, {own_name(session)}); });
  return Next::go_on;
}

Next acl_list(Call &call) {
  answer(call, [&session = call.session](Writer &writer) {
    const bool accounts = session.identity() != nullptr;
    write_texts(writer, {"user " + own_name(session) + (accounts ? " on" : " on nopass") + " ~* &* +@all"});
  });
  return Next::go_on;
}

Next acl_getuser(Call &call) {
  answer(call, [&session = call.session, wanted = call.arguments[2]](Writer &writer) {
    if (wanted != own_name(session)) return writer.nil();
    const bool accounts = session.identity() != nullptr;
    writer.map(6);
    writer.bulk("flags");
    writer.set(accounts ? 1 : 2);
    writer.bulk("on");
    if (!accounts) writer.bulk("nopass");
    writer.bulk("passwords");
    writer.array(0);
    writer.bulk("commands");
    writer.bulk("+@all");
    writer.bulk("keys");
    writer.bulk("~*");
    writer.bulk("channels");
    writer.bulk("&*");
    writer.bulk("selectors");
    writer.array(0);
  });
  return Next::go_on;
}

Next acl_cat(Call &call) {
  const std::span<const Bytes> words = call.arguments;
  if (words.size() > 3)
    return refuse(call, "ERR unknown subcommand or wrong number of arguments for 'cat'. Try ACL HELP.");
  if (words.size() == 2) {
    answer(call, [](Writer &writer) {
      writer.array(std::size(category_names));
      for (const Bytes name : category_names) writer.bulk(name);
    });
    return Next::go_on;
  }
  const auto is_it = [&](Bytes name) { return is_word(words[2], name); };
  const auto *const category = std::find_if(std::begin(category_names), std::end(category_names), is_it);
  if (category == std::end(category_names)) {
    std::string text = "ERR Unknown category '";
    text.append(told_of(words[2], 128)).append("'");
    return refuse(call, text);
  }
  answer(call, [wanted = *category](Writer &writer) {
    std::vector<std::string> names;
    for (const Command &command : commands())
      for (const Bytes one : categories_of(command))
        if (one.substr(1) == wanted) names.emplace_back(command.name);
    write_texts(writer, names);
  });
  return Next::go_on;
}

Next acl_genpass(Call &call) {
  constexpr int64_t bits_max = 4'096;
  int64_t bits = 256;
  if (call.arguments.size() > 3)
    return refuse(call, "ERR unknown subcommand or wrong number of arguments for 'genpass'. Try ACL HELP.");
  if (call.arguments.size() == 3 && !parse_integer(call.arguments[2], bits)) return refuse(call, not_an_integer);
  if (bits <= 0 || bits > bits_max)
    return refuse(
        call,
        "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096");
  unsigned char raw[bits_max / 4];
  const auto count = static_cast<size_t>((bits + 3) / 4);
  for (size_t done = 0; done < count;) {
    const ssize_t got = ::getrandom(raw + done, std::min<size_t>(count - done, 256), 0);
    if (got <= 0) return refuse(call, "ERR there is no randomness");
    done += static_cast<size_t>(got);
  }
  std::string text;
  for (size_t i = 0; i < count; ++i) text += "0123456789abcdef"[raw[i] % 16];
  return answer_bulk(call, call.arena().copy(text));
}

/// The server logs refusals.
Next acl_log(Call &call) {
  int64_t count = 0;
  if (call.arguments.size() > 3)
    return refuse(call, "ERR unknown subcommand or wrong number of arguments for 'log'. Try ACL HELP.");
  if (call.arguments.size() == 3 && is_word(call.arguments[2], "reset")) return answer_ok(call);
  if (call.arguments.size() == 3 && !parse_integer(call.arguments[2], count)) return refuse(call, not_an_integer);
  answer(call, [](Writer &writer) { writer.array(0); });
  return Next::go_on;
}

Next acl_refuse_change(Call &call) {
  return refuse(call, "ERR accounts are the server's: CREATE USER, GRANT and DROP USER change them");
}

}  // namespace lower
}  // namespace postern::redis
