#include "engine/mariadb/server.h"

#include "engine/mariadb/housekeeping.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/mariadb/command.h"
#include "engine/mariadb/not_now.h"

namespace postern::mariadb {
namespace {

constexpr size_t text_bytes_max = 100;
constexpr size_t words_max = 8;

/// A short text as words and signs, in small letters; nothing if there is anything else in it.
class Words {
 public:
  explicit Words(Bytes text) {
    if (text.size() > text_bytes_max) return;
    std::transform(text.begin(), text.end(), text_.begin(),
                   [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
    Bytes rest(text_.data(), text.size());
    while (!rest.empty()) {
      if (std::isspace(static_cast<unsigned char>(rest[0]))) {
        rest.remove_prefix(1);
        continue;
      }
      const size_t size = word_bytes(rest);
      if (size == 0 || count_ == words_max) {
        count_ = 0;
        return;
      }
      words_[count_++] = rest.substr(0, size);
      rest.remove_prefix(size);
    }
    if (count_ != 0 && words_[count_ - 1] == ";") --count_;
  }

  bool are(std::initializer_list<Bytes> others) const {
    return std::equal(words_.begin(), words_.begin() + count_, others.begin(), others.end());
  }
  size_t size() const { return count_; }
  Bytes operator[](size_t at) const { return at < count_ ? words_[at] : Bytes{}; }

 private:
  /// How long the first of the bytes' words is: letters, a text in quotes, or one sign.
  static size_t word_bytes(Bytes bytes) {
    if (bytes[0] == '=' || bytes[0] == ';') return 1;
    if (bytes[0] == '\'') {
      const size_t end = bytes.find('\'', 1);
      const bool plain = end != Bytes::npos && std::ranges::all_of(bytes.substr(1, end - 1), is_letter);
      return plain ? end + 1 : 0;
    }
    return static_cast<size_t>(std::ranges::find_if_not(bytes, is_letter) - bytes.begin());
  }
  static bool is_letter(char one) {
    return (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9') || one == '_' || one == '@' || one == '.';
  }

  std::array<char, text_bytes_max> text_;
  std::array<Bytes, words_max> words_;
  size_t count_ = 0;
};

/// The end of a transaction that has changed nothing, of InnoDB alone, is written nowhere: neither FLUSH TABLES WITH
/// READ LOCK nor a stage of BACKUP, nor a disk, nor a replica holds it up.
bool wrote_nothing(THD *thd) {
  const auto &all = thd->transaction->all;
  if (all.modified_non_trans_table) return false;
  handlerton *const innodb = ha_resolve_by_legacy_type(thd, DB_TYPE_INNODB);
  for (Ha_trx_info *info = all.ha_list; info != nullptr; info = info->next())
    if (info->ht() != innodb || info->is_trx_read_write()) return false;
  return true;
}

/// With it the next transaction begins at once, or the session ends.
bool completes_plainly(THD *thd) {
  return thd->variables.completion_type == 0 && wrote_nothing(thd);
}

bool sets_autocommit(const Words &words) {
  const size_t name = words[1] == "session" || words[1] == "local" ? 2 : 1;
  if (words[0] != "set" || words.size() != name + 3 || words[name + 1] != "=") return false;
  const auto is_one_of = [](Bytes word, std::initializer_list<Bytes> others) {
    return std::ranges::find(others, word) != others.end();
  };
  return is_one_of(words[name], {"autocommit", "@@autocommit", "@@session.autocommit", "@@local.autocommit"}) &&
         is_one_of(words[name + 2], {"0", "1", "on", "off", "true", "false"});
}

bool is_plain_word(Bytes word) {
  return !word.empty() && word.find_first_of("@.=;") == Bytes::npos;
}

/// What the server knows of character sets is in its program: it waits for nothing.
bool sets_names(const Words &words) {
  if (words[0] != "set" || words[1] != "names" || !is_plain_word(words[2])) return false;
  return words.size() == 3 || (words.size() == 5 && words[3] == "collate" && is_plain_word(words[4]));
}

bool text_cannot_wait(THD *thd, Bytes text) {
  if (thd->variables.query_cache_type != 0 && query_cache.query_cache_size != 0) return false;
  const Words words(text);
  if (words.are({"begin"}) || words.are({"begin", "work"}) || words.are({"start", "transaction"}) ||
      words.are({"start", "transaction", "read", "only"}) || words.are({"start", "transaction", "read", "write"}))
    return wrote_nothing(thd);  // it ends the transaction before
  if (words.are({"commit"}) || words.are({"commit", "work"}) || words.are({"rollback"}) ||
      words.are({"rollback", "work"}))
    return completes_plainly(thd);
  if (sets_autocommit(words)) return wrote_nothing(thd);  // may end a transaction
  return sets_names(words);
}

/// A prepared BEGIN, COMMIT or ROLLBACK.
bool execution_cannot_wait(THD *thd, Bytes arguments) {
  if (arguments.size() < 4) return false;
  ::Statement *const statement = thd->stmt_map.find(uint4korr(reinterpret_cast<const uchar *>(arguments.data())));
  if (statement == nullptr || statement->lex == nullptr) return false;
  const LEX &lex = *statement->lex;
  switch (lex.sql_command) {
    case SQLCOM_BEGIN:
      return (lex.start_transaction_opt & MYSQL_START_TRANS_OPT_WITH_CONS_SNAPSHOT) == 0 && wrote_nothing(thd);
    case SQLCOM_COMMIT:
    case SQLCOM_ROLLBACK: return lex.tx_chain != TVL_YES && lex.tx_release != TVL_YES && completes_plainly(thd);
    default: return false;
  }
}

/// Ends transaction, locks, variables and prepared statements: without rows changed, tables of the session's own, and
/// with nobody who sets a global variable just now, none of that waits.
bool reset_cannot_wait(THD *thd) {
  if (thd->has_thd_temporary_tables() || thd->ull_hash.records != 0 || !wrote_nothing(thd)) return false;
  if (mysql_mutex_trylock(&LOCK_global_system_variables) != 0) return false;
  mysql_mutex_unlock(&LOCK_global_system_variables);
  return true;
}

}  // namespace

bool is_housekeeping(THD *thd, Bytes packet) {
  if (packet.size() <= header_bytes || packet[3] != 0 || thd->net.compress) return false;
  const Bytes arguments = packet.substr(header_bytes + 1);
  switch (static_cast<unsigned char>(packet[header_bytes])) {
    // Neither these two nor the next looks at a table; what statements hold is memory.
    case COM_PING: break;
    case COM_STMT_CLOSE:
    case COM_STMT_RESET: break;
    case COM_QUERY:
      if (!text_cannot_wait(thd, arguments)) return false;
      break;
    case COM_STMT_EXECUTE:
      if (!execution_cannot_wait(thd, arguments)) return false;
      break;
    case COM_RESET_CONNECTION:
      if (!reset_cannot_wait(thd)) return false;
      break;
    default: return false;
  }
  return housekeeping_allows(thd) == NotNow::answered;
}

}  // namespace postern::mariadb
