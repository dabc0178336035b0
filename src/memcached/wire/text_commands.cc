#include "memcached/wire/text_commands.h"

#include "base/http.h"

namespace postern::memcached {
namespace {

constexpr Bytes noreply = "noreply";

void refuse_count(const CommandLine &command) {
  command.refuse(Refusal::unknown_command);
}

/// The key, which is the second word.
bool take_key(const CommandLine &command) {
  command.request.key = command.words[1];
  if (command.request.key.size() <= key_bytes_max) return true;
  command.refuse(Refusal::key_too_long);
  return false;
}

void take_noreply(const CommandLine &command) {
  command.request.quiet = command.words.last() == noreply;
}

/// `set` and variants: key, flags, expiry, bytes, and for `cas` the CAS.
void parse_storage(CommandLine &command, ItemAction action, bool compares) {
  const Words &words = command.words;
  const size_t words_min = compares ? 6 : 5;
  if (words.count() != words_min && words.count() != words_min + 1) return refuse_count(command);
  Request &request = command.request;
  request.ask(action);
  take_noreply(command);
  const bool length = command.announce_value(words[4]);
  if (!take_key(command)) return;
  const bool numbers =
      parse_natural_32(words[2], request.item.flags) && parse_integer(words[3], request.expiry) && length;
  request.item.compares = compares;
  if (!numbers || (compares && !parse_natural(words[5], request.item.cas))) command.refuse(Refusal::bad_format);
}

void parse_arithmetic(CommandLine &command, ItemAction action) {
  const Words &words = command.words;
  if (words.count() != 3 && words.count() != 4) return refuse_count(command);
  command.request.ask(action);
  take_noreply(command);
  if (!take_key(command)) return;
  if (!parse_natural(words[2], command.request.item.delta)) command.refuse(Refusal::bad_delta);
}

void parse_touch(CommandLine &command) {
  const Words &words = command.words;
  if (words.count() != 3 && words.count() != 4) return refuse_count(command);
  command.request.ask(ItemAction::touch);
  take_noreply(command);
  if (!take_key(command)) return;
  if (!parse_integer(words[2], command.request.expiry)) command.refuse(Refusal::bad_expiry);
}

/// `delete <key> [0] [noreply]`: the 0 is a time that very old clients send.
void parse_delete(CommandLine &command) {
  const Words &words = command.words;
  if (words.count() < 2 || words.count() > 4) return refuse_count(command);
  command.request.ask(ItemAction::erase);
  if (words.count() > 2) {
    take_noreply(command);
    const bool zero = words[2] == "0";
    const bool valid = words.count() == 3 ? zero || command.request.quiet : zero && command.request.quiet;
    if (!valid) {
      return command.refuse(Refusal::bad_format,
                            "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
    }
  }
  (void)take_key(command);
}

void parse_flush(CommandLine &command) {
  const Words &words = command.words;
  if (words.count() > 3) return refuse_count(command);
  command.request.ask(ItemAction::flush);
  take_noreply(command);
  if (words.count() == (command.request.quiet ? 2 : 1)) return;
  Expiry delay = 0;
  if (!parse_integer(words[1], delay)) return command.refuse(Refusal::bad_expiry);
  if (delay > 0) command.refuse(Refusal::not_supported, "CLIENT_ERROR flush_all with a delay is not supported");
}

/// Accepted, because it is harmless and changes nothing.
void accept(const CommandLine &command) {
  command.request.action = Action::verbosity;
}

void parse_verbosity(CommandLine &command) {
  if (command.words.count() != 2 && command.words.count() != 3) return refuse_count(command);
  take_noreply(command);
  accept(command);
  uint32_t level = 0;
  if (!parse_natural_32(command.words[1], level)) command.refuse(Refusal::bad_format);
}

/// `stats cachedump <class> <most>`: there are no classes whose items could be listed.
void check_dump(const CommandLine &command) {
  constexpr uint32_t classes = 64;
  uint32_t number = 0, most = 0;
  if (command.words.count() < 4) return command.refuse(Refusal::bad_format, "CLIENT_ERROR bad command line");
  if (!parse_natural_32(command.words[2], number) || !parse_natural_32(command.words[3], most))
    return command.refuse(Refusal::bad_format);
  if (number >= classes) command.refuse(Refusal::bad_format, "CLIENT_ERROR Illegal slab id");
}

void parse_statistics(CommandLine &command) {
  const Bytes which = command.words[1];
  if (which.size() > key_bytes_max) return command.refuse(Refusal::unknown_command);
  command.request.action = Action::statistics;
  command.request.key = which;
  // For `detail`: on, off or dump, or enough of another word to show that it is none of these.
  if (which == "detail") command.request.detail = command.words[2].substr(0, 5);
  if (which == "cachedump") check_dump(command);
}

void parse_memory_limit(CommandLine &command) {
  if (command.words.count() != 2 && command.words.count() != 3) return refuse_count(command);
  take_noreply(command);
  uint32_t megabytes = 0;
  if (!parse_natural_32(command.words[1], megabytes)) return refuse_count(command);
  command.refuse(Refusal::not_supported, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
}

void parse_slabs(CommandLine &command) {
  const Words &words = command.words;
  if (words.count() == 4 && words[1] == "reassign")
    return command.refuse(Refusal::not_supported, "CLIENT_ERROR slab reassignment disabled");
  if (words.count() < 3 || words[1] != "automove") return refuse_count(command);
  take_noreply(command);
  accept(command);
  uint32_t level = 0;
  if (words[2] == "ratio") {
    if (words.count() < 4) refuse_count(command);
  } else if (!parse_natural_32(words[2], level)) {
    command.refuse(Refusal::bad_format);
  } else if (level > 2) {
    refuse_count(command);
  }
}

void parse_crawler(CommandLine &command) {
  const Words &words = command.words;
  if (words.count() == 2 && words[1] == "disable") return accept(command);
  if (words.count() == 2 && words[1] == "enable")
    return command.refuse(Refusal::not_supported, "ERROR failed to start lru crawler thread");
  if (words.count() != 3) return refuse_count(command);
  if (words[1] == "crawl" || words[1] == "metadump")
    return command.refuse(Refusal::not_supported, "CLIENT_ERROR lru crawler disabled");
  if (words[1] != "tocrawl" && words[1] != "sleep") return refuse_count(command);
  accept(command);
  uint32_t number = 0;
  if (!parse_natural_32(words[2], number)) return command.refuse(Refusal::bad_format);
  if (words[1] == "sleep" && number > 1'000'000)
    command.refuse(Refusal::bad_format, "CLIENT_ERROR sleep must be one second or less");
}

void parse_watch(CommandLine &command) {
  take_noreply(command);
  command.refuse(Refusal::not_supported, "CLIENT_ERROR watch commands not allowed");
}

void parse_other(CommandLine &command) {
  if (is_http(command.words.from(0))) command.request.action = Action::quit;
  else command.refuse(Refusal::unknown_command);
}

void parse_administration(CommandLine &command) {
  const Bytes name = command.words[0];
  if (name == "version") {
    command.request.action = Action::version;
  } else if (name == "quit") {
    command.request.action = Action::quit;
  } else if (name == "stats") {
    parse_statistics(command);
  } else if (name == "flush_all") {
    parse_flush(command);
  } else if (name == "verbosity") {
    parse_verbosity(command);
  } else if (name == "shutdown") {
    command.refuse(Refusal::not_supported, "ERROR: shutdown not enabled");
  } else if (name == "cache_memlimit") {
    parse_memory_limit(command);
  } else if (name == "slabs") {
    parse_slabs(command);
  } else if (name == "lru_crawler") {
    parse_crawler(command);
  } else if (name == "watch") {
    parse_watch(command);
  } else {
    parse_other(command);
  }
}

}  // namespace

void parse_text(CommandLine &command) {
  const Bytes name = command.words[0];
  if (name == "set") return parse_storage(command, ItemAction::set, false);
  if (name == "add") return parse_storage(command, ItemAction::add, false);
  if (name == "cas") return parse_storage(command, ItemAction::set, true);
  if (name == "incr") return parse_arithmetic(command, ItemAction::increment);
  if (name == "decr") return parse_arithmetic(command, ItemAction::decrement);
  if (name == "delete") return parse_delete(command);
  if (name == "touch") return parse_touch(command);
  if (name == "replace") return parse_storage(command, ItemAction::replace, false);
  if (name == "append") return parse_storage(command, ItemAction::append, false);
  if (name == "prepend") return parse_storage(command, ItemAction::prepend, false);
  parse_administration(command);
}

}  // namespace postern::memcached
