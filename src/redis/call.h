// call.h: Call, one command on its way to ops, and the replies that need no table.
//
// A call lives while its handler runs. Objects that outlive it are made in the batch's arena.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/output.h"
#include "base/passage.h"
#include "contract/batch.h"
#include "contract/reply.h"
#include "redis/errors.h"
#include "redis/registry/command.h"
#include "redis/wire/writer.h"

namespace postern::redis {

class RedisSession;

struct Call {
  const Command &command;
  std::span<const Bytes> arguments;  ///< the first is the name, as the client sent it
  RedisSession &session;
  Batch &batch;
  Output &output;        ///< where its reply is written; nobody reads it under CLIENT REPLY OFF
  Resp resp;             ///< how its reply is written
  int64_t now_ms;        ///< since 1970; read once for all commands that came together
  bool in_unit = false;  ///< EXEC has begun a unit, and this command's ops belong to it

  Arena &arena() const { return batch.arena(); }
};

/// Writes the answer by `Write`, or the op's failure.
template <class Write>
class Answer final : public Reply {
 public:
  Answer(Output &output, Resp resp, Write write) : output_(output), passage_(output), resp_(resp), write_(write) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    passage_.begin();
    Writer writer(output_, resp_);
    if (outcome.failure != Failure::none && outcome.failure != Failure::refused) write_failure(writer, outcome);
    else write_(writer);
  }
  void restart() override { passage_.take_back(); }

 private:
  Output &output_;
  Passage passage_;
  const Resp resp_;
  Write write_;
};

/// Adds an op without a table, answered to `output` by `write(Writer &)`; its captures live as long as the batch.
template <class Write>
Op &answer_to(Output &output, Call &call, Write write) {
  Op &op = call.batch.add();
  op.reply = call.arena().make<Answer<Write>>(output, call.resp, std::move(write));
  return op;
}
template <class Write>
Op &answer(Call &call, Write write) {
  return answer_to(call.output, call, std::move(write));
}

/// Adds an op for `script`, which writes the reply, too.
template <class T>
Next begin_script(Call &call, T &script) {
  Op &op = call.batch.add();
  op.verb = Verb::script;
  op.reply = &script;
  op.script = &script;
  return Next::go_on;
}

Next answer_ok(Call &call);
Next answer_status(Call &call, Bytes text);
Next answer_integer(Call &call, int64_t number);
/// The bytes live as long as the batch.
Next answer_bulk(Call &call, Bytes bytes);

/// Answers an error in Redis's words, error code first. Both texts are sent as one, and copied. EXEC will refuse a
/// transaction that is being queued.
Next refuse(Call &call, Bytes text, Bytes rest = {});
/// The part of an argument that Redis quotes in an error: up to the first zero byte, as in a C string.
Bytes told_of(Bytes argument, size_t bytes_max = Bytes::npos);

inline constexpr Bytes syntax_error = "ERR syntax error";
inline constexpr Bytes not_finite = "ERR increment would produce NaN or Infinity";
inline constexpr Bytes not_an_integer = "ERR value is not an integer or out of range";
inline constexpr Bytes not_a_float = "ERR value is not a valid float";
inline constexpr Bytes wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr Bytes no_such_key = "ERR no such key";

/// `ERR wrong number of arguments for 'get' command`.
Next refuse_arity(Call &call);

}  // namespace postern::redis
