#include "engine/mariadb/server.h"

#include "engine/mariadb/hosted_session.h"

#include <memory>

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

/// A plan of the statement for which it is known where its rows are; else why there is none.
std::shared_ptr<const SelectPlan> plan_of(THD *thd, LEX &lex, WhyNot &why) {
  ReadPlan read;
  why = recognise(thd, lex, read);
  if (why != WhyNot::planned) return nullptr;
  auto plan = std::make_shared<const SelectPlan>(std::move(read));
  why = plan->look(thd);
  return why == WhyNot::planned ? plan : nullptr;
}

}  // namespace

void HostedSession::learn(const Statement &statement, Bytes answer, uint64_t version) {
  THD *const thd = thd_;
  const uint8_t command = command_of(statement.packet);
  if (command != COM_QUERY && command != COM_STMT_PREPARE && command != COM_STMT_EXECUTE) return;
  if (session_allows(thd) != NotNow::answered) return;  // there will be another time
  if (const auto *const plan = static_cast<const SelectPlan *>(statement.plan); plan != nullptr) {
    if (command != COM_STMT_PREPARE && plan->holds()) plan->learn(thd, command == COM_STMT_EXECUTE, answer, version);
    return;
  }
  // The statement that was made has its number behind the 0 that says so.
  if (command == COM_STMT_PREPARE && (answer.size() <= header_bytes || answer[header_bytes] != 0)) return;
  // Where a prepared statement was executed its conditions have changed, and point to what is gone.
  if (command != COM_STMT_PREPARE) return;
  const uint32_t id = id_at(answer, header_bytes + 1);
  ::Statement *const prepared = thd->stmt_map.find(id);
  if (prepared == nullptr || prepared->lex == nullptr) return;
  WhyNot why = WhyNot::planned;
  learnt_.plan = plan_of(thd, *prepared->lex, why);
  learnt_.statement_id = id;
  learnt_.final = learnt_.plan == nullptr;
}

void HostedSession::note_context() {}

}  // namespace postern::mariadb
