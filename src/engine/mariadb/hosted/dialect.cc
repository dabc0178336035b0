#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/dialect.h"

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

namespace postern::mariadb {
namespace {

/// Numbers for contexts, the same in all sessions; 0 for those without a number.
class Dialects {
 public:
  uint64_t number(const std::string &context) {
    constexpr size_t contexts_max = 65'536;
    const std::lock_guard guard(mutex_);
    if (const auto found = numbers_.find(context); found != numbers_.end()) return found->second;
    if (numbers_.size() == contexts_max) return 0;
    const uint64_t next = numbers_.size() + 1;
    numbers_.emplace(context, next);
    return next;
  }

 private:
  std::mutex mutex_;  // a leaf; taken when a session changes its context
  std::unordered_map<std::string, uint64_t> numbers_;
};
Dialects dialects;

template <class Number>
void append(std::string &context, Number number) {
  context.append(reinterpret_cast<const char *>(&number), sizeof number);
}

}  // namespace

/// Each character set has its own permanent CHARSET_INFO, each locale its MY_LOCALE. No database has an empty name.
std::string Dialect::context_of(const Settings &settings, Bytes database) {
  std::string context;
  append(context, settings.sql_mode);
  append(context, settings.old_behavior);
  append(context, settings.character_set_client);
  append(context, settings.collation_connection);
  append(context, settings.option_bits);
  append(context, settings.div_precincrement);
  append(context, settings.group_concat_max_len);
  append(context, settings.lc_time_names);
  if (!database.empty()) context.append(1, '.').append(database);
  return context;
}

/// The meaning of a text depends on these, and how the columns of its answer are described: quotients, GROUP_CONCAT and
/// names of days have lengths and decimals by the session's settings. Called after each command, which hardly ever
/// changes one of them.
void Dialect::note(const THD *thd) {
  const system_variables &variables = thd->variables;
  const Settings settings{.sql_mode = variables.sql_mode,
                          .old_behavior = variables.old_behavior,
                          .character_set_client = variables.character_set_client,
                          .collation_connection = variables.collation_connection,
                          .option_bits = variables.option_bits & OPTION_AUTO_IS_NULL,
                          .div_precincrement = variables.div_precincrement,
                          .group_concat_max_len = variables.group_concat_max_len,
                          .lc_time_names = variables.lc_time_names};
  const Bytes database = thd->db.str != nullptr ? Bytes(thd->db.str, thd->db.length) : Bytes();
  if (noted_ && settings == settings_ && database == database_) return;
  const std::string context = context_of(settings, database);
  database_.assign(database);
  settings_ = settings;
  noted_ = true;
  number_ = dialects.number(context);
}

std::optional<TextRules> Dialect::text_rules(const THD *thd) const {
  if (thd == nullptr || number_ == 0) return std::nullopt;
  const CHARSET_INFO &client = *thd->variables.character_set_client;
  if (&client != &my_charset_bin && !my_charset_is_ascii_based(&client)) return std::nullopt;
  return TextRules{.ansi_quotes = (thd->variables.sql_mode & MODE_ANSI_QUOTES) != 0,
                   .backslash_escapes = (thd->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES) == 0,
                   .safe_characters = client.mbmaxlen == 1 || std::strncmp(client.cs_name.str, "utf8", 4) == 0};
}

}  // namespace postern::mariadb
