#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/prospect.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

#include "engine/mariadb/hosted/thd/command.h"

namespace postern::mariadb {
namespace {

/// Bytes of a text that make its kind.
constexpr size_t kind_bytes = 96;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Of texts that differ in their numbers alone it is the same.
uint64_t kind_of_text(Bytes text) {
  uint64_t kind = 0xcbf29ce484222325;
  char before = 0;
  for (const char c : text.substr(0, kind_bytes)) {
    if (!is_digit(c) || !is_digit(before))
      kind = (kind ^ static_cast<unsigned char>(is_digit(c) ? '0' : c)) * 0x100000001b3;
    before = c;
  }
  return kind;
}

/// Whether it begins with `word`, in letters of any case.
bool begins_with(Bytes text, Bytes word) {
  return text.size() > word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == (b | ('a' <= a && a <= 'z' ? 0x20 : 0));
         });
}

/// Without spaces, parentheses and comments before it; those that the server reads as a part of it are left.
Bytes from_first_word(Bytes text) {
  for (;;) {
    if (!text.empty() && (std::isspace(static_cast<unsigned char>(text[0])) != 0 || text[0] == '(')) {
      text.remove_prefix(1);
      continue;
    }
    if (!text.starts_with("/*") || text.starts_with("/*!") || text.starts_with("/*M")) return text;
    const size_t end = text.find("*/", 2);
    if (end == Bytes::npos) return text;
    text.remove_prefix(end + 2);
  }
}

template <size_t count>
bool begins_with_one(Bytes text, const Bytes (&words)[count]) {
  return std::any_of(std::begin(words), std::end(words), [text](Bytes word) { return begins_with(text, word); });
}

/// Whether what the text does may end with a commit, but for functions of users that write.
bool text_may_commit(Bytes text, bool in_transaction) {
  static constexpr Bytes reads[] = {"select", "show", "do", "use", "explain", "describe", "desc", "with"};
  static constexpr Bytes changes[] = {"update", "insert", "delete", "replace"};
  static constexpr Bytes sets[] = {"set"};  // autocommit, it may be
  text = from_first_word(text);
  if (begins_with_one(text, reads)) return false;
  if (begins_with_one(text, changes)) return !in_transaction;
  return !begins_with_one(text, sets) || in_transaction;
}

/// Whether it waits until nobody else has its tables open.
bool text_wants_tables(Bytes text) {
  static constexpr Bytes words[] = {"alter", "create", "drop",   "truncate", "rename",  "flush",
                                    "lock",  "backup", "repair", "optimize", "analyze", "check"};
  return begins_with_one(from_first_word(text), words);
}

bool may_commit(const LEX &lex, bool in_transaction) {
  switch (lex.sql_command) {
    case SQLCOM_SELECT:
    case SQLCOM_DO: return false;
    case SQLCOM_SET_OPTION: return in_transaction;
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI: return !in_transaction;
    default: return true;
  }
}

}  // namespace

Prospect prospect_of(THD *thd, const Statement &statement) {
  const bool in_transaction = thd->in_multi_stmt_transaction_mode();
  const Bytes packet = statement.packet;
  const uint8_t command = command_of(packet);
  const Bytes arguments = packet.substr(std::min(packet.size(), header_bytes + 1));
  switch (command) {
    case COM_QUERY:
      return {.kind = kind_of_text(arguments),
              .may_commit = text_may_commit(arguments, in_transaction),
              .wants_tables = text_wants_tables(arguments)};
    case COM_STMT_EXECUTE: {
      if (arguments.size() < 4) return {.kind = command};
      const uint32_t id = uint4korr(reinterpret_cast<const uchar *>(arguments.data()));
      const uint64_t kind = kind_of_text({reinterpret_cast<const char *>(&id), sizeof id}) ^ thd->thread_id;
      if (statement.plan != nullptr) return {.kind = kind, .may_commit = statement.plan->writes() && !in_transaction};
      const ::Statement *const prepared = thd->stmt_map.find(id);
      return {.kind = kind,
              .may_commit = prepared == nullptr || prepared->lex == nullptr ||
                            mariadb::may_commit(*prepared->lex, in_transaction)};
    }
    case COM_BINLOG_DUMP: return {.kind = command, .endless = true};
    case COM_CHANGE_USER: return {.kind = command, .endless = true};  // whatever verifies it may wait
    case COM_QUIT:
    case COM_INIT_DB:
    case COM_FIELD_LIST:
    case COM_STATISTICS:
    case COM_PROCESS_INFO:
    case COM_PING:
    case COM_SET_OPTION:
    case COM_RESET_CONNECTION:
    case COM_STMT_PREPARE:
    case COM_STMT_FETCH:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_RESET:
    case COM_STMT_CLOSE: return {.kind = command};
    default: return {.kind = command, .may_commit = true};
  }
}

}  // namespace postern::mariadb
