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

/// The commands that a plan is for, whatever else of it is known already.
bool asks_for_rows(Bytes packet) {
  constexpr size_t header_bytes = 4;
  const auto command = static_cast<unsigned char>(packet.size() > header_bytes ? packet[header_bytes] : char{0});
  return (command == COM_QUERY || command == COM_STMT_EXECUTE) && packet[3] == 0;
}

}  // namespace

bool HostedSession::run_in_turn(const Statement &statement, Counters &) {
  THD *const thd = thd_;
  if (thd == nullptr || statement.output == nullptr || statement.packet.empty()) return false;
  if (statement.plan == nullptr || !asks_for_rows(statement.packet)) return keep_house(statement);
  if (statement.values.size() != statement.plan->values()) return false;  // it is there to learn from what is answered
  NotNow why = session_allows(thd);
  if (why == NotNow::answered && is_to_be_verified()) {
    to_be_verified_ = true;
    why = NotNow::verified;
  }
  if (why == NotNow::answered) {
    const Attachment attachment(thd);
    thd->net.reading_or_writing = 0;
    why = static_cast<const SelectPlan *>(statement.plan)->answer(thd, own_reads(), statement, *statement.output);
    thd->net.reading_or_writing = 1;
  }
  if (why == NotNow::answered) return true;
  count(why);
  return false;
}

/// The server serves the command, as on a thread of the pool, but that its answer leaves with the worker's turn.
bool HostedSession::keep_house(const Statement &statement) {
  THD *const thd = thd_;
  if (!is_housekeeping(thd, statement.packet)) return false;
  const Attachment attachment(thd);
  const Conversation conversation(thd->net.vio, statement.packet, *statement.output);
  thd->net.reading_or_writing = 0;
  do_command(thd, true);  // a session that it has ended is met by the next command
  thd->net.reading_or_writing = 1;
  note_context();
  learnt_ = {};
  return true;
}

}  // namespace postern::mariadb
