#include "memcached/wire/forms.h"

#include "memcached/wire/lines.h"

namespace postern::memcached {
namespace {

constexpr Bytes value_word = "VALUE ";
constexpr Bytes end_line = "END\r\n";
// Around key and value: the words, three numbers of at most 20 digits, blanks, line ends, the end of the answer.
constexpr size_t frame_bytes_max = 6 + 3 * 21 + 2 + 2 + 5;

Bytes line_of(ItemAction action, Result result) {
  switch (result) {
    case Result::done: break;
    case Result::exists: return "EXISTS\r\n";
    case Result::not_stored: return "NOT_STORED\r\n";
    case Result::not_found: return "NOT_FOUND\r\n";
    case Result::not_a_number: return not_a_number_line;
  }
  if (action == ItemAction::erase) return "DELETED\r\n";
  if (action == ItemAction::touch) return "TOUCHED\r\n";
  if (action == ItemAction::flush) return "OK\r\n";
  return "STORED\r\n";
}

/// `VALUE <key> <flags> <bytes>[ <cas>]` and the line's end.
char *print_head(char *to, const Request &request, const Item &item) {
  to = append(to, value_word);
  to = append(to, request.key);
  *to++ = ' ';
  to = print_natural(to, item.flags);
  *to++ = ' ';
  to = print_natural(to, item.value.size());
  if (request.wants_cas) {
    *to++ = ' ';
    to = print_natural(to, item.cas);
  }
  return append(to, "\r\n");
}

char *print_tail(char *to, const Request &request) {
  to = append(to, "\r\n");
  return request.ends ? append(to, end_line) : to;
}

}  // namespace

void TextForm::item(Output &output, const Request &request, const Item &item) const {
  const size_t rest_bytes_max = frame_bytes_max + request.key.size();
  const bool in_one_piece = item.value.size() + rest_bytes_max <= limits::output_piece_bytes_max;
  char *begin = output.reserve(rest_bytes_max + (in_one_piece ? item.value.size() : 0));
  char *to = print_head(begin, request, item);
  if (in_one_piece) {
    to = append(to, item.value);
  } else {
    output.commit(static_cast<size_t>(to - begin));
    output.put(item.value);
    begin = to = output.reserve(rest_bytes_max);
  }
  output.commit(static_cast<size_t>(print_tail(to, request) - begin));
}

void TextForm::number(Output &output, const Request &request, uint64_t number, const Item &) const {
  if (request.quiet) return;
  char *const begin = output.reserve(22);
  char *const end = append(print_natural(begin, number), "\r\n");
  output.commit(static_cast<size_t>(end - begin));
}

void TextForm::result(Output &output, const Request &request, Result result, uint64_t) const {
  if (request.quiet) return;
  if (request.item.action != ItemAction::get) return output.put(line_of(request.item.action, result));
  // A miss has no line.
  if (request.ends) output.put(end_line);
}

void TextForm::failed(Output &output, const Request &request, Failure failure, Bytes message) const {
  if (!request.quiet) put_failure(output, failure, message);
}

void TextForm::plain(Output &output, const Request &request, Bytes value) const {
  put_plain(output, request, value);
}

void TextForm::statistic(Output &output, const Request &, Bytes name, Bytes value) const {
  put_statistic(output, name, value);
}

}  // namespace postern::memcached
