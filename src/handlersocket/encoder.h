// encoder.h: the replies of the HandlerSocket protocol, written straight into a connection's output.
//
// A reply lives in the arena of the batch its op belongs to and is touched by the thread that runs the batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/output.h"
#include "base/passage.h"
#include "contract/reply.h"
#include "handlersocket/refusal.h"

namespace postern::handlersocket {

/// The style of errors. The number in front (1 server, 2 request, 3 authentication) is the same in both.
enum class ErrorStyle : uint8_t {
  compatible,  ///< the original's code wherever it had one: `2 1 kpnum`
  text,        ///< always a sentence
};

/// Writes `size` bytes at `from` to `to`, which has room for twice as many; 0x00 to 0x0f become 0x01 and the byte plus
/// 0x40. Returns the end of the output.
char *escape(char *to, const char *from, size_t size);

/// The answer to open_index, authentication and refusals: `0 1`, or an error.
class StatusReply final : public Reply {
 public:
  StatusReply(Output &output, ErrorStyle errors) : output_(output), passage_(output), errors_(errors) {}

  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override;
  void refused(Refusal refusal);

 private:
  Output &output_;
  Passage passage_;
  ErrorStyle errors_;
};

/// The answer to an op that fails as Failure::refused. Another failure may take precedence: a client that is not logged
/// in does not see the errors of its requests.
class RefusalReply final : public Reply {
 public:
  RefusalReply(Output &output, ErrorStyle errors, Refusal refusal, Refusals &refusals)
      : status_(output, errors), refusals_(refusals), refusal_(refusal) {}

  Flow row(Row row) override;
  /// Counts the refusal.
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  StatusReply status_;
  Refusals &refusals_;
  Refusal refusal_;
};

/// The answer to an insert or a modification: `0 1`, then the number of rows or the new id, or an error.
class WriteReply final : public Reply {
 public:
  enum class Tells : uint8_t {
    count,  ///< `0 1 <rows>`
    id,     ///< `0 1`, and the AUTO_INCREMENT value that was generated, 0 for none, where the table has such a column
  };
  WriteReply(Output &output, ErrorStyle errors, Tells tells)
      : output_(output), passage_(output), errors_(errors), tells_(tells) {}

  Flow row(Row row) override;
  void done(const Outcome &outcome) override;
  void restart() override;

 private:
  Output &output_;
  Passage passage_;
  ErrorStyle errors_;
  Tells tells_;
};

/// The answer to a find, or to a modification that returns the rows: `0 <columns>` and the values of all rows, or an
/// error.
///
/// In a turn row() requests a pause instead of writing a row that makes the reply too large; the find then starts anew
/// in the slow lane. There the output streams: every row is written, and row() returns the valve's decision.
class FindReply final : public Reply {
 public:
  FindReply(Output &output, ErrorStyle errors) : output_(output), passage_(output), errors_(errors) {}

  Flow row(Row row) override;
  /// Begins the reply before its first row if sending may show whether the client still reads. A find that fails after
  /// that can only close the connection.
  Flow still_wanted(uint32_t columns) override;
  void done(const Outcome &outcome) override;
  Bytes written() const override;
  bool take(Bytes written) override;
  void restart() override;

 private:
  void begin(size_t columns);
  void fail(const Outcome &outcome);

  Output &output_;
  Passage passage_;
  ErrorStyle errors_;
  bool row_too_large_ = false;
};

}  // namespace postern::handlersocket
