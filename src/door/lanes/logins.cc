#include "door/lanes/logins.h"

#include "base/limits.h"
#include "base/log.h"
#include "net/address.h"

namespace postern::door {

Logins::Admission Logins::admit(SlowJob &job, const std::string &thread, size_t waiting, int64_t now_ms) {
  if (job.admitted) return Admission::now;
  const Op &op = job.op();
  const std::string place = net::Address::peer_network(op.identity->peer.fd());
  const Throttle::Verdict verdict = throttle_.ask(place, op.login->user, now_ms);
  if (verdict.refused || (verdict.due_ms > now_ms && waiting >= limits::logins_waiting_max)) {
    static log::Limited limited;
    if (uint64_t missed; limited.pass(missed))
      log::warning("%s: too many failed logins from %s, refusing some without looking", thread.c_str(), place.c_str());
    op.identity->account.reset();
    wipe_password(job);
    return Admission::refused;
  }
  job.admitted = true;
  if (verdict.due_ms <= now_ms) return Admission::now;
  job.due_ms = verdict.due_ms;
  return Admission::later;
}

void Logins::note(SlowJob &job, int64_t now_ms) {
  job.admitted = false;
  const Op &op = job.op();
  if (op.failure != Failure::none) return;  // it was refused by its protocol and not tried
  const std::string place = net::Address::peer_network(op.identity->peer.fd());
  throttle_.note(place, op.login->user, op.identity->account != nullptr, now_ms);
  wipe_password(job);
}

void Logins::wipe_password(SlowJob &job) {
  job.connection->input.wipe(job.op().login->password);
}

}  // namespace postern::door
