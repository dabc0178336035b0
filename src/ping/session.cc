#include <cstring>

#include "base/limits.h"
#include "ping/ping.h"

namespace postern::ping {
namespace {

/// Writes the answer when its op is done. Lives in the batch's arena.
class PingReply final : public Reply {
 public:
  PingReply(Output &output, Bytes answer) : output_(output), answer_(answer) {}
  Flow row(Row) override { return Flow::more; }  // an answer has no rows
  void done(const Outcome &) override { output_.put(answer_); }
  void restart() override {}  // nothing is written before done()

 private:
  Output &output_;
  const Bytes answer_;
};

class PingSession final : public Session {
 public:
  PingSession(Output &output, Bytes answer) : output_(output), answer_(answer) {}

  /// Each complete line becomes an op; bytes after the last line end wait for the rest of their line.
  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override {
    for (uint32_t ops = 0; ops < ops_max; ++ops) {
      const std::span<char> bytes = input.unparsed();
      const auto *const end = static_cast<const char *>(std::memchr(bytes.data(), '\n', bytes.size()));
      if (end == nullptr) return bytes.size() > line_bytes_max ? Collected::close : Collected::need_more;
      input.consume(static_cast<size_t>(end - bytes.data()) + 1);
      Op op;  // Verb::answer: keeps its place in line, needs no engine
      op.reply = batch.arena().make<PingReply>(output_, answer_);
      batch.add(op);
    }
    return Collected::more;
  }

  void settled() override {}  // no views into the input are kept

 private:
  static constexpr size_t line_bytes_max = limits::block_bytes_min;

  Output &output_;
  const Bytes answer_;
};

}  // namespace

std::unique_ptr<Session> Ping::open_session(Output &output, const Peer &) {
  return std::make_unique<PingSession>(output, answer_);
}

void Ping::refuse(Output &output, Failure why) {
  output.put(failure_text(why));
  output.put('\n');
}

}  // namespace postern::ping
