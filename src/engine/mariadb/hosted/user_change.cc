#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/user_change.h"

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/hosted/logins_known.h"
#include "engine/mariadb/hosted/thd/command.h"

namespace postern::mariadb {
namespace {

/// With its end: as it is in packets.
constexpr Bytes native_method("mysql_native_password\0", 22);
/// The server lets a client fail so often, and refuses the next command at once.
constexpr unsigned failures_max = 3;

/// Cuts off a text and the zero at its end; empty: there is none.
Bytes take_text(Bytes &rest) {
  const size_t end = rest.find('\0');
  if (end == Bytes::npos) return rest = {};
  const Bytes text = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return text;
}

Bytes name_in(Bytes packet) {
  Bytes rest = packet.substr(header_bytes + 1);
  return take_text(rest);
}

/// Whether the client uses native passwords, according to the command.
bool is_native(Bytes packet) {
  constexpr size_t short_proof_bytes_max = 250;
  Bytes rest = packet.substr(header_bytes + 1);
  take_text(rest);
  if (rest.empty()) return false;
  const size_t proof_bytes = static_cast<unsigned char>(rest[0]);
  if (proof_bytes > short_proof_bytes_max || rest.size() <= 1 + proof_bytes) return false;
  rest.remove_prefix(1 + proof_bytes);
  take_text(rest);  // the database
  constexpr size_t charset_bytes = 2;
  return rest.size() > charset_bytes && rest.substr(charset_bytes).starts_with(native_method);
}

/// The server's request for a native password; empty: it would make a new scramble, or makes no request.
std::string question_of(THD *thd, Bytes packet) {
  constexpr ulonglong wanted = CLIENT_PROTOCOL_41 | CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH;
  if ((thd->client_capabilities & wanted) != wanted || thd->net.compress || packet.size() <= header_bytes + 1 ||
      packet[3] != 0 || packet.size() != header_bytes + uint3korr(reinterpret_cast<const uchar *>(packet.data())))
    return {};
  const Bytes scramble(thd->scramble, SCRAMBLE_LENGTH);
  if (thd->scramble[SCRAMBLE_LENGTH] != '\0' || scramble.find('\0') != Bytes::npos || !is_native(packet)) return {};
  std::string question(header_bytes, '\0');
  question.append(1, '\xfe').append(native_method).append(scramble).append(1, '\0');
  question[0] = static_cast<char>(question.size() - header_bytes);
  question[3] = 1;
  return question;
}

}  // namespace

bool UserChange::ask(THD *thd, Bytes packet, Output &output) {
  if (thd->killed != NOT_KILLED || thd->failed_com_change_user >= failures_max || is_client_of_cluster(thd))
    return false;
  question_ = question_of(thd, packet);
  if (question_.empty() || !answers_once(name_in(packet))) return false;
  packets_.assign(packet);
  output.put(question_);
  return true;
}

Bytes UserChange::with(Bytes reply) {
  return packets_.append(reply);
}

void UserChange::end(bool asked_otherwise) {
  if (asked_otherwise) note_answers(name_in(packets_), false);
  packets_ = {};
}

void UserChange::expect(THD *thd, Bytes packet) {
  question_ = question_of(thd, packet);
}

void UserChange::note_answer(Bytes packet, Bytes answer) const {
  if (!question_.empty() && answer.starts_with(question_)) note_answers(name_in(packet), true);
}

}  // namespace postern::mariadb
