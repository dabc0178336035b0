#include "engine/mariadb/server.h"

#include "engine/mariadb/hosted_session.h"

#include <new>

#include "engine/mariadb/attachment.h"
#include "engine/mariadb/housekeeping.h"
#include "engine/mariadb/not_now.h"
#include "engine/mariadb/select_plan.h"
#include "engine/mariadb/verification.h"
#include "engine/mariadb/vio_hooks.h"

namespace postern::mariadb {
namespace {

/// The worker's, for the memory it keeps.
OwnReads &own_reads() {
  static thread_local OwnReads reads;
  return reads;
}

/// COM_SLEEP, which no client sends, for a packet that is not the first one of a command.
enum_server_command command_of(Bytes packet) {
  constexpr size_t header_bytes = 4;
  if (packet.size() <= header_bytes || packet[3] != 0) return COM_SLEEP;
  return static_cast<enum_server_command>(static_cast<unsigned char>(packet[header_bytes]));
}

}  // namespace

bool HostedSession::run_in_turn(const Statement &statement, Counters &) {
  THD *const thd = thd_;
  if (thd == nullptr || statement.output == nullptr || statement.packet.empty()) return false;
  const enum_server_command command = command_of(statement.packet);
  // The commands that a plan is for, whatever else of it is known already.
  const bool asks_for_rows = command == COM_QUERY || command == COM_STMT_EXECUTE;
  if (statement.plan == nullptr || (!asks_for_rows && command != COM_STMT_PREPARE)) return keep_house(statement);
  // Else it is there to learn from what is answered.
  if (asks_for_rows && statement.values.size() != statement.plan->values()) return false;
  NotNow why = session_allows(thd);
  if (why == NotNow::answered && command == COM_STMT_EXECUTE) why = is_up_to_date(statement);
  if (why == NotNow::answered && asks_for_rows && is_to_be_verified()) {
    to_be_verified_ = true;
    why = NotNow::verified;
  }
  if (why == NotNow::answered) {
    const Attachment attachment(thd);
    thd->net.reading_or_writing = 0;
    why = asks_for_rows ? answer(statement) : promise(statement);
    thd->net.reading_or_writing = 1;
  }
  if (why == NotNow::answered) {
    if (command == COM_STMT_EXECUTE) learnt_.statement_id = 0;  // the server has not run it
    return true;
  }
  count(why);
  return false;
}

NotNow HostedSession::answer(const Statement &statement) {
  const auto &plan = *static_cast<const SelectPlan *>(statement.plan);
  std::optional<ColumnsTold> columns = columns_told(statement.packet);
  if (!columns) return plan.answer(thd_, own_reads(), statement, *statement.output, nullptr);
  Promised *const promised = promises_.find(promises_.meant(thd_, statement_id(statement.packet)));
  // What the server has noted of a statement of its own only the server changes.
  if (promised == nullptr && !columns->holds(thd_)) return NotNow::not_learnt;
  return plan.answer(thd_, own_reads(), statement, *statement.output,
                     promised != nullptr ? &promised->columns : &*columns);
}

/// The server serves the command, as on a thread of the pool, but that its answer leaves with the worker's turn.
bool HostedSession::keep_house(const Statement &statement) {
  THD *const thd = thd_;
  if (!is_housekeeping(thd, statement.packet)) return false;
  if (!promises_.empty() && !can_be_served_without(statement.packet)) return false;
  const Attachment attachment(thd);
  const Conversation conversation(thd->net.vio, statement.packet, *statement.output);
  thd->net.reading_or_writing = 0;
  do_command(thd, true);  // a session that it has ended is met by the next command
  thd->net.reading_or_writing = 1;
  note_served(statement.packet);
  note_context();
  learnt_ = {};
  return true;
}

}  // namespace postern::mariadb
