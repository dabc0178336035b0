#include "redis/monitoring.h"

#include <cctype>
#include <string>
#include <utility>

#include "redis/session.h"

namespace postern::redis {
namespace {

constexpr Bytes redacted = "(redacted)";

/// In quotes, with escapes as in C.
void put_quoted(std::string &line, Bytes text) {
  constexpr Bytes digits = "0123456789abcdef";
  line += '"';
  for (const char byte : text) {
    switch (byte) {
      case '\\': line += "\\\\"; continue;
      case '"': line += "\\\""; continue;
      case '\n': line += "\\n"; continue;
      case '\r': line += "\\r"; continue;
      case '\t': line += "\\t"; continue;
      case '\a': line += "\\a"; continue;
      case '\b': line += "\\b"; continue;
      default: break;
    }
    const auto code = static_cast<unsigned char>(byte);
    if (code >= ' ' && code <= '~') line += byte;
    else line.append("\\x") += {digits[code >> 4], digits[code & 15]};
  }
  line += '"';
}

/// Which of its arguments is a user's name or a password.
bool is_secret(const Command &command, std::span<const Bytes> arguments, size_t at) {
  if (command.name == "auth") return at != 0;
  if (command.name != "hello") return false;
  const auto is_auth = [&](size_t place) {
    return place > 1 && place < arguments.size() && is_word(arguments[place], "auth");
  };
  return at > 2 && (is_auth(at - 1) || is_auth(at - 2));
}

std::string line_of(RedisSession &session, const Command &command, std::span<const Bytes> arguments, Bytes from) {
  std::string line = "[" + std::to_string(session.client().database()) + " ";
  line.append(from).append("]");
  for (size_t at = 0; at != arguments.size(); ++at) {
    line += ' ';
    put_quoted(line, is_secret(command, arguments, at) ? redacted : arguments[at]);
  }
  return line;
}

std::string address_of(RedisSession &session) {
  std::string address = session.client().address();
  if (!address.starts_with("unix:")) return address;
  Figures figures;
  session.protocol().tell(figures);
  return "unix:" + figures.socket;
}

/// Notes a line in its turn, once, and may show the transaction's lines so far.
class NoteShown final : public Kept, public Reply {
 public:
  NoteShown(RedisSession &session, std::string line, bool shows)
      : session_(session), line_(std::move(line)), shows_(shows) {}

  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {
    ShownCommands &shown = session_.shown_commands();
    if (!line_.empty() && !std::exchange(noted_, true)) {
      id_ = shown.next_id();
      shown.add(line_);
    }
    if (shows_) session_.show_commands();
  }
  /// Lines that were shown are not noted again.
  void restart() override {
    if (noted_ && session_.shown_commands().take_back(id_, id_ + 1)) noted_ = false;
  }

 private:
  RedisSession &session_;
  const std::string line_;
  const bool shows_;
  bool noted_ = false;
  uint64_t id_ = 0;
};

void add_note(Call &call, std::string line, bool shows) {
  call.batch.add().reply = &call.session.tables().keep<NoteShown>(call.session, std::move(line), shows);
}

}  // namespace

bool is_shown(const RedisSession &session, const Command &command) {
  return session.is_monitored() && !command.has(CommandFlag::admin);
}

Next show(Call &call, Handler carry_out) {
  RedisSession &session = call.session;
  const auto line = [&] { return line_of(session, call.command, call.arguments, address_of(session)); };
  // Nothing may follow the op of a login; a script's commands are shown after it.
  const bool logs_in = call.command.has(CommandFlag::no_auth) && session.identity() != nullptr;
  const bool is_script = call.command.has(CommandFlag::skip_monitor);
  if (logs_in || is_script) add_note(call, line(), !is_script);
  const Next next = carry_out(call);
  if (logs_in) return next;
  const bool ends = !call.in_unit;
  if (!is_script) add_note(call, line(), ends);
  else if (ends) add_note(call, {}, ends);
  return next;
}

void note_shown_of_script(RedisSession &session, const Command &command, std::span<const Bytes> arguments) {
  ShownCommands &shown = session.shown_commands();
  shown.add(line_of(session, command, arguments, "lua"));
  if (shown.is_full()) session.show_commands();
}

}  // namespace postern::redis
