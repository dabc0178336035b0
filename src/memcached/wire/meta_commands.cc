#include "memcached/wire/meta_commands.h"

#include "memcached/wire/base64.h"

namespace postern::memcached {
namespace {

constexpr size_t meta_words_max = 19;
constexpr size_t opaque_bytes_max = 31;

constexpr Bytes bad_token = "CLIENT_ERROR bad token in command line format";
constexpr Bytes bad_format = "CLIENT_ERROR bad command line format";

/// The flags of one command, before they are combined.
struct Flags {
  char mode = '\0';
  bool vivifies = false;
  bool has_expiry = false;
  bool has_cas = false;
  bool has_new_cas = false;
  bool wants_size = false;
  bool opaque_too_long = false;
  Expiry expiry = 0;
  Expiry expiry_of_new = 0;
};

constexpr Bytes no_such_flag = "CLIENT_ERROR invalid flag";

/// Reads one flag; returns the line that refuses it, or nothing.
Bytes read_flag(Bytes flag, Request &request, Flags &flags) {
  const Bytes argument = flag.substr(1);
  switch (flag[0]) {
    case 'b':
      request.meta.base64 = true;
      return base64_bytes(request.key) == 0 ? Bytes("CLIENT_ERROR error decoding key") : Bytes{};
    case 'N': flags.vivifies = true; return parse_integer(argument, flags.expiry_of_new) ? Bytes{} : bad_token;
    case 'T': flags.has_expiry = true; return parse_integer(argument, flags.expiry) ? Bytes{} : bad_token;
    case 'C': flags.has_cas = true; return parse_natural(argument, request.item.cas) ? Bytes{} : bad_token;
    case 'E': flags.has_new_cas = true; return parse_natural(argument, request.item.new_cas) ? Bytes{} : bad_token;
    case 'F': return parse_natural_32(argument, request.item.flags) ? Bytes{} : bad_format;
    case 'M':
      if (argument.size() != 1) return "CLIENT_ERROR incorrect length for M token";
      flags.mode = argument[0];
      return {};
    case 'J':
      return parse_natural(argument, request.item.initial) ? Bytes{}
                                                           : Bytes("CLIENT_ERROR invalid numeric initial value");
    case 'D':
      return parse_natural(argument, request.item.delta) ? Bytes{} : Bytes("CLIENT_ERROR invalid numeric delta value");
    case 'O': flags.opaque_too_long = argument.size() > opaque_bytes_max; return {};
    case 'q': request.meta.quiet = true; return {};
    case 'v': request.meta.value = true; return {};
    case 's': flags.wants_size = true; return {};
    // Answered from the item, ignored by memcached (L, P), or about its eviction (u).
    case 'k':
    case 't':
    case 'c':
    case 'f':
    case 'L':
    case 'P':
    case 'u': return {};
  }
  // Among them h, l, R and I, which need the time of the last read and staleness: a row has neither.
  return no_such_flag;
}

/// Reads the flags from word `first` on. If several are wrong, the error names one that is unknown or repeated, else
/// the last; `md` and `ma` answer any error with one line, `line_for_all`.
bool read_flags(CommandLine &command, size_t first, Bytes line_for_all, Flags &flags) {
  const Words &words = command.words;
  command.request.meta.flags = words.from(first);
  bool seen[128] = {};
  Bytes line;
  for (size_t i = first; i < words.count(); ++i) {
    const auto letter = static_cast<unsigned char>(words[i][0]);
    if (letter >= 127 || seen[letter]) {
      line = "CLIENT_ERROR duplicate flag";
      break;
    }
    seen[letter] = true;
    const Bytes refusal = read_flag(words[i], command.request, flags);
    // Malformed item flags have no error of their own.
    if (!refusal.empty() && (line.empty() || refusal != bad_format)) line = refusal;
    if (refusal == no_such_flag) break;
  }
  if (line.empty()) return true;
  command.refuse(Refusal::bad_flag, line_for_all.empty() ? line : line_for_all);
  return false;
}

/// The last checks.
void check_opaque(const CommandLine &command, const Flags &flags) {
  if (flags.opaque_too_long) command.refuse(Refusal::bad_flag, "CLIENT_ERROR opaque token too long");
}

/// Key and number of words, as every command checks them first.
bool take_key(CommandLine &command, Bytes too_many_line) {
  if (command.words.count() < 2) {
    command.refuse(Refusal::unknown_command);
    return false;
  }
  command.request.key = command.words[1];
  if (command.request.key.size() > key_bytes_max) {
    command.refuse(Refusal::key_too_long);
    return false;
  }
  if (command.words.count() <= meta_words_max) return true;
  command.refuse(Refusal::bad_flag, too_many_line);
  return false;
}

constexpr Bytes too_many_line = "CLIENT_ERROR options flags too long";
constexpr Bytes any_flag_line = "CLIENT_ERROR invalid or duplicate flag";

void parse_get(CommandLine &command) {
  Request &request = command.request;
  request.ask(ItemAction::get);
  Flags flags;
  if (!take_key(command, "CLIENT_ERROR options flags are too long")) return;
  if (!read_flags(command, 2, {}, flags)) return;
  // An empty row, to be filled by the winner of a race, must not be visible to SQL.
  if (flags.vivifies || flags.has_new_cas) return command.refuse(Refusal::bad_flag);
  request.wants_value = request.meta.value || flags.wants_size;
  request.item.compares = request.item.cas != 0;
  request.item.touches = flags.has_expiry;
  request.expiry = flags.expiry;
  check_opaque(command, flags);
}

bool read_storage_mode(char mode, ItemAction &action) {
  switch (mode) {
    case '\0':
    case 'S':
    case 's': action = ItemAction::set; return true;
    case 'E':
    case 'e': action = ItemAction::add; return true;
    case 'A':
    case 'a': action = ItemAction::append; return true;
    case 'P':
    case 'p': action = ItemAction::prepend; return true;
    case 'R':
    case 'r': action = ItemAction::replace; return true;
  }
  return false;
}

void parse_set(CommandLine &command) {
  Request &request = command.request;
  request.ask(ItemAction::set);
  const bool length = command.announce_value(command.words[2]);
  Flags flags;
  if (!take_key(command, too_many_line)) return;
  if (!length) return command.refuse(Refusal::bad_format);
  if (!read_flags(command, 3, {}, flags)) return;
  if (!read_storage_mode(flags.mode, request.item.action))
    return command.refuse(Refusal::bad_flag, "CLIENT_ERROR invalid mode for ms M token");
  // As in memcached a CAS makes set and replace the same, and an add never meets an item to compare with.
  if (request.item.action == ItemAction::add) {
    request.item.cas = 0;
  } else if (flags.has_cas) {
    request.item.compares = true;
    if (request.item.action == ItemAction::replace) request.ask(ItemAction::set);
  }
  request.item.creates = request.item.joins() && flags.vivifies;
  request.expiry = request.item.creates ? flags.expiry_of_new : flags.expiry;
  request.item.sets_cas = flags.has_new_cas;
  check_opaque(command, flags);
}

/// Reads the key and the flags of a command without a value. False: it was refused.
bool begin_change(CommandLine &command, ItemAction action, Flags &flags) {
  command.request.ask(action);
  return take_key(command, too_many_line) && read_flags(command, 2, any_flag_line, flags);
}

void parse_meta_delete(CommandLine &command) {
  Request &request = command.request;
  Flags flags;
  if (!begin_change(command, ItemAction::erase, flags)) return;
  request.item.compares = flags.has_cas;
  request.item.sets_cas = flags.has_new_cas;
  check_opaque(command, flags);
}

void parse_arithmetic(CommandLine &command) {
  Request &request = command.request;
  Flags flags;
  if (!begin_change(command, ItemAction::increment, flags)) return;
  switch (flags.mode) {
    case '\0':
    case 'I':
    case 'i':
    case '+': break;
    case 'D':
    case 'd':
    case '-': request.ask(ItemAction::decrement); break;
    default: return command.refuse(Refusal::bad_flag, "CLIENT_ERROR invalid mode for ma M token");
  }
  request.item.compares = flags.has_cas;
  request.item.sets_cas = flags.has_new_cas;
  request.item.creates = flags.vivifies;
  request.item.touches = flags.has_expiry;
  request.expiry = flags.has_expiry ? flags.expiry : flags.expiry_of_new;
  check_opaque(command, flags);
}

/// `me <key> [b]`.
void parse_debug(CommandLine &command) {
  Request &request = command.request;
  request.ask(ItemAction::get);
  request.key = command.words[1];
  if (request.key.empty() || request.key.size() > key_bytes_max) return command.refuse(Refusal::bad_format);
  request.meta.base64 = command.words[2] == "b";
  if (request.meta.base64 && base64_bytes(request.key) == 0) command.refuse(Refusal::bad_format);
}

}  // namespace

void parse_meta(CommandLine &command) {
  const char letter = command.words[0][1];
  command.request.opcode = static_cast<uint8_t>(letter);
  switch (letter) {
    case 'g': return parse_get(command);
    case 's': return parse_set(command);
    case 'd': return parse_meta_delete(command);
    case 'a': return parse_arithmetic(command);
    case 'e': return parse_debug(command);
    case 'n': command.request.action = Action::noop; return;
  }
  command.refuse(Refusal::unknown_command);
}

void decode_key(Request &request) {
  // The key lies in bytes that the session owns and lets the parser change.
  char *const key = const_cast<char *>(request.key.data());
  request.key = {key, static_cast<size_t>(decode_base64(request.key, key) - key)};
}

}  // namespace postern::memcached
