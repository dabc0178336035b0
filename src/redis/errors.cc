#include "redis/errors.h"

namespace postern::redis {
namespace {

struct Words {
  Bytes beginning;
  bool told_why;  ///< the server's message follows
};

/// Errors that clients act upon have codes of their own; for others the kind decides.
Words words_for(Failure failure) {
  switch (failure) {
    case Failure::unauthorized: return {"NOAUTH Authentication required.", false};
    case Failure::privilege_denied:
      return {"NOPERM this user has no permissions to access one of the keys used as arguments", false};
    case Failure::read_only: return {"READONLY You can't write against a read only replica.", false};
    case Failure::out_of_memory: return {"OOM command not allowed when used memory > 'maxmemory'.", false};
    case Failure::too_many_connections: return {"ERR max number of clients reached", false};
    case Failure::too_many_logins: return {"ERR too many failed logins, try again later", false};
    case Failure::stopping: return {"ERR server is shutting down", false};
    case Failure::bad_key_value: return {"ERR ", true};
    default: break;
  }
  switch (kind_of(failure)) {
    case FailureKind::busy: return {"TRYAGAIN ", true};
    case FailureKind::schema: return {"ERR mapping cannot be used: ", true};
    case FailureKind::request:
    case FailureKind::access:
    case FailureKind::value:
    case FailureKind::conflict:
    case FailureKind::limit:
    case FailureKind::server: break;
  }
  return {"ERR ", true};
}

}  // namespace

void write_failure(Writer &writer, const Outcome &outcome) {
  const Words words = words_for(outcome.failure);
  if (!words.told_why) return writer.failure(words.beginning);
  writer.failure(words.beginning, outcome.message.empty() ? failure_text(outcome.failure) : outcome.message);
}

}  // namespace postern::redis
