// sorted_set_range.h: ranges of sorted sets, as in ZRANGE and its variants, and RangeWork, which reads them.
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
  bool from_first = true;  ///< `min` is malformed
  bool to_last = true;     ///< `max` is malformed
  bool min_included = true;
  bool max_included = true;
  bool nothing = false;  ///< it begins after all members, or ends before all
};

struct SortedSetRange {
  enum class By : uint8_t { rank, score, member };
  By by = By::rank;
  bool reverse = false;  ///< from the highest down
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

/// `first` and `last` in the order of the arguments: with `reverse`, except by rank, the highest comes first. Returns
/// false after answering an error.
bool read_range_ends(Call &call, Bytes first, Bytes last, SortedSetRange &range);
/// Parses the options of ZRANGE and its variants from argument `at` on. Options implied by the command's name are not
/// accepted.
struct RangeOptions {
  bool by = false;
  bool reverse = false;
  bool with_scores = false;
};
bool read_range_options(Call &call, size_t at, const RangeOptions &may, SortedSetRange &range);

/// The bounds of a range for a find: on the index `by_score`, or on the primary key, by members. Ranks have none.
class RangeEnds final : public Kept {
 public:
  /// `key`: as rows store it.
  RangeEnds(const Value &key, const SortedSetRange &range);
  RangeEnds(const RangeEnds &) = delete;
  RangeEnds &operator=(const RangeEnds &) = delete;

  /// A find with the range's limit and offset. Borrows from this.
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
