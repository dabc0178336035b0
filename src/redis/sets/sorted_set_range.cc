#include "redis/sets/sorted_set_range.h"

#include <algorithm>

#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

using By = SortedSetRange::By;

bool read_score_end(Bytes text, double &score, bool &included) {
  included = !text.starts_with('(');
  if (!included) text.remove_prefix(1);
  return parse_score_end(text, score);
}

/// `behind_all` for +, `before_all` for -.
bool read_member_end(Bytes text, Bytes &member, bool &included, bool &before_all, bool &behind_all) {
  before_all = text == "-";
  behind_all = text == "+";
  if (before_all || behind_all) return true;
  if (!text.starts_with('(') && !text.starts_with('[')) return false;
  included = text.front() == '[';
  member = text.substr(1);
  return true;
}

bool read_members(Bytes min, Bytes max, MemberRange &range) {
  bool min_behind_all = false;
  bool max_before_all = false;
  if (!read_member_end(min, range.min, range.min_included, range.from_first, min_behind_all) ||
      !read_member_end(max, range.max, range.max_included, max_before_all, range.to_last))
    return false;
  range.nothing = min_behind_all || max_before_all;
  // No member equals a longer bound.
  if (range.min.size() > member_bytes_max) {
    range.min = range.min.substr(0, member_bytes_max);
    range.min_included = false;
  }
  if (range.max.size() > member_bytes_max) {
    range.max = range.max.substr(0, member_bytes_max);
    range.max_included = true;
  }
  return true;
}

}  // namespace

bool read_range_ends(Call &call, Bytes first, Bytes last, SortedSetRange &range) {
  if (range.by == By::rank) {
    if (parse_integer(first, range.places.first) && parse_integer(last, range.places.last)) return true;
    refuse(call, not_an_integer);
    return false;
  }
  if (range.reverse) std::swap(first, last);
  if (range.by == By::score) {
    if (read_score_end(first, range.scores.min, range.scores.min_included) &&
        read_score_end(last, range.scores.max, range.scores.max_included))
      return true;
    refuse(call, "ERR min or max is not a float");
    return false;
  }
  if (read_members(first, last, range.members)) return true;
  refuse(call, "ERR min or max not valid string range item");
  return false;
}

bool read_range_options(Call &call, size_t at, const RangeOptions &may, SortedSetRange &range) {
  bool limited = false;
  for (; at < call.arguments.size(); ++at) {
    const Bytes word = call.arguments[at];
    if (may.with_scores && is_word(word, "withscores")) {
      range.with_scores = true;
    } else if (is_word(word, "limit") && at + 2 < call.arguments.size()) {
      if (!parse_integer(call.arguments[at + 1], range.offset) || !parse_integer(call.arguments[at + 2], range.count)) {
        refuse(call, not_an_integer);
        return false;
      }
      limited = range.count != -1;  // as in Redis, which takes that for no LIMIT, whatever the offset
      at += 2;
    } else if (may.reverse && !range.reverse && is_word(word, "rev")) {
      range.reverse = true;
    } else if (may.by && range.by == By::rank && is_word(word, "byscore")) {
      range.by = By::score;
    } else if (may.by && range.by == By::rank && is_word(word, "bylex")) {
      range.by = By::member;
    } else {
      refuse(call, syntax_error);
      return false;
    }
  }
  if (limited && range.by == By::rank) {
    refuse(call, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    return false;
  }
  if (range.with_scores && range.by == By::member) {
    refuse(call, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return false;
  }
  return true;
}

RangeEnds::RangeEnds(const Value &key, const SortedSetRange &range)
    : min_text_(range.by == By::score ? stored_score(range.scores.min) : std::string(range.members.min)),
      max_text_(range.by == By::score ? stored_score(range.scores.max) : std::string(range.members.max)),
      reverse_(range.reverse),
      offset_(static_cast<uint64_t>(range.offset)),
      limit_(range.count < 0 ? all_rows : static_cast<uint64_t>(range.count)) {
  low_.values = {key, Value::of(min_text_)};
  high_.values = {key, Value::of(max_text_)};
  if (range.by == By::score || (range.by == By::member && !range.members.from_first)) {
    low_.size = 2;
    low_.included = range.by == By::score ? range.scores.min_included : range.members.min_included;
  }
  if (range.by == By::score || (range.by == By::member && !range.members.to_last)) {
    high_.size = 2;
    high_.included = range.by == By::score ? range.scores.max_included : range.members.max_included;
  }
}

Find RangeEnds::find() const {
  const End &begin = reverse_ ? high_ : low_;
  const End &end = reverse_ ? low_ : high_;
  Find find{.limit = limit_, .offset = offset_};
  if (reverse_) find.comparison = begin.included ? Comparison::at_most : Comparison::less;
  else find.comparison = begin.included ? Comparison::at_least : Comparison::greater;
  find.key = begin.key();
  find.until = end.key();
  find.until_included = end.included;
  return find;
}

Task<> RangeWork::read_range(const Entry &entry, bool locks, std::vector<Cells> &rows) {
  rows.clear();
  if (!entry.live || range_.is_nothing()) co_return;
  SortedSetRange range = range_;
  bool turned = false;
  Places::Stretch stretch;
  if (range.by == By::rank) {
    const auto length = static_cast<uint64_t>(entry.len);
    stretch = range.places.in(length);
    if (stretch.count == 0) co_return;
    const uint64_t behind = length - stretch.offset - stretch.count;
    // Walks from the nearer end, because it passes everything before the range.
    turned = behind < stretch.offset;
    if (turned) {
      stretch.offset = behind;
      range.reverse = !range.reverse;
    }
  }
  const RangeEnds ends(Value::of(entry.key), range);
  Find find = ends.find();
  if (range.by == By::rank) {
    find.offset = stretch.offset;
    find.limit = stretch.count;
  }
  OpenTable &table = elements(index_of(range.by));
  StepReply &found = locks ? add_lock(table, find) : add_read(table, find);
  co_await go();
  rows = std::move(found.rows);
  if (turned) std::reverse(rows.begin(), rows.end());
}

}  // namespace postern::redis
