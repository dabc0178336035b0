// request_parser.h: RequestParser, which cuts a client's bytes into requests: arrays of bulk strings, or inline lines.
//
// A value of its session, and touched by the thread that has it. However the bytes are cut, the requests are the same.
// What a client announces is compared with a bound and then believed only as its bytes come: nothing is reserved for
// it.
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
  size_t request_bytes_max = size_t{80} << 20;  ///< with all that frames it
  bool stranger = false;                        ///< the client has not logged in: it may send nothing else
};

inline constexpr size_t stranger_arguments_max = 10;
inline constexpr size_t stranger_argument_bytes_max = 16'384;
inline constexpr size_t line_bytes_max = size_t{64} << 10;

enum class Parsed : uint8_t {
  need_more,  ///< no complete request is there
  nothing,    ///< an empty request: it has no answer
  request,    ///< arguments(), at least one
  broken,     ///< error(): answer it and close, for nobody knows where the next request begins
};

class RequestParser {
 public:
  /// Looks at `bytes`, all that was received and not consumed: the same beginning as in the last call if that needed
  /// more. Arguments are views of `bytes`, or of `arena` where an inline line has escapes; the list is in `arena`.
  Parsed take(std::span<const char> bytes, const Bounds &bounds, Arena &arena);

  /// The last request taken, if any.
  size_t consumed() const { return consumed_; }
  std::span<const Bytes> arguments() const { return arguments_; }
  /// Without the word for errors and the line's end. In the arena, or lives for ever.
  Bytes error() const { return error_; }
  /// Whether a request has begun that is not complete.
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
  // An incomplete array's.
  size_t at_ = 0;       // where the next argument's length stands
  uint32_t count_ = 0;  // arguments announced; 0: no array has begun
  uint32_t seen_ = 0;   // among these
};

}  // namespace postern::redis
