// lcs_command.cc: LCS, the longest common subsequence of two strings.
#include <algorithm>
#include <string>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/string_work.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

struct LcsOptions {
  bool length_only = false;
  bool with_places = false;
  bool with_lengths = false;
  int64_t shortest = 0;  ///< shorter matches are not reported
};

/// A stretch that both have: from the first byte to the last.
struct Match {
  uint32_t one_first = 0;
  uint32_t one_last = 0;
  uint32_t other_first = 0;
  uint32_t other_last = 0;
  uint32_t length() const { return one_last - one_first + 1; }
};

/// Lengths of the longest common text of each two beginnings.
class LcsTable {
 public:
  LcsTable(Bytes one, Bytes other) : one_(one), other_(other), cells_((one.size() + 1) * (other.size() + 1)) {
    for (size_t i = 1; i <= one.size(); ++i)
      for (size_t j = 1; j <= other.size(); ++j)
        at(i, j) = one[i - 1] == other[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
  }
  static uint64_t bytes_for(Bytes one, Bytes other) {
    return (uint64_t{one.size()} + 1) * (other.size() + 1) * sizeof(uint32_t);
  }

  uint32_t length() { return at(one_.size(), other_.size()); }

  /// The text, and its matches from the last on.
  std::string text(std::vector<Match> &matches) {
    std::string text(length(), '\0');
    size_t left = text.size();
    bool open = false;
    Match match;
    const auto close = [&] {
      if (open) matches.push_back(match);
      open = false;
    };
    for (size_t i = one_.size(), j = other_.size(); i > 0 && j > 0;) {
      if (one_[i - 1] != other_[j - 1]) {
        at(i - 1, j) > at(i, j - 1) ? --i : --j;
        close();
        continue;
      }
      --i;
      --j;
      text[--left] = one_[i];
      if (!open) match = {.one_last = static_cast<uint32_t>(i), .other_last = static_cast<uint32_t>(j)};
      open = true;
      match.one_first = static_cast<uint32_t>(i);
      match.other_first = static_cast<uint32_t>(j);
    }
    close();
    return text;
  }

 private:
  uint32_t &at(size_t i, size_t j) { return cells_[i * (other_.size() + 1) + j]; }

  const Bytes one_;
  const Bytes other_;
  std::vector<uint32_t> cells_;
};

void write_places(Writer &to, const LcsOptions &options, const std::vector<Match> &matches, uint32_t length) {
  const auto is_wanted = [&](const Match &match) { return match.length() >= options.shortest; };
  to.map(2);
  to.bulk("matches");
  to.array(static_cast<size_t>(std::count_if(matches.begin(), matches.end(), is_wanted)));
  for (const Match &match : matches) {
    if (!is_wanted(match)) continue;
    to.array(options.with_lengths ? 3 : 2);
    to.array(2);
    to.integer(match.one_first);
    to.integer(match.one_last);
    to.array(2);
    to.integer(match.other_first);
    to.integer(match.other_last);
    if (options.with_lengths) to.integer(match.length());
  }
  to.bulk("len");
  to.integer(length);
}

class LcsWork final : public StringWork {
 public:
  LcsWork(Call &call, const Place &one, const Place &other, OpenMap &open, const LcsOptions &options)
      : StringWork(call, open),
        one_(one),
        other_(other),
        options_(options),
        bytes_max_(value_bytes_max_of(call)),
        in_unit_(call.in_unit) {
    set_large();  // its work is proportional to the product of both lengths
  }

 private:
  Task<> run() override {
    Held one;
    Held other;
    if (one_.state == Place::State::there) one = co_await read(one_);
    if (other_.state == Place::State::there) other = co_await read(other_);
    if ((one.there && one.type != Type::string) || (other.there && other.type != Type::string))
      writer().error("ERR The specified keys must contain string values");
    else if (LcsTable::bytes_for(one.text, other.text) > bytes_max_)
      writer().error("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    else compare(one.text, other.text);
  }

  Task<Held> read(const Place &place) {
    Held held;
    if (in_unit_) held = co_await hold(place);
    else held = co_await see(place);
    co_return held;
  }

  void compare(Bytes one, Bytes other) {
    LcsTable table(one, other);
    Writer to = writer();
    if (options_.length_only) return to.integer(table.length());
    std::vector<Match> matches;
    const std::string text = table.text(matches);
    if (options_.with_places) write_places(to, options_, matches, table.length());
    else to.bulk(text);
  }

  const Place one_;
  const Place other_;
  const LcsOptions options_;
  const uint64_t bytes_max_;
  const bool in_unit_;
};

/// Returns false after answering an error.
bool read_lcs_options(Call &call, LcsOptions &options) {
  const std::span<const Bytes> words = call.arguments;
  Bytes error;
  for (size_t i = 3; i < words.size() && error.empty(); ++i) {
    if (is_word(words[i], "idx")) options.with_places = true;
    else if (is_word(words[i], "len")) options.length_only = true;
    else if (is_word(words[i], "withmatchlen")) options.with_lengths = true;
    else if (!is_word(words[i], "minmatchlen") || i + 1 == words.size()) error = syntax_error;
    else if (!parse_integer(words[++i], options.shortest)) error = not_an_integer;
  }
  if (error.empty() && options.length_only && options.with_places)
    error = "ERR If you want both the length and indexes, please just use IDX.";
  if (!error.empty()) refuse(call, error);
  return error.empty();
}

}  // namespace

namespace lower {

Next lcs(Call &call) {
  LcsOptions options;
  if (!read_lcs_options(call, options)) return Next::go_on;
  const Place one = place_of(call, call.arguments[1]);
  const Place other = place_of(call, call.arguments[2]);
  OpenMap *open = nullptr;
  for (const Place *const place : {&one, &other}) {
    if (place->state == Place::State::broken) return refuse_place(call, *place);
    if (place->state != Place::State::there) continue;
    if (place->generic()) open_elements(call, *place->open);
    open = place->open;
  }
  if (open != nullptr) return begin_reading_work(call, tables_of(call).keep<LcsWork>(call, one, other, *open, options));
  answer(call, [options](Writer &writer) {
    if (options.length_only) return writer.integer(0);
    if (options.with_places) return write_places(writer, options, {}, 0);
    writer.bulk("");
  });
  return Next::go_on;
}

}  // namespace lower
}  // namespace postern::redis
