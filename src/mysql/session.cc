#include <utility>

#include "base/failure.h"
#include "contract/sql_error.h"
#include "mysql/packet.h"
#include "mysql/protocol.h"

namespace postern::mysql {
namespace {

/// What a statement answers the engine writes itself, or the server sends.
class StatementReply final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {}
  void restart() override {}
};

class MySqlSession final : public Session {
 public:
  MySqlSession(std::unique_ptr<ServerSession> session, Output &output)
      : session_(std::move(session)), output_(output) {}

  Collected collect(Input &input, Batch &batch, uint32_t) override {
    if (!session_->alive()) {
      // The server has ended it, or greets the client, which is the first thing that ever happens.
      if (std::exchange(greeted_, true)) return Collected::close;
      add(batch, {}, input);
      return Collected::wait;
    }
    const std::span<char> bytes = input.unparsed();
    const size_t header = session_->compressed() ? frame_header_bytes : packet_header_bytes;
    const size_t taken = bytes_of_command(bytes, header);
    if (taken == 0) return Collected::need_more;
    input.consume(taken);
    add(batch, {bytes.data(), taken}, input);
    return Collected::wait;
  }

  void settled() override {}
  ServerSession *server_session() const override { return session_.get(); }

 private:
  void add(Batch &batch, Bytes packet, Input &rest) {
    Arena &arena = batch.arena();
    const auto *const statement = arena.make<Statement>(session_.get(), packet, &rest, &output_);
    Reply *const reply = arena.make<StatementReply>();
    Op &op = batch.add();
    op.verb = Verb::statement;
    op.statement = statement;
    op.reply = reply;
  }

  const std::unique_ptr<ServerSession> session_;
  Output &output_;
  bool greeted_ = false;
};

}  // namespace

std::unique_ptr<Session> MySql::open_session(Output &output, const Peer &) {
  return std::make_unique<MySqlSession>(engine_.host(), output);
}

/// An error packet, which a client may meet in place of the greeting, too.
void MySql::refuse(Output &output, Failure why) {
  const SqlError error = sql_error_of(why);
  const Bytes text = failure_text(why);
  const size_t bytes = 3 + 6 + text.size();
  output.put(static_cast<char>(bytes));
  output.put(static_cast<char>(bytes >> 8));
  output.put('\0');
  output.put('\0');
  output.put('\xff');
  output.put(static_cast<char>(error.number));
  output.put(static_cast<char>(error.number >> 8));
  output.put('#');
  output.put(Bytes(error.state, 5));
  output.put(text);
}

}  // namespace postern::mysql
