#include "engine/sql/texts/housekeeping.h"

#include <algorithm>
#include <span>

#include "engine/sql/texts/tokens.h"

namespace postern::sql {
namespace {

/// Variables with a value in memory, under no lock that is held for long. In lower case.
constexpr Bytes read_variables[] = {"auto_increment_increment",
                                    "auto_increment_offset",
                                    "autocommit",
                                    "character_set_client",
                                    "character_set_connection",
                                    "character_set_database",
                                    "character_set_filesystem",
                                    "character_set_results",
                                    "character_set_server",
                                    "character_set_system",
                                    "collation_connection",
                                    "collation_database",
                                    "collation_server",

                                    "foreign_key_checks",
                                    "group_concat_max_len",
                                    "hostname",
                                    "identity",
                                    "init_connect",
                                    "insert_id",
                                    "interactive_timeout",
                                    "last_insert_id",
                                    "lc_time_names",
                                    "license",
                                    "lock_wait_timeout",
                                    "lower_case_table_names",
                                    "max_allowed_packet",
                                    "max_statement_time",
                                    "net_buffer_length",
                                    "net_read_timeout",
                                    "net_write_timeout",
                                    "optimizer_switch",
                                    "performance_schema",
                                    "port",
                                    "protocol_version",
                                    "query_cache_size",
                                    "query_cache_type",
                                    "read_only",
                                    "server_id",
                                    "socket",
                                    "sql_auto_is_null",
                                    "sql_big_selects",
                                    "sql_mode",
                                    "sql_notes",
                                    "sql_safe_updates",
                                    "sql_select_limit",
                                    "sql_warnings",
                                    "system_time_zone",
                                    "time_zone",
                                    "transaction_isolation",
                                    "transaction_read_only",
                                    "tx_isolation",
                                    "tx_read_only",
                                    "unique_checks",
                                    "version",
                                    "version_comment",
                                    "version_compile_machine",
                                    "version_compile_os",
                                    "wait_timeout",
                                    "warning_count",
                                    "error_count"};

/// Variables that are set without waiting. time_zone is not among them: the server looks up any zone, even an offset or
/// SYSTEM, under a mutex that another session may hold while it reads a zone from its tables.
constexpr Bytes set_variables[] = {"autocommit",
                                   "character_set_client",
                                   "character_set_connection",
                                   "character_set_results",
                                   "collation_connection",
                                   "foreign_key_checks",
                                   "group_concat_max_len",
                                   "interactive_timeout",
                                   "lock_wait_timeout",
                                   "max_statement_time",
                                   "net_read_timeout",
                                   "net_write_timeout",
                                   "sql_auto_is_null",
                                   "sql_big_selects",
                                   "sql_mode",
                                   "sql_notes",
                                   "sql_quote_show_create",
                                   "sql_safe_updates",
                                   "sql_select_limit",
                                   "sql_warnings",
                                   "transaction_isolation",
                                   "transaction_read_only",
                                   "tx_isolation",
                                   "tx_read_only",
                                   "unique_checks",
                                   "wait_timeout"};

/// Functions without arguments that only read the session.
constexpr Bytes functions[] = {"connection_id", "current_role",   "current_user", "database",
                               "found_rows",    "last_insert_id", "row_count",    "schema",
                               "session_user",  "system_user",    "user",         "version"};

/// Functions of values and of the clock, and functions on locks that never wait. GET_LOCK may wait, see there.
constexpr Bytes joining_functions[] = {"concat",         "replace",      "ifnull",       "if",
                                       "coalesce",       "is_free_lock", "is_used_lock", "release_lock",
                                       "unix_timestamp", "sysdate",      "now"};

constexpr int nesting_max = 4;

bool is_one_of(Bytes text, std::span<const Bytes> words) {
  return std::ranges::any_of(words, [text](Bytes word) { return is_same_word(text, word); });
}

bool is_letter(char one) {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_';
}

/// Characters that mean themselves in a literal, in any character set and sql_mode.
bool is_plain(char one) {
  constexpr Bytes signs = " ,.:+-/@%=;()*|#!?[]{}<>&$^~";
  return is_letter(one) || signs.find(one) != Bytes::npos;
}

enum class Kind : uint8_t { end, word, quoted, number, literal, sign, unknown };

/// Reads a text token by token. Tokens that depend on the session are `unknown`.
class Tokens {
 public:
  explicit Tokens(Bytes text) : text_(text) { next(); }

