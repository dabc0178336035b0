#include "engine/mariadb/server.h"

#include "engine/mariadb/hosted_session.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/mariadb/not_now.h"
#include "engine/mariadb/recognise.h"
#include "engine/mariadb/select_plan.h"

namespace postern::mariadb {
namespace {

constexpr size_t header_bytes = 4;

uint8_t command_of(Bytes packet) {
  return packet.size() > header_bytes ? static_cast<uint8_t>(packet[header_bytes]) : uint8_t{COM_SLEEP};
}

uint32_t id_at(Bytes bytes, size_t at) {
  return bytes.size() < at + 4 ? 0 : uint4korr(reinterpret_cast<const uchar *>(bytes.data() + at));
}

/// A plan whose rows can be found, if `why` is planned, and stays so.
std::shared_ptr<const SelectPlan> plan_of(THD *thd, ReadPlan read, WhyNot &why) {
  if (why != WhyNot::planned) return nullptr;
  auto plan = std::make_shared<const SelectPlan>(std::move(read));
  why = plan->look(thd);
  return why == WhyNot::planned ? plan : nullptr;
}

/// Numbers for contexts, the same in all sessions; 0 for those of which there is no telling.
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

void HostedSession::learn(const Statement &statement, Bytes answer, uint64_t version) {
  THD *const thd = thd_;
  const uint8_t command = command_of(statement.packet);
  if (command != COM_QUERY && command != COM_STMT_PREPARE && command != COM_STMT_EXECUTE) return;
  const bool told_error = answer.size() <= header_bytes || answer[header_bytes] == '\xff';
  if (command == COM_STMT_EXECUTE && !told_error) learnt_.statement_id = statement_id(statement.packet);
  if (session_allows(thd) != NotNow::answered) return;  // there will be another time
  if (const auto *const plan = static_cast<const SelectPlan *>(statement.plan); plan != nullptr) {
    if (plan->holds()) learn_answer(*plan, command, statement, answer, version);
    return;
  }
  // The statement that was made has its number behind the 0 that says so.
  if (command == COM_STMT_PREPARE && (answer.size() <= header_bytes || answer[header_bytes] != 0)) return;
  // Where a prepared statement was executed its conditions have changed, and point to what is gone: only its text is
  // good.
  if (command != COM_STMT_PREPARE) {
    if (!statement.form.empty()) learn_text(statement.form);
    return;
  }
  const uint32_t id = id_at(answer, header_bytes + 1);
  ::Statement *const prepared = thd->stmt_map.find(id);
  if (prepared == nullptr || prepared->lex == nullptr) return;
  learnt_.statement_id = id;
  // The server has put the columns that the table has now in the place of a star, and does so again after DDL.
  const Bytes text = statement.packet.substr(header_bytes + 1);
  if (prepared->lex->sql_command == SQLCOM_SELECT && text.find('*') != Bytes::npos) return learn_text(text);
  ReadPlan read;
  WhyNot why = recognise(thd, *prepared->lex, read);
  learnt_.plan = plan_of(thd, std::move(read), why);
  learnt_.final = why != WhyNot::planned;
  note_reason(why);
}

/// Of a SELECT, with a ? for each value.
void HostedSession::learn_text(Bytes text) {
  ReadPlan read;
  WhyNot why = plan_of_text(thd_, text, read);
  learnt_.plan = plan_of(thd_, std::move(read), why);
  learnt_.final = true;
  note_reason(why);
}

void HostedSession::note_reason(WhyNot why) {
  if (why != WhyNot::planned) learnt_.why_not = words(why);
  if (thd_->db.str != nullptr) learnt_.database.assign(thd_->db.str, thd_->db.length);
}

/// The statement that was prepared has its number in the answer.
void HostedSession::learn_answer(const SelectPlan &plan, uint8_t command, const Statement &statement, Bytes answer,
                                 uint64_t version) {
  if (command == COM_QUERY) return plan.learn(thd_, false, answer, version, {});
  uint32_t id = statement_id(statement.packet);
  if (command == COM_STMT_PREPARE) {
    if (answer.size() <= header_bytes || answer[header_bytes] != 0) return;
    id = learnt_.statement_id = id_at(answer, header_bytes + 1);
    plan.learn_told(thd_, answer, version, ColumnsTold::of(thd_, id));
  } else {
    plan.learn(thd_, true, answer, version, ColumnsTold::of(thd_, id));
  }
  if (const ::Statement *const last = thd_->last_stmt; last != nullptr && thd_->stmt_map.find(id) == nullptr)
    id = last->id;
  versions_[id] = plan.version() == version ? version : 0;
}

/// What a text means hangs on these. Each character set has its own CHARSET_INFO, for good.
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
  if (!my_charset_is_ascii_based(&client)) return std::nullopt;
  return TextRules{.ansi_quotes = (thd_->variables.sql_mode & MODE_ANSI_QUOTES) != 0,
                   .safe_characters = client.mbmaxlen == 1 || std::strncmp(client.cs_name.str, "utf8", 4) == 0};
}

}  // namespace postern::mariadb
