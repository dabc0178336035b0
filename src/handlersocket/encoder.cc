#include "handlersocket/encoder.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "handlersocket/token.h"

namespace postern::handlersocket {
namespace {

/// Bytes of the longest printed number.
constexpr size_t number_bytes_max = 20;

/// Whether one of eight bytes is below 0x10: only then does subtracting borrow into its empty top bit.
constexpr bool needs_escape(uint64_t eight) {
  return ((eight - every_byte(0x10)) & ~eight & every_byte(0x80)) != 0;
}

/// The same of sixteen bytes at once.
using Sixteen = uint8_t __attribute__((vector_size(16)));
constexpr size_t step_bytes = 4 * sizeof(Sixteen);

/// Copies so many bytes unchanged. Returns whether none needs an escape.
bool copy_step(char *to, const char *from) {
  using Halves = uint64_t __attribute__((vector_size(16)));
  const Sixteen high_bits = Sixteen{} + 0xf0;
  const auto copy = [&](size_t at) {
    const auto part = load<Sixteen>(from + at);
    std::memcpy(to + at, &part, sizeof part);
    return (part & high_bits) == 0;
  };
  const auto found = Halves(copy(0) | copy(16) | copy(32) | copy(48));
  return (found[0] | found[1]) == 0;
}

char *escape_byte(char *to, char byte) {
  if (static_cast<unsigned char>(byte) < 0x10) {
    *to++ = escape_mark;
    byte = static_cast<char>(byte + escape_shift);
  }
  *to++ = byte;
  return to;
}

char *escape_eight(char *to, const char *from) {
  const uint64_t eight = load<uint64_t>(from);
  if (needs_escape(eight)) {
    for (size_t i = 0; i < 8; ++i) to = escape_byte(to, from[i]);
    return to;
  }
  std::memcpy(to, &eight, 8);
  return to + 8;
}

/// Not inlined, so that short values do not pay for its registers.
[[gnu::noinline]] char *escape_long(char *to, const char *from, size_t size) {
  for (; size >= step_bytes; size -= step_bytes) {
    if (copy_step(to, from)) {
      to += step_bytes;
      from += step_bytes;
    } else {
      for (const char *const stop = from + step_bytes; from != stop; from += 8) to = escape_eight(to, from);
    }
  }
  return escape(to, from, size);
}

/// Bytes a value takes before escaping.
size_t plain_bytes(const Value &value) {
  switch (value.kind()) {
    case Value::Kind::null: return 1;
    case Value::Kind::bytes: return value.bytes().size();
    case Value::Kind::integer:
    case Value::Kind::natural: return number_bytes_max;
  }
  return 0;
}

char *print(char *to, const Value &value) {
  switch (value.kind()) {
    case Value::Kind::null: *to = null_token; return to + 1;
    case Value::Kind::bytes: return escape(to, value.bytes().data(), value.bytes().size());
    case Value::Kind::integer: return print_integer(to, value.integer());
    case Value::Kind::natural: return print_natural(to, value.natural());
  }
  return to;
}

/// A long value is escaped in pieces, so that it does not need twice its size.
constexpr size_t piece_bytes_max = size_t{4} << 10;

void put_escaped(Output &output, Bytes bytes) {
  while (!bytes.empty()) {
    const size_t piece = std::min(bytes.size(), piece_bytes_max);
    char *const at = output.reserve(2 * piece);
    output.commit(static_cast<size_t>(escape(at, bytes.data(), piece) - at));
    bytes.remove_prefix(piece);
  }
}

/// `bytes` is the size of the row before escaping, its TABs counted.
void put_row(Output &output, Row row, size_t bytes) {
  if (2 * bytes <= limits::output_piece_bytes_max) {
    char *const start = output.reserve(2 * bytes);
    char *at = start;
    for (const Value &value : row) {
      *at++ = tab;
      at = print(at, value);
    }
    output.commit(static_cast<size_t>(at - start));
    return;
  }
  output.expect(bytes + 2 * piece_bytes_max);
  for (const Value &value : row) {
    output.put(tab);
    if (value.kind() == Value::Kind::bytes) {
      put_escaped(output, value.bytes());
    } else {
      char *const at = output.reserve(number_bytes_max);
      output.commit(static_cast<size_t>(print(at, value) - at));
    }
  }
}

/// The kind of the failed request.
enum class Asked : uint8_t { status, rows };

/// The number before an error: 1 server, 2 request, 3 authentication.
char code_of(Failure failure, Asked asked) {
  switch (failure) {
    case Failure::no_table:
    case Failure::cannot_open:
    case Failure::system_schema:
    case Failure::engine_unsupported:
    case Failure::bad_value:
    case Failure::row_too_large:
    case Failure::reply_too_large: return '1';
    case Failure::not_a_base_table: return asked == Asked::rows ? '2' : '1';
    case Failure::request_timed_out: return '2';
    default: break;
  }
  switch (kind_of(failure)) {
    case FailureKind::request:
    case FailureKind::schema:
    case FailureKind::value:
    case FailureKind::limit: return '2';
    case FailureKind::access: return '3';
    case FailureKind::conflict:
    case FailureKind::busy:
    case FailureKind::server: break;
  }
  return '1';
}

/// The original's word for the failure of an open_index. A find with such a failure had its index open: DDL dropped the
/// object in the message. The original answered wrong rows or none, so it has no word for that.
Bytes open_word_of(Failure failure) {
  switch (failure) {
    case Failure::no_table:
    case Failure::cannot_open:
    case Failure::not_a_base_table:
    case Failure::system_schema: return "open_table";
    case Failure::no_index:
    case Failure::index_unusable:
    case Failure::index_not_the_key: return "idxnum";
    case Failure::no_column: return "fld";
    default: return {};
  }
}

/// The word that the original had for any other failure.
Bytes word_of(Failure failure) {
  switch (failure) {
    case Failure::unknown_command: return "cmd";
    case Failure::syntax: return "syntax";
    case Failure::not_implemented: return "notimpl";
    case Failure::no_key_values: return "klen";
    case Failure::read_only_door: return "readonly";
    case Failure::unauthorized:
    case Failure::too_many_logins: return "unauth";
    case Failure::not_open: return "stmtnum";
    case Failure::too_many_key_parts: return "kpnum";
    case Failure::no_filter_column: return "filterfld";
    case Failure::filter_on_blob: return "filterblob";
    case Failure::duplicate_key: return "121";
    case Failure::row_locked: return "146";
    case Failure::lock_failed: return "lock_tables";
    default: return {};
  }
}

/// Whether it is one of the server's error numbers for all storage engines. Others are specific to one engine.
bool is_handler_error(int32_t code) {
  return code > 0 && code < 1000;
}

void put_error(Output &output, const Outcome &outcome, ErrorStyle errors, Asked asked) {
  Bytes word = asked == Asked::status ? open_word_of(outcome.failure) : Bytes{};
  if (word.empty()) word = word_of(outcome.failure);
  output.put(code_of(outcome.failure, asked));
  output.put("\t1\t");
  if (errors == ErrorStyle::compatible && !word.empty()) {
    output.put(word);
  } else if (errors == ErrorStyle::compatible && outcome.failure == Failure::engine_error &&
             (is_handler_error(outcome.engine_code) || outcome.message.empty())) {
    output.put_integer(outcome.engine_code);
  } else if (!outcome.message.empty()) {
    put_escaped(output, outcome.message);
  } else {
    output.put(failure_text(outcome.failure));
    if (outcome.failure == Failure::engine_error) {
      output.put(" (");
      output.put_integer(outcome.engine_code);
      output.put(')');
    }
  }
  output.put('\n');
}

struct RefusalRow {
  char code;
  Bytes word;
  Bytes text;
};

constexpr RefusalRow refusal_rows[] = {
    {},
#define REFUSAL(name, code, word, text) {code, word, text},
#include "handlersocket/refusal.def"
#undef REFUSAL
};

void put_refusal(Output &output, Refusal refusal, ErrorStyle errors) {
  const RefusalRow &row = refusal_rows[static_cast<size_t>(refusal)];
  output.put(row.code);
  output.put("\t1\t");
  output.put(errors == ErrorStyle::compatible && !row.word.empty() ? row.word : row.text);
  output.put('\n');
}

}  // namespace

char *escape(char *to, const char *from, size_t size) {
  const char *const end = from + size;
  if (size >= step_bytes) return escape_long(to, from, size);
  while (end - from >= 8) {
    const uint64_t eight = load<uint64_t>(from);
    if (needs_escape(eight)) {
      for (const char *const stop = from + 8; from != stop; ++from) to = escape_byte(to, *from);
      continue;
    }
    std::memcpy(to, &eight, 8);
    to += 8;
    from += 8;
  }
  // The rest, in a word that overlaps bytes written before, which need no escape.
  const auto left = static_cast<size_t>(end - from);
  if (left != 0 && size >= 8) {
    const uint64_t last = load<uint64_t>(end - 8);
    if (!needs_escape(last)) {
      to += left;
      std::memcpy(to - 8, &last, 8);
      return to;
    }
  } else if (left >= 4) {
    const uint32_t first = load<uint32_t>(from);
    const uint32_t last = load<uint32_t>(end - 4);
    if (!needs_escape(uint64_t{first} << 32 | last)) {
      std::memcpy(to, &first, 4);
      to += left;
      std::memcpy(to - 4, &last, 4);
      return to;
    }
  }
  while (from != end) to = escape_byte(to, *from++);
  return to;
}

Flow StatusReply::row(Row) {
  return Flow::more;
}

void StatusReply::done(const Outcome &outcome) {
  passage_.begin();
  if (outcome.failure != Failure::none) return put_error(output_, outcome, errors_, Asked::status);
  output_.put("0\t1\n");
}

void StatusReply::restart() {
  passage_.take_back();
}

void StatusReply::refused(Refusal refusal) {
  passage_.begin();
  output_.note_errors();
  put_refusal(output_, refusal, errors_);
}

Flow RefusalReply::row(Row) {
  return Flow::more;
}

void RefusalReply::done(const Outcome &outcome) {
  if (outcome.failure != Failure::refused) return status_.done(outcome);
  refusals_.add(refusal_);
  status_.refused(refusal_);
}

void RefusalReply::restart() {
  status_.restart();
}

Flow WriteReply::row(Row) {
  return Flow::more;
}

void WriteReply::done(const Outcome &outcome) {
  passage_.begin();
  if (outcome.failure != Failure::none) return put_error(output_, outcome, errors_, Asked::rows);
  output_.put("0\t1");
  if (tells_ == Tells::count || outcome.has_insert_id) {
    output_.put(tab);
    output_.put_natural(tells_ == Tells::count ? outcome.changed : outcome.insert_id);
  }
  output_.put('\n');
}

void WriteReply::restart() {
  passage_.take_back();
}

void FindReply::begin(size_t columns) {
  passage_.begin();
  char *const start = output_.reserve(2 + number_bytes_max);
  start[0] = '0';
  start[1] = tab;
  output_.commit(static_cast<size_t>(print_natural(start + 2, columns) - start));
}

Flow FindReply::row(Row row) {
  if (row_too_large_) return Flow::more;
  size_t bytes = row.size();
  for (const Value &value : row) bytes += plain_bytes(value);
  const bool streaming = output_.streaming();
  if (!streaming && output_.flow(passage_.start(), bytes) == Flow::pause) return Flow::pause;
  if (bytes > limits::row_bytes_max) {
    passage_.take_back();
    row_too_large_ = true;
    return Flow::more;
  }
  if (!passage_.begun()) begin(row.size());
  put_row(output_, row, bytes);
  return streaming ? output_.flow(passage_.start()) : Flow::more;
}

Flow FindReply::still_wanted(uint32_t columns) {
  if (!passage_.begun() && !row_too_large_ && output_.doubts_reader()) begin(columns);
  return output_.still_wanted();
}

void FindReply::done(const Outcome &outcome) {
  if (outcome.failure != Failure::none || row_too_large_) return fail(outcome);
  if (!passage_.begun()) begin(outcome.columns);
  output_.put('\n');
}

/// All finds are answered alike.
Bytes FindReply::written() const {
  return output_.written_since(passage_.start());
}

bool FindReply::take(Bytes written) {
  if (output_.streaming() || output_.flow(passage_.start(), written.size()) == Flow::pause) return false;
  passage_.begin();
  output_.put(written);
  return true;
}

void FindReply::fail(const Outcome &outcome) {
  if (!passage_.take_back()) return;
  passage_.begin();
  const bool ours = outcome.failure == Failure::none;
  put_error(output_, ours ? Outcome{.failure = Failure::row_too_large} : outcome, errors_, Asked::rows);
}

void FindReply::restart() {
  passage_.take_back();
  row_too_large_ = false;
}

}  // namespace postern::handlersocket
