#include "redis/streams/stream_arguments.h"

#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

class TrimReader {
 public:
  TrimReader(Call &call, bool adds) : call_(call), adds_(adds) {}

  /// Reads options from argument `at` on. Returns the argument after them; 0: refused.
  size_t read(size_t at, AddOptions &options) {
    const std::span<const Bytes> arguments = call_.arguments;
    for (; at < arguments.size(); ++at) {
      const Bytes word = arguments[at];
      const size_t left = arguments.size() - 1 - at;
      if (adds_ && word == "*") break;
      if ((is_word(word, "maxlen") || is_word(word, "minid")) && left != 0) {
        if (!read_bound(at, options.trim)) return 0;
      } else if (is_word(word, "limit") && left != 0) {
        if (!read_limit(arguments[++at], options.trim)) return 0;
      } else if (adds_ && is_word(word, "nomkstream")) {
        options.makes_stream = false;
      } else if (adds_) {
        if (!read_wanted_id(word, options.id)) return 0;
        break;
      } else {
        refuse(call_, syntax_error);
        return 0;
      }
    }
    return agrees(options.trim) ? at + 1 : 0;
  }

 private:
  bool read_bound(size_t &at, StreamTrim &trim) {
    const std::span<const Bytes> arguments = call_.arguments;
    const bool by_length = is_word(arguments[at], "maxlen");
    if (trim.by != StreamTrim::By::nothing)
      return refused(call_, "ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    trim.about = false;
    const Bytes next = arguments[at + 1];
    if (arguments.size() - 1 - at >= 2 && (next == "~" || next == "=")) {
      trim.about = next == "~";
      ++at;
    }
    const Bytes bound = arguments[++at];
    trim.by = by_length ? StreamTrim::By::length : StreamTrim::By::id;
    if (!by_length) return read_id(call_, bound, trim.from);
    int64_t length = 0;
    if (!read_number(call_, bound, length)) return false;
    if (length < 0) return refused(call_, "ERR The MAXLEN argument must be >= 0.");
    trim.length = static_cast<uint64_t>(length);
    return true;
  }

  bool read_limit(Bytes text, StreamTrim &trim) {
    int64_t limit = 0;
    if (!read_number(call_, text, limit)) return false;
    if (limit < 0) return refused(call_, "ERR The LIMIT argument must be >= 0.");
    has_limit_ = true;
    trim.limit = static_cast<uint64_t>(limit);
    return true;
  }

  bool read_wanted_id(Bytes text, WantedId &wanted) {
    const size_t dash = text.find('-');
    if (dash != Bytes::npos && text.substr(dash + 1) == "*") {
      wanted.how = WantedId::How::number;
      if (parse_natural(text.substr(0, dash), wanted.id.ms)) return true;
      return refused(call_, bad_stream_id);
    }
    wanted.how = WantedId::How::exact;
    return read_id(call_, text, wanted.id);
  }

  bool agrees(StreamTrim &trim) {
    constexpr uint64_t limit_about = 10'000;
    if (trim.limit != 0 && trim.by == StreamTrim::By::nothing)
      return refused(call_, "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
    if (!adds_ && trim.by == StreamTrim::By::nothing)
      return refused(call_, "ERR syntax error, XTRIM must be called with a trimming strategy");
    if (has_limit_ && !trim.about)
      return refused(call_, "ERR syntax error, LIMIT cannot be used without the special ~ option");
    if (trim.about && !has_limit_) trim.limit = limit_about;
    return true;
  }

  Call &call_;
  const bool adds_;
  bool has_limit_ = false;
};

/// One end of an interval; `is_out`: it is excluded.
bool read_end(Call &call, Bytes text, uint64_t missing, StreamId &id, bool &is_out) {
  is_out = text.size() > 1 && text.front() == '(';
  const bool read = is_out ? parse_stream_id(text.substr(1), missing, id) : parse_stream_end(text, missing, id);
  return read || refused(call, bad_stream_id);
}

}  // namespace

bool read_add_options(Call &call, AddOptions &options) {
  options.fields_at = TrimReader(call, true).read(2, options);
  if (options.fields_at == 0) return false;
  const size_t count = call.arguments.size() - std::min(options.fields_at, call.arguments.size());
  if (count < 2 || count % 2 == 1) {
    refuse_arity(call);
    return false;
  }
  if (options.id.how == WantedId::How::exact && options.id.id.is_zero())
    return refused(call, "ERR The ID specified in XADD must be greater than 0-0");
  return true;
}

bool read_trim_options(Call &call, StreamTrim &trim) {
  AddOptions options;
  if (TrimReader(call, false).read(2, options) == 0) return false;
  trim = options.trim;
  return true;
}

bool read_id(Call &call, Bytes text, StreamId &id) {
  return parse_stream_id(text, 0, id) || refused(call, bad_stream_id);
}

bool read_ids(Call &call, std::span<const Bytes> texts, std::vector<StreamId> &ids) {
  for (const Bytes text : texts)
    if (!read_id(call, text, ids.emplace_back())) return false;
  return true;
}

bool read_interval_begin(Call &call, Bytes from, StreamId &first) {
  bool is_out = false;
  if (!read_end(call, from, 0, first, is_out)) return false;
  return !is_out || step_forward(first) || refused(call, "ERR invalid start ID for the interval");
}

bool read_interval(Call &call, Bytes from, Bytes to, StreamId &first, StreamId &last) {
  bool is_out = false;
  if (!read_interval_begin(call, from, first)) return false;
  if (!read_end(call, to, std::numeric_limits<uint64_t>::max(), last, is_out)) return false;
  return !is_out || step_back(last) || refused(call, "ERR invalid end ID for the interval");
}

bool read_number(Call &call, Bytes text, int64_t &number) {
  return parse_integer(text, number) || refused(call, not_an_integer);
}

}  // namespace postern::redis
