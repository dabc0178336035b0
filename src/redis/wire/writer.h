// writer.h: Writer, which puts the replies of RESP2 and RESP3 into an output.
//
// A value, made where it is needed. `output` outlives it. Bytes are copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/output.h"

namespace postern::redis {

/// The reply protocol of a client.
enum class Resp : uint8_t { two = 2, three = 3 };

class Writer {
 public:
  Writer(Output &output, Resp resp) : output_(output), resp_(resp) {}

  Output &output() { return output_; }
  Resp resp() const { return resp_; }
  bool three() const { return resp_ == Resp::three; }

  /// One line: `text` has no end of line in it.
  void status(Bytes text) { line('+', text); }
  void ok() { output_.put(Bytes("+OK\r\n")); }
  /// `text` begins with the error code. Line ends in it become blanks, so that no client can forge a reply.
  void error(Bytes text);
  /// The same for two texts that are sent as one.
  void error(Bytes text, Bytes rest);
  /// The same for an error in the op's outcome, which is counted already.
  void failure(Bytes text, Bytes rest = {});
  void integer(int64_t number) {
    output_.put(':');
    output_.put_integer(number);
    end();
  }
  void bulk(Bytes bytes) {
    if (bytes.size() > short_bytes_max) {
      header('$', bytes.size());
      output_.put(bytes);
      return end();
    }
    // A whole bulk string, as nearly all values are written.
    char *const at = output_.reserve(header_bytes_max + bytes.size() + 2);
    char *const behind = put_header(at, '$', bytes.size());
    if (!bytes.empty()) std::memcpy(behind, bytes.data(), bytes.size());
    std::memcpy(behind + bytes.size(), "\r\n", 2);
    output_.commit(static_cast<size_t>(behind - at) + bytes.size() + 2);
  }
  void bulk_integer(int64_t number) {
    char digits[20];
    bulk({digits, static_cast<size_t>(print_integer(digits, number) - digits)});
  }
  void nil() { output_.put(three() ? Bytes("_\r\n") : Bytes("$-1\r\n")); }
  /// The null array, for an EXEC that was refused.
  void nil_array() { output_.put(three() ? Bytes("_\r\n") : Bytes("*-1\r\n")); }

  // Begins an array of so many replies.
  void array(size_t count) { header('*', count); }
  /// Begins a map of `count` pairs.
  void map(size_t count) { three() ? header('%', count) : header('*', 2 * count); }
  /// Begins a push: an unrequested message, or the confirmation of a subscription.
  void push(size_t count) { header(three() ? '>' : '*', count); }
  void set(size_t count) { header(three() ? '~' : '*', count); }

  void number(double value);
  /// A verbatim string.
  void verbatim(Bytes text);

 private:
  static constexpr size_t header_bytes_max = 23;
  static constexpr size_t short_bytes_max = 256;

  void line(char type, Bytes text) {
    output_.put(type);
    output_.put(text);
    end();
  }
  void header(char type, size_t size) {
    char *const at = output_.reserve(header_bytes_max);
    output_.commit(static_cast<size_t>(put_header(at, type, size) - at));
  }
  /// Returns where it ends.
  static char *put_header(char *at, char type, size_t size) {
    at[0] = type;
    char *const behind = print_natural(at + 1, size);
    std::memcpy(behind, "\r\n", 2);
    return behind + 2;
  }
  void end() { output_.put(Bytes("\r\n")); }
  void put_without_lines(Bytes text);

  Output &output_;
  const Resp resp_;
};

}  // namespace postern::redis
