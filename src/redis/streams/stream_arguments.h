// stream_arguments.h: the arguments that commands on streams share: ids, the ends of an interval, and how to trim.
//
// Each reader returns false when it has refused the command.
#pragma once

#include <cstddef>
#include <cstdint>

#include "redis/call.h"
#include "redis/streams/stream_work.h"

namespace postern::redis {

/// Refuses the command; false.
[[nodiscard]] inline bool refused(Call &call, Bytes text) {
  refuse(call, text);
  return false;
}

/// The id that an XADD asks for.
struct WantedId {
  enum class How : uint8_t { any, number, exact } how = How::any;  ///< `*`, `ms-*`, `ms-number`
  StreamId id{};
};

struct AddOptions {
  StreamTrim trim{};
  bool makes_stream = true;
  WantedId id{};
  size_t fields_at = 0;  ///< the argument of the first field
};

[[nodiscard]] bool read_add_options(Call &call, AddOptions &options);
[[nodiscard]] bool read_trim_options(Call &call, StreamTrim &trim);

[[nodiscard]] bool read_id(Call &call, Bytes text, StreamId &id);
[[nodiscard]] bool read_ids(Call &call, std::span<const Bytes> texts, std::vector<StreamId> &ids);
/// Parses `from` and `to`; `(` before one excludes it.
[[nodiscard]] bool read_interval(Call &call, Bytes from, Bytes to, StreamId &first, StreamId &last);
[[nodiscard]] bool read_interval_begin(Call &call, Bytes from, StreamId &first);
[[nodiscard]] bool read_number(Call &call, Bytes text, int64_t &number);

}  // namespace postern::redis
