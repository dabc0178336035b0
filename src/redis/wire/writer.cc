#include "redis/wire/writer.h"

#include <algorithm>

#include "redis/wire/error_counts.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

void Writer::error(Bytes text) {
  error(text, {});
}

void Writer::error(Bytes text, Bytes rest) {
  output_.note_errors();
  failure(text, rest);
}

void Writer::failure(Bytes text, Bytes rest) {
  error_counts::note(text);
  output_.put('-');
  put_without_lines(text);
  put_without_lines(rest);
  end();
}

void Writer::put_without_lines(Bytes text) {
  while (!text.empty()) {
    const size_t size = std::min(text.size(), text.find_first_of("\r\n"));
    output_.put(text.substr(0, size));
    if (size == text.size()) return;
    output_.put(' ');
    text.remove_prefix(size + 1);
  }
}

void Writer::number(double value) {
  char text[40];
  const Bytes digits(text, print_double(text, value));
  if (three()) line(',', digits);
  else bulk(digits);
}

void Writer::verbatim(Bytes text) {
  if (!three()) return bulk(text);
  header('=', text.size() + 4);
  output_.put(Bytes("txt:"));
  output_.put(text);
  end();
}

}  // namespace postern::redis
