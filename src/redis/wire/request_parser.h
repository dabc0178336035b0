// request_parser.h: RequestParser, which cuts a client's bytes into requests: arrays of bulk strings, or inline lines.
//
// A value of its session, and touched by the thread that has it. The requests do not depend on how the bytes are cut.
// Announced sizes are compared with bounds, and memory is used only as bytes come: nothing is reserved for them.
//
//   RequestParser parser;
//   while (parser.take(input.unparsed(), bounds, arena) == Parsed::request) {
//     act(parser.arguments());
//     input.consume(parser.consumed());
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/bytes.h"

namespace postern::redis {

/// Of one request.
struct Bounds {
  size_t arguments_max = size_t{1} << 20;  ///< as announced
  size_t argument_bytes_max = size_t{64} << 20;
  size_t request_bytes_max = size_t{80} << 20;  ///< including its framing
  bool stranger = false;                        ///< bounds for a client that has not logged in
};

inline constexpr size_t stranger_arguments_max = 10;
inline constexpr size_t stranger_argument_bytes_max = 16'384;
inline constexpr size_t line_bytes_max = size_t{64} << 10;

enum class Parsed : uint8_t {
  need_more,  ///< no complete request yet
  nothing,    ///< an empty request: it has no answer
  request,    ///< arguments(), at least one
  broken,     ///< error(): answer it and close, because the next request's beginning is unknown
};

class RequestParser {
 public:
  /// Parses `bytes`, everything received and not consumed: if the last call needed more, they begin with the same
  /// bytes. Arguments are views of `bytes`, or of `arena` where an inline line has escapes; the list is in `arena`.
  Parsed take(std::span<const char> bytes, const Bounds &bounds, Arena &arena);

  /// The last request taken, if any.
  size_t consumed() const { return consumed_; }
  std::span<const Bytes> arguments() const { return arguments_; }
  /// Without the error code and the line end. In the arena, or lives for ever.
  Bytes error() const { return error_; }
  /// Whether an incomplete request has begun.
  bool in_request() const { return count_ != 0; }

 private:
  static constexpr size_t first_max = 16;

  Parsed take_inline(Bytes bytes, Arena &arena);
  Parsed begin_array(Bytes bytes, const Bounds &bounds);
  Parsed take_arguments(Bytes bytes, const Bounds &bounds, Arena &arena);
  void list_arguments(Bytes bytes, Arena &arena);
  Parsed fail(Bytes error);

  std::span<const Bytes> arguments_{};
  Bytes error_{};
  size_t consumed_ = 0;
  // State of an incomplete array.
  size_t at_ = 0;       // position of the next argument's length
  uint32_t count_ = 0;  // arguments announced; 0: no array has begun
  uint32_t seen_ = 0;   // among these
};

}  // namespace postern::redis