  Kind kind() const { return kind_; }
  Bytes text() const { return token_.text; }
  void next() {
    do {
      token_ = token_at(text_, token_.to);
    } while (token_.kind == Token::Kind::comment && is_skipped());
    kind_ = judge();
  }

  bool is_word(Bytes word) const { return kind_ == Kind::word && is_same_word(token_.text, word); }
  bool take_word(Bytes word) { return take_if(is_word(word)); }
  bool take_sign(char sign) { return take_if(kind_ == Kind::sign && token_.text[0] == sign); }
  bool take(Kind kind) { return take_if(kind_ == kind); }
  /// The name of a variable, a savepoint and so on.
  bool take_name() { return take_if(kind_ == Kind::word || kind_ == Kind::quoted); }
  bool take_name_or_literal() { return take_name() || take(Kind::literal); }
  bool take_name_of(std::span<const Bytes> names) {
    return take_if((kind_ == Kind::word || kind_ == Kind::quoted) && is_one_of(token_.text, names));
  }
  bool take_equals() {
    if (take_sign(':')) return take_sign('=');
    return take_sign('=');
  }
  /// Whether nothing follows but a semicolon.
  bool at_end() {
    take_sign(';');
    return kind_ == Kind::end;
  }

 private:
  bool take_if(bool holds) {
    if (holds) next();
    return holds;
  }

  /// Not a comment that the server executes, nor one to the end of a line.
  bool is_skipped() const { return token_.closed && token_.text.starts_with("/*") && !token_.is_executed(); }

  Kind judge() const {
    switch (token_.kind) {
      case Token::Kind::end: return Kind::end;
      case Token::Kind::word: return is_plain_word() ? Kind::word : Kind::unknown;
      case Token::Kind::number: return Kind::number;
      case Token::Kind::name: return is_plainly_quoted('`') ? Kind::quoted : Kind::unknown;
      case Token::Kind::literal: return is_plainly_quoted('\'') ? Kind::literal : Kind::unknown;
      case Token::Kind::mark:
        return Bytes("=,;()@.:-").find(token_.text[0]) != Bytes::npos ? Kind::sign : Kind::unknown;
      case Token::Kind::comment:
      case Token::Kind::other: return Kind::unknown;
    }
    return Kind::unknown;
  }

  /// 1e5 is a number.
  bool is_plain_word() const {
    const bool begins_as_number = token_.text[0] >= '0' && token_.text[0] <= '9';
    return !begins_as_number && std::ranges::all_of(token_.text, is_letter);
  }
  bool is_plainly_quoted(char quote) const {
    const bool doubled = token_.to < text_.size() && text_[token_.to] == quote;
    return token_.closed && !doubled && std::ranges::all_of(token_.text, is_plain);
  }

