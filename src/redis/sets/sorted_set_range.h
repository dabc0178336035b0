// sorted_set_range.h: ranges of sorted sets, as ZRANGE and its like have them, and RangeWork, which reads them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "redis/collections/range_tell.h"

namespace postern::redis {

struct ScoreRange {
  double min = -infinity;
  double max = infinity;
  bool min_included = true;
  bool max_included = true;
};

struct MemberRange {
  Bytes min{};
  Bytes max{};
  bool from_first = true;  ///< `min` means nothing
  bool to_last = true;     ///< `max` means nothing
  bool min_included = true;
  bool max_included = true;
  bool nothing = false;  ///< it begins after all, or ends before all
};

struct SortedSetRange {
  enum class By : uint8_t { rank, score, member };
  By by = By::rank;
  bool reverse = false;  ///< from the highest on
  bool with_scores = false;
  Places places{};
  ScoreRange scores{};
  MemberRange members{};
  int64_t offset = 0;
  int64_t count = -1;  ///< negative: all

  bool is_nothing() const {
    return count == 0 || offset < 0 || (by == By::member && members.nothing) ||
           (by == By::rank && places.first >= 0 && places.last >= 0 && places.last < places.first);
  }
};

/// `first` and `last` as the command has them: with `reverse` the highest comes first, but among ranks. Returns false
/// after answering an error.
bool read_range_ends(Call &call, Bytes first, Bytes last, SortedSetRange &range);
/// The options after the ends of ZRANGE and its variants, from argument `at` on. An option in the command's name is
/// none.
struct RangeOptions {
  bool by = false;
  bool reverse = false;
  bool with_scores = false;
};
bool read_range_options(Call &call, size_t at, const RangeOptions &may, SortedSetRange &range);

/// The ends of a range as a find has them: of `by_score`, or by members of the primary key. Ranks have none.
class RangeEnds final : public Kept {
 public:
  /// `key`: as rows have it.
  RangeEnds(const Value &key, const SortedSetRange &range);
  RangeEnds(const RangeEnds &) = delete;
  RangeEnds &operator=(const RangeEnds &) = delete;

  /// Its limit and offset are the range's. Borrows from this.
  Find find() const;

 private:
  struct End {
    std::array<Value, 2> values{};
    size_t size = 1;
    bool included = true;
    std::span<const Value> key() const { return std::span(values).first(size); }
  };
  const std::string min_text_;
  const std::string max_text_;
  End low_;
  End high_;
  bool reverse_ = false;
  uint64_t offset_ = 0;
  uint64_t limit_ = 0;
};

inline Elements index_of(SortedSetRange::By by) {
  return by == SortedSetRange::By::member ? Elements::zsets : Elements::zsets_by_score;
}

class RangeWork : public CollectionWork {
 public:
  RangeWork(Call &call, OpenMap &open, const SortedSetRange &range) : CollectionWork(call, open), range_(range) {}

 protected:
  /// The rows of the range, in its order; locked, if `locks`.
  Task<> read_range(const Entry &entry, bool locks, std::vector<Cells> &rows);
  const SortedSetRange &range() const { return range_; }

 private:
  const SortedSetRange range_;
};

}  // namespace postern::redis
