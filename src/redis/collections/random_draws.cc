// Draws of RandomWork: see random_elements.h.
#include <set>
#include <utility>

#include "redis/collections/chance.h"
#include "redis/collections/random_elements.h"

namespace postern::redis {
namespace {

/// A range with no more rows, by estimate, is read.
constexpr uint64_t rows_of_a_leaf = 16;
/// One that has more, in spite of its estimate, is halved on.
constexpr uint64_t rows_read_max = 256;
/// A range is always accepted if its rows should have had more than so many times its probability. Estimates are seldom
/// so wrong; if they are, its rows are chosen slightly too seldom.
constexpr double weight_max = 1.6;
constexpr int draws_max = 32;
constexpr int halves_max = 2'048;
constexpr size_t bytes_compared = 8;

uint64_t leading(Bytes text) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes_compared; ++i)
    number = number << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return number;
}

bool happens(double chance) {
  constexpr uint64_t parts = uint64_t{1} << 32;
  return static_cast<double>(random_below(parts)) < chance * static_cast<double>(parts);
}

}  // namespace

std::string text_between(Bytes first, Bytes last) {
  size_t same = 0;
  while (same < first.size() && same < last.size() && first[same] == last[same]) ++same;
  const uint64_t low = leading(first.substr(same));
  const uint64_t high = leading(last.substr(same));
  if (low >= high || high - low == 1) return std::string(last);
  const uint64_t middle = low + (high - low) / 2;
  std::string text(last.substr(0, same));
  for (size_t i = 0; i < bytes_compared && Bytes(text) <= first; ++i)
    text += static_cast<char>(middle >> (8 * (bytes_compared - 1 - i)) & 0xff);
  return text;
}

StepReply &RandomWork::add_member(OpenTable &table, const Find &find, std::string &member) {
  StepReply &reply = add_read(table, find);
  reply.hears = [&member](Row row, uint64_t) {
    member = std::string(row[column::member].bytes());
    return Flow::more;
  };
  return reply;
}

Task<bool> RandomWork::find_ends(OpenTable &table, const Entry &entry) {
  Range whole{.rows = static_cast<uint64_t>(entry.len)};
  const auto key = key_of(entry);
  const StepReply &found =
      add_member(table, {.comparison = Comparison::at_least, .key = key, .until = key}, whole.first);
  add_member(table, {.comparison = Comparison::at_most, .key = key, .until = key}, whole.last);
  co_await go();
  const bool any = found.met != 0;
  ranges_.clear();
  ranges_.push_back(std::move(whole));
  co_return any;
}

/// Splits the range into halves, each from its first element to its last.
Task<> RandomWork::halve(OpenTable &table, const Entry &entry, size_t at) {
  Range lower{.first = ranges_[at].first, .last = ranges_[at].first};
  Range upper{.first = ranges_[at].last, .last = ranges_[at].last};
  const auto first = element_of(entry, keep_text(lower.first));
  const auto last = element_of(entry, keep_text(upper.last));
  const auto middle = element_of(entry, keep_text(text_between(lower.first, upper.last)));
  add_member(table, {.comparison = Comparison::less, .key = middle, .until = first}, lower.last);
  add_member(table, {.comparison = Comparison::at_least, .key = middle, .until = last}, upper.first);
  Find many{.comparison = Comparison::at_least, .key = first, .until = middle, .until_included = false};
  many.estimated = true;
  const StepReply &below = add_find(table, many);
  many.key = middle;
  many.until = last;
  many.until_included = true;
  const StepReply &above = add_find(table, many);
  co_await go();
  lower.rows = std::max<uint64_t>(below.about, 1);
  upper.rows = std::max<uint64_t>(above.about, 1);
  ranges_[at].lower = ranges_.size();
  ranges_.push_back(std::move(lower));
  ranges_.push_back(std::move(upper));
}

/// Reads all rows of the range, or more than a range should have.
Task<> RandomWork::read_range(OpenTable &table, const Entry &entry, size_t at, size_t columns,
                              std::vector<Cells> &rows) {
  const Find find{.comparison = Comparison::at_least,
                  .key = element_of(entry, keep_text(ranges_[at].first)),
                  .limit = rows_read_max + 1,
                  .until = element_of(entry, keep_text(ranges_[at].last))};
  const std::function<bool(uint64_t)> every = [](uint64_t) { return true; };
  co_await read_rows(table, find, columns, every, rows);
}

/// One draw, which may be rejected: then there are no rows.
Task<> RandomWork::draw_once(OpenTable &table, const Entry &entry, size_t columns, bool for_sure, Cells &drawn) {
  std::vector<Cells> rows;
  double chance = 1;
  size_t at = 0;
  bool small = false;
  for (int halves = 0; !small; ++halves) {
    small = ranges_[at].rows <= rows_of_a_leaf || ranges_[at].first == ranges_[at].last || halves == halves_max;
    if (small) {
      co_await read_range(table, entry, at, columns, rows);
      small = rows.size() <= rows_read_max || halves == halves_max;
      if (small) break;
      ranges_[at].rows = rows.size();
    }
    if (ranges_[at].lower == 0) co_await halve(table, entry, at);
    const Range &lower = ranges_[ranges_[at].lower];
    const Range &upper = ranges_[ranges_[at].lower + 1];
    const double part = static_cast<double>(lower.rows) / static_cast<double>(lower.rows + upper.rows);
    const bool down = happens(part);
    chance *= down ? part : 1 - part;
    at = ranges_[at].lower + (down ? 0 : 1);
  }
  if (rows.empty()) co_return;
  const double wanted = static_cast<double>(rows.size()) / static_cast<double>(entry.len);
  if (for_sure || happens(wanted / chance / weight_max)) drawn = std::move(rows[random_below(rows.size())]);
}

Task<> RandomWork::draw(OpenTable &table, const Entry &entry, uint64_t count, bool distinct, size_t columns,
                        std::vector<Cells> &rows) {
  rows.clear();
  if (!co_await find_ends(table, entry)) co_return;
  std::set<std::string, std::less<>> chosen;
  // Often enough for repeated draws of the same rows; not for ever if there are far fewer than the key's row counts.
  for (uint64_t tries = 4 * count + draws_max; rows.size() < count && tries != 0; --tries) {
    Cells drawn;
    for (int draws = 1; drawn.empty() && draws <= draws_max; ++draws)
      co_await draw_once(table, entry, columns, draws == draws_max, drawn);
    if (drawn.empty() || (distinct && !chosen.insert(drawn[column::member].text).second)) continue;
    rows.push_back(std::move(drawn));
  }
}

}  // namespace postern::redis