  Bytes text_;
  Token token_{};
  Kind kind_ = Kind::end;
};

bool take_scope(Tokens &tokens) {
  return tokens.take_word("session") || tokens.take_word("local");
}

/// After the first @: a variable of the session's that is read, or a user's.
bool take_variable(Tokens &tokens) {
  if (!tokens.take_sign('@')) return tokens.take_name_or_literal();
  if ((take_scope(tokens) || tokens.take_word("global")) && !tokens.take_sign('.')) return false;
  return tokens.take_name_of(read_variables);
}

bool take_value(Tokens &tokens, int nesting);

/// After its opening parenthesis.
bool take_arguments(Tokens &tokens, int nesting) {
  if (tokens.take_sign(')')) return true;
  do {
    if (!take_value(tokens, nesting)) return false;
  } while (tokens.take_sign(','));
  return tokens.take_sign(')');
}

/// After the parenthesis of GET_LOCK: a lock that is asked for without waiting.
bool take_lock_at_once(Tokens &tokens, int nesting) {
  return take_value(tokens, nesting) && tokens.take_sign(',') && tokens.text() == "0" && tokens.take(Kind::number) &&
         tokens.take_sign(')');
}

/// A constant, a variable, or a function of these.
bool take_value(Tokens &tokens, int nesting) {
  if (nesting == nesting_max) return false;
  if (tokens.take_sign('-')) return tokens.take(Kind::number);
  if (tokens.take(Kind::number) || tokens.take(Kind::literal)) return true;
  if (tokens.take_sign('@')) return take_variable(tokens);
  if (tokens.kind() != Kind::word) return false;
  const Bytes word = tokens.text();
  tokens.next();
  if (!tokens.take_sign('(')) {
    constexpr Bytes constants[] = {"null", "true", "false", "current_user", "current_role"};
    return is_one_of(word, constants);
  }
  if (is_one_of(word, functions)) return tokens.take_sign(')');
  if (is_same_word(word, "get_lock")) return take_lock_at_once(tokens, nesting + 1);
  return is_one_of(word, joining_functions) && take_arguments(tokens, nesting + 1);
}

/// SELECT 1, @@version AS `version`, DATABASE() FROM DUAL LIMIT 1
Housekeeping select(Tokens &tokens) {
  do {
    if (!take_value(tokens, 0)) return Housekeeping::none;
    if (tokens.take_word("as")) {
      if (!tokens.take_name_or_literal()) return Housekeeping::none;
    } else if (!tokens.is_word("from") && !tokens.is_word("limit")) {
      tokens.take_name();
    }
  } while (tokens.take_sign(','));
  if (tokens.take_word("from") && !tokens.take_word("dual")) return Housekeeping::none;
  if (tokens.take_word("limit") && !tokens.take(Kind::number)) return Housekeeping::none;
  return tokens.at_end() ? Housekeeping::evaluate : Housekeeping::none;
}

Housekeeping evaluate(Tokens &tokens) {
  do {
    if (!take_value(tokens, 0)) return Housekeeping::none;
  } while (tokens.take_sign(','));
  return tokens.at_end() ? Housekeeping::evaluate : Housekeeping::none;
}

/// GET_LOCK('name', 5): the name, in at most as many bytes as the server takes; empty: something else.
Bytes take_lock(Tokens &tokens) {
  constexpr size_t name_bytes_max = 64;
  if (!tokens.take_word("get_lock") || !tokens.take_sign('(')) return {};
  const Bytes name = tokens.text();
  const bool taken =
      tokens.take(Kind::literal) && tokens.take_sign(',') && tokens.take(Kind::number) && tokens.take_sign(')');
  return taken && name.size() <= name_bytes_max ? name : Bytes();
}

/// SELECT IF(GET_LOCK('name', 5), 1, NULL) AS x: the same. Nothing keeps it from being evaluated.
Bytes select_lock(Tokens &tokens) {
  const bool is_condition = tokens.take_word("if");
  if (is_condition && !tokens.take_sign('(')) return {};
  const Bytes name = take_lock(tokens);
  if (name.empty()) return {};
  if (is_condition && (!tokens.take_sign(',') || !take_arguments(tokens, 1))) return {};
  if (tokens.take_word("as") && !tokens.take_name_or_literal()) return {};
  return tokens.at_end() ? name : Bytes();
}

bool take_transaction_modes(Tokens &tokens) {
  do {
    if (tokens.take_word("read")) {
      if (!tokens.take_word("only") && !tokens.take_word("write")) return false;
      continue;
    }
    if (!tokens.take_word("isolation") || !tokens.take_word("level")) return false;
    if (tokens.take_word("serializable")) continue;
    if (tokens.take_word("repeatable")
            ? !tokens.take_word("read")
            : !tokens.take_word("read") || !(tokens.take_word("committed") || tokens.take_word("uncommitted")))
      return false;
  } while (tokens.take_sign(','));
  return true;
}

/// The value of a variable: what SELECT may ask for, or a word, such as ON or DEFAULT or utf8mb4.
bool take_value_or_word(Tokens &tokens) {
  Tokens ahead = tokens;
  if (ahead.take(Kind::word) && (ahead.kind() == Kind::end || (ahead.kind() == Kind::sign && ahead.text()[0] != '('))) {
    tokens = ahead;
    return true;
  }
  return take_value(tokens, 0);
}

/// A variable of the session's that is set, without @@ and scope. `autocommit` becomes true if it is that.
bool take_set_variable(Tokens &tokens, bool &autocommit) {
  autocommit |= is_same_word(tokens.text(), "autocommit");
  return tokens.take_name_of(set_variables);
}

bool take_left_side(Tokens &tokens, bool &autocommit) {
  if (!tokens.take_sign('@')) {
    take_scope(tokens);
    return take_set_variable(tokens, autocommit);
  }
  if (!tokens.take_sign('@')) return tokens.take_name_or_literal();
  if (take_scope(tokens) && !tokens.take_sign('.')) return false;
  return take_set_variable(tokens, autocommit);
}

/// One thing that SET sets.
bool take_assignment(Tokens &tokens, bool &autocommit) {
  if (tokens.take_word("names"))
    return tokens.take_name_or_literal() && (!tokens.take_word("collate") || tokens.take_name_or_literal());
  if (tokens.take_word("charset")) return tokens.take_name_or_literal();
  if (tokens.take_word("character")) return tokens.take_word("set") && tokens.take_name_or_literal();
  return take_left_side(tokens, autocommit) && tokens.take_equals() && take_value_or_word(tokens);
}

Housekeeping set(Tokens &tokens) {
  Tokens transaction = tokens;
  take_scope(transaction);
  if (transaction.take_word("transaction"))
    return take_transaction_modes(transaction) && transaction.at_end() ? Housekeeping::set : Housekeeping::none;
  bool autocommit = false;
  do {
    if (!take_assignment(tokens, autocommit)) return Housekeeping::none;
  } while (tokens.take_sign(','));
  if (!tokens.at_end()) return Housekeeping::none;
  return autocommit ? Housekeeping::set_autocommit : Housekeeping::set;
}

Housekeeping begin(Tokens &tokens) {
  tokens.take_word("work");
  return tokens.at_end() ? Housekeeping::begin : Housekeeping::none;
}

/// WITH CONSISTENT SNAPSHOT is not among them: it may wait for those that commit.
Housekeeping start(Tokens &tokens) {
  if (!tokens.take_word("transaction")) return Housekeeping::none;
  if (tokens.take_word("read") && !tokens.take_word("only") && !tokens.take_word("write")) return Housekeeping::none;
  return tokens.at_end() ? Housekeeping::begin : Housekeeping::none;
}

Housekeeping end(Tokens &tokens, Housekeeping kind) {
  tokens.take_word("work");
  if (tokens.take_word("and") && !(tokens.take_word("no") && tokens.take_word("chain"))) return Housekeeping::none;
  if (tokens.take_word("no") && !tokens.take_word("release")) return Housekeeping::none;
  return tokens.at_end() ? kind : Housekeeping::none;
}

Housekeeping one_name(Tokens &tokens, Housekeeping kind) {
  return tokens.take_name() && tokens.at_end() ? kind : Housekeeping::none;
}

Housekeeping show(Tokens &tokens) {
  if (!tokens.take_word("warnings") && !tokens.take_word("errors")) return Housekeeping::none;
  return tokens.at_end() ? Housekeeping::warnings : Housekeeping::none;
}

}  // namespace

Housekeeping housekeeping_of(Bytes text) {
  Bytes lock;
  return housekeeping_of(text, lock);
}

Housekeeping housekeeping_of(Bytes text, Bytes &lock) {
  if (text.size() > housekeeping_bytes_max) return Housekeeping::none;
  Tokens tokens(text);
  if (tokens.take_word("select")) {
    Tokens again = tokens;
    const Housekeeping kind = select(tokens);
    if (kind != Housekeeping::none) return kind;
    lock = select_lock(again);
    return lock.empty() ? Housekeeping::none : Housekeeping::lock;
  }
  if (tokens.take_word("set")) return set(tokens);
  if (tokens.take_word("begin")) return begin(tokens);
  if (tokens.take_word("commit")) return end(tokens, Housekeeping::commit);
  if (tokens.take_word("rollback")) return end(tokens, Housekeeping::roll_back);
  if (tokens.take_word("start")) return start(tokens);
  if (tokens.take_word("do")) return evaluate(tokens);
  if (tokens.take_word("use")) return one_name(tokens, Housekeeping::use);
  if (tokens.take_word("savepoint")) return one_name(tokens, Housekeeping::savepoint);
  if (tokens.take_word("release"))
    return tokens.take_word("savepoint") ? one_name(tokens, Housekeeping::savepoint) : Housekeeping::none;
  if (tokens.take_word("show")) return show(tokens);
  return Housekeeping::none;
}

}  // namespace postern::sql
