#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/hosted_session.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/lex_of_text.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/recognise/recognise.h"
#include "engine/mariadb/hosted/recognise/recognise_change.h"
#include "engine/mariadb/hosted/planned/planned_form.h"
#include "engine/mariadb/hosted/plans/select_plan.h"
#include "engine/mariadb/hosted/plans/write_plan.h"

namespace postern::mariadb {

/// What a statement means, as the server's parser has read it.
struct StatementMeaning {
  std::optional<WhyNot> why = WhyNot::syntax;
  bool reads = false;
  ReadForm read{};
  ChangeForm change{};
};

namespace {

uint32_t id_at(Bytes bytes, size_t at) {
  return bytes.size() < at + 4 ? 0 : uint4korr(reinterpret_cast<const uchar *>(bytes.data() + at));
}

using Meaning = StatementMeaning;

Meaning meaning_of(THD *thd, LEX *lex, ParsedText parsed) {
  Meaning meaning;
  if (lex == nullptr) return meaning;
  meaning.reads = lex->sql_command == SQLCOM_SELECT;
  meaning.why =
      meaning.reads ? recognise(thd, *lex, parsed, meaning.read) : recognise_change(thd, *lex, meaning.change);
  return meaning;
}

/// Parses the text, in which each ? is a value.
Meaning meaning_of(THD *thd, Bytes text, ParsedText kind) {
  const LexOfText parsed(thd, text);
  return meaning_of(thd, parsed.lex(), kind);
}

/// A plan for rows that can be found, now and later; else `why` is the reason.
template <class Kind, class What>
std::shared_ptr<const Kind> plan_of(THD *thd, What &what, std::optional<WhyNot> &why) {
  auto plan = std::make_shared<const Kind>(std::move(what));
  why = plan->look(thd);
  return !why ? plan : nullptr;
}

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

/// Whether the server reads the parameters of an execution: not after long data that it could not take.
bool has_bound(THD *thd, uint32_t id) {
  const ::Statement *const prepared = id == last_prepared ? thd->last_stmt : thd->stmt_map.find(id);
  return prepared != nullptr && prepared->state != Query_arena::STMT_ERROR;
}

}  // namespace

void HostedSession::learn(const Statement &statement, Bytes answer, uint64_t version) {
  THD *const thd = thd_;
  const uint8_t command = command_of(statement.packet);
  if (command == COM_STMT_BULK_EXECUTE && (thd->client_capabilities & MARIADB_CLIENT_STMT_BULK_OPERATIONS) != 0)
    learnt_.statement_id = statement_id(statement.packet);
  if (command == COM_STMT_BULK_EXECUTE) versions_.erase(number_in(statement.packet));
  if (command != COM_QUERY && command != COM_STMT_PREPARE && command != COM_STMT_EXECUTE) return;
  if (command == COM_STMT_EXECUTE && has_bound(thd, statement_id(statement.packet)))
    learnt_.statement_id = statement_id(statement.packet);
  const std::optional<NotNow> why = session_allows(thd);
  // An observer of each statement does not change the meaning: people should see the form, and the reason.
  const bool only_seen = why && is_of_watchers(*why) && !thd->has_thd_temporary_tables() && statement.plan == nullptr;
  if (why && !only_seen) {
    // It may have met a temporary table, and be back with the other one later, which is as it was.
    if (command != COM_QUERY) versions_.erase(number_in(statement.packet));
    return;  // there will be another time
  }
  if (statement.plan != nullptr) {
    if (statement.plan->holds()) learn_answer(statement, answer, version);
    return;
  }
  // The conditions of an executed prepared statement have changed, and point to freed memory: only its text is good.
  if (command == COM_STMT_PREPARE) return learn_prepared(statement, answer);
  if (statement.form.empty()) return;
  if (command == COM_QUERY) learn_text(statement.form, ParsedText::form, answer);
  else learn_text(statement.form, ParsedText::own, {});
}

void HostedSession::learn_prepared(const Statement &statement, Bytes answer) {
  THD *const thd = thd_;
  // The id of the new statement comes after the 0 that means success.
  if (answer.size() <= header_bytes || answer[header_bytes] != 0) return;
  const uint32_t id = id_at(answer, header_bytes + 1);
  ::Statement *const prepared = thd->stmt_map.find(id);
  if (prepared == nullptr || prepared->lex == nullptr) return;
  learnt_.statement_id = id;
  // The server has put the columns that the table has now in the place of a star, and does so again after DDL.
  const Bytes text = statement.packet.substr(header_bytes + 1);
  const bool sends_rows = prepared->lex->sql_command == SQLCOM_SELECT || prepared->lex->has_returning();
  if (sends_rows && text.find('*') != Bytes::npos) return learn_text(text, ParsedText::own, {});
  Meaning meaning = meaning_of(thd, prepared->lex, ParsedText::own);
  if (!meaning.why) {
    if (meaning.reads) learnt_.plan = plan_of<SelectPlan>(thd, meaning.read, meaning.why);
    else learnt_.plan = plan_of<WritePlan>(thd, meaning.change, meaning.why);
  }
  if (learnt_.plan == nullptr) learn_form(text, ParsedText::own, meaning);
  learnt_.final = learnt_.plan == nullptr;
  note_reason(meaning.why);
}

/// Without a walk it may be planned once. If it is neither, the reason against that counts.
void HostedSession::learn_form(Bytes text, ParsedText parsed, StatementMeaning &meaning) {
  if (!meaning.reads || !meaning.why || !plans_once()) return;
  learnt_.plan = PlannedForm::make(thd_, text, parsed, meaning.why);
}

/// `answer`: the server's to a statement of this text with its values in it.
void HostedSession::learn_text(Bytes text, ParsedText parsed, Bytes answer) {
  THD *const thd = thd_;
  Meaning meaning = meaning_of(thd, text, parsed);
  if (!meaning.why && meaning.reads) {
    learnt_.plan = plan_of<SelectPlan>(thd, meaning.read, meaning.why);
  } else if (!meaning.why) {
    const auto plan = plan_of<WritePlan>(thd, meaning.change, meaning.why);
    if (plan != nullptr) plan->learn(thd, false, answer, 0);
    learnt_.plan = plan;
  }
  if (learnt_.plan == nullptr) learn_form(text, parsed, meaning);
  learnt_.final = true;
  note_reason(meaning.why);
}

void HostedSession::note_reason(std::optional<WhyNot> why) {
  if (why) learnt_.why_not = words(*why);
  learnt_.of_table = why && is_of_table(*why);
  if (thd_->db.str != nullptr) learnt_.database.assign(thd_->db.str, thd_->db.length);
}

/// The statement that was prepared has its number in the answer.
void HostedSession::learn_answer(const Statement &statement, Bytes answer, uint64_t version) {
  THD *const thd = thd_;
  const uint8_t command = command_of(statement.packet);
  uint32_t id = statement_id(statement.packet);
  if (command == COM_STMT_PREPARE) {
    if (answer.size() <= header_bytes || answer[header_bytes] != 0) return;
    id = learnt_.statement_id = id_at(answer, header_bytes + 1);
  }
  const bool prepared = command == COM_STMT_EXECUTE;
  const ClientMetadata columns = command != COM_QUERY ? ClientMetadata::of(thd, id) : ClientMetadata{};
  if (command == COM_STMT_PREPARE) {
    static_cast<const TablePlan *>(statement.plan)->learn_prepared(thd, answer, version, columns);
  } else if (statement.plan->writes()) {
    static_cast<const WritePlan *>(statement.plan)->learn(thd, prepared, answer, version);
  } else {
    static_cast<const AnsweringPlan *>(statement.plan)->learn(thd, statement, answer, version, columns);
  }
  // What failed may have done so before it met the table.
  if (command == COM_QUERY || thd->is_error()) return;
  if (prepared) id = number_in(statement.packet);
  versions_[id] = version_of(*statement.plan) == version ? version : 0;
}

/// The meaning of a text depends on these. Each character set has its own CHARSET_INFO, for good.
void HostedSession::note_context() {
  const THD *const thd = thd_;
  const system_variables &variables = thd->variables;
  std::string context;
  append(context, variables.sql_mode);
  append(context, variables.old_behavior);
  append(context, variables.character_set_client);
  append(context, variables.collation_connection);
  append(context, variables.option_bits & OPTION_AUTO_IS_NULL);
  if (thd->db.str != nullptr) context.append(1, '.').append(thd->db.str, thd->db.length);
  if (context == context_) return;
  context_ = std::move(context);
  dialect_ = dialects.number(context_);
}

std::optional<TextRules> HostedSession::text_rules() const {
  if (thd_ == nullptr || dialect_ == 0) return std::nullopt;
  const CHARSET_INFO &client = *thd_->variables.character_set_client;
  if (&client != &my_charset_bin && !my_charset_is_ascii_based(&client)) return std::nullopt;
  return TextRules{.ansi_quotes = (thd_->variables.sql_mode & MODE_ANSI_QUOTES) != 0,
                   .backslash_escapes = (thd_->variables.sql_mode & MODE_NO_BACKSLASH_ESCAPES) == 0,
                   .safe_characters = client.mbmaxlen == 1 || std::strncmp(client.cs_name.str, "utf8", 4) == 0};
}

}  // namespace postern::mariadb
