#include "handlersocket/session.h"

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/http.h"
#include "base/limits.h"

namespace postern::handlersocket {

std::unique_ptr<Session> HandlerSocket::open_session(Output &output, const Peer &peer) {
  if (settings_.accounts) return std::make_unique<AccountSession>(*this, output, peer);
  return std::make_unique<HandlerSocketSession>(*this, output, peer);
}

void HandlerSocket::refuse(Output &output, Failure why) {
  StatusReply(output, settings_.errors).done({.failure = why});
}

HandlerSocketSession::HandlerSocketSession(HandlerSocket &protocol, Output &output, const Peer &peer)
    : protocol_(protocol),
      output_(output),
      peer_(peer),
      // With accounts the engine decides for each op: requests after a login are parsed before the login is tried.
      authorized_(settings().accounts || settings().secret.empty()) {}

void HandlerSocket::change(const Settings &settings) {
  settings_.secret = settings.secret;
  settings_.request_bytes_max = settings.request_bytes_max;
  settings_.open_indexes_max = settings.open_indexes_max;
  settings_.key_values_max = settings.key_values_max;
  settings_.errors = settings.errors;
}

Collected HandlerSocketSession::collect(Input &input, Batch &batch, uint32_t ops_max) {
  const std::span<char> bytes = input.unparsed();
  char *const end = bytes.data() + bytes.size();
  char *line = bytes.data();
  size_t searched = input.scanned();
  Collected collected = Collected::more;
  batch.act_for(identity());
  for (uint32_t ops = 0; ops < ops_max; ++ops) {
    if (ops != 0 && batch.arena().bytes() > limits::arena_bytes_per_batch_max) break;
    const auto left = static_cast<size_t>(end - line);
    char *const line_end =
        left == searched ? nullptr : static_cast<char *>(std::memchr(line + searched, '\n', left - searched));
    const size_t line_bytes = line_end != nullptr ? static_cast<size_t>(line_end - line) + 1 : left + 1;
    if (line_bytes > settings().request_bytes_max) {
      answer(Failure::request_too_large, batch);
      input.consume(bytes.size());
      return Collected::close;
    }
    if (line_end == nullptr) {
      collected = Collected::need_more;
      break;
    }
    if (!take_line(line, line_end, batch)) {
      input.consume(bytes.size());
      return Collected::close;
    }
    line = line_end + 1;
    searched = 0;
  }
  if (line != bytes.data()) input.consume(static_cast<size_t>(line - bytes.data()));
  if (line == end) collected = Collected::need_more;
  if (collected == Collected::need_more) input.set_scanned(static_cast<size_t>(end - line));
  return collected;
}

void HandlerSocketSession::settled() {
  if (!opened_) return;
  indexes_.settle();
  peer_.note_open_indexes(static_cast<uint32_t>(indexes_.size()));
  opened_ = false;
}

bool HandlerSocketSession::take_line(char *line, char *end, Batch &batch) {
  if (end != line && end[-1] == '\r') --end;
  Tokens tokens(line, end);
  const Bytes first = tokens.take();
  const Command command = command_of(first);
  if (command == Command::unknown) {
    if (is_http({line, static_cast<size_t>(end - line)})) return false;
    answer_anybody(Failure::unknown_command, batch);
  } else if (command == Command::authenticate) {
    authenticate(tokens, batch);
  } else if (!authorized_) {
    answer(Failure::unauthorized, batch);
  } else if (command == Command::open) {
    open_index(tokens, batch);
  } else {
    act_on_index(first, tokens, batch);
  }
  return true;
}

void HandlerSocketSession::open_index(Tokens &tokens, Batch &batch) {
  OpenRequest request;
  const Reason reason = parse_open(tokens, batch.arena(), request);
  if (!reason.is_none()) return answer(reason, batch);
  OpenIndex *index = indexes_.find(request.id);
  if (index == nullptr) {
    if (indexes_.size() >= settings().open_indexes_max) return answer(Refusal::too_many_open_indexes, batch);
    index = &indexes_.add(static_cast<uint32_t>(request.id), static_cast<uint32_t>(request.spec.filter_columns.size()));
  } else {
    index->filter_columns = unknown_filter_columns;
  }
  index->slot = std::make_unique<TableSlot>(std::move(index->slot));
  opened_ = true;
  lower_open(request, *index->slot, replies(), batch);
}

void HandlerSocketSession::authenticate(Tokens &tokens, Batch &batch) {
  if (settings().accounts) return log_in(tokens, batch);
  const AuthenticateRequest request = parse_authenticate(tokens);
  const bool known = request.type == "1";
  const bool escaped = request.key.find(escape_mark) != Bytes::npos;
  const bool right = known && !escaped && settings().secret.is(request.key);
  // Without a secret a wrong key is answered with an error, and everything goes on working: the original's clients may
  // send one.
  authorized_ = right || settings().secret.empty();
  if (!known) return answer(Refusal::unknown_authentication, batch);
  answer(right ? Failure::none : Failure::unauthorized, batch);
}

void HandlerSocketSession::log_in(Tokens &tokens, Batch &batch) {
  Login login;
  // A malformed login is a failed one: as after a wrong password, no account is logged in.
  const Reason reason = tokens.take() == "2" ? Reason(parse_login(tokens, login)) : Refusal::unknown_authentication;
  lower_login(login, reason, replies(), batch);
}

void HandlerSocketSession::act_on_index(Bytes id, Tokens &tokens, Batch &batch) {
  OpenIndex *const index = indexes_.find(natural(id));
  if (index == nullptr) return answer(Failure::not_open, batch);
  const Rules rules{.access = settings().access,
                    .key_values_max = settings().key_values_max,
                    .filter_columns = index->filter_columns};
  // Parsed where it stays: copying bytes that were just written would stall the processor.
  IndexRequest &request = *batch.arena().make<IndexRequest>();
  const Reason reason = parse_index_request(tokens, rules, batch.arena(), request);
  if (!reason.is_none()) return answer(reason, batch, index->slot.get());
  lower_index_request(request, *index->slot, replies(), batch);
}

/// Answers failures that a client may see before it has logged in.
void HandlerSocketSession::answer_anybody(Failure failure, Batch &batch) {
  batch.act_for(nullptr);
  answer(failure, batch);
  batch.act_for(identity());
}

void HandlerSocketSession::answer(Reason reason, Batch &batch, TableSlot *slot) {
  lower_answer(reason, slot, replies(), batch);
}

}  // namespace postern::handlersocket
