// random_elements.h: RandomWork, which chooses random elements of a key, all with equal probability.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "redis/collections/collections.h"

namespace postern::redis {

/// There are two ways. Few of many elements are *drawn*: a range of the key's elements is halved until few are left,
/// choosing a half at random, weighted by the storage engine's estimates of their rows. The probability of the last
/// range and its number of rows are known then, so a draw that was too likely is rejected as often as it must be. That
/// takes steps in proportion to the logarithm of the number of elements. Otherwise a walk goes through all elements up
/// to the chosen places.
class RandomWork : public CollectionWork {
 public:
  using CollectionWork::CollectionWork;

 protected:
  /// Whether a reply may have so many elements of a key. The key's row may count more than there are.
  static bool may_choose(const Entry &entry, uint64_t count) {
    return std::min(count, static_cast<uint64_t>(entry.len)) <= limits::edit_reply_bytes_max / sizeof(Cell);
  }
  /// Whether drawing so many of the key's elements is cheaper than walking.
  static bool are_few(const Entry &entry, uint64_t count) {
    return count != 0 && static_cast<uint64_t>(entry.len) / count >= elements_of_a_draw;
  }
  /// Reads the first `columns` of the rows of `table` at these places of the key's elements: a walk from the nearer
  /// end. `rows` are in the order of `places`, which are sorted, without duplicates.
  Task<> read_at(OpenTable &table, const Entry &entry, const std::vector<uint64_t> &places, size_t columns,
                 std::vector<Cells> &rows);
  /// Draws `count` elements, with repetitions unless `distinct`. `rows` are fewer if the key's row counts more elements
  /// than there are.
  Task<> draw(OpenTable &table, const Entry &entry, uint64_t count, bool distinct, size_t columns,
              std::vector<Cells> &rows);

 private:
  /// With fewer elements for each wanted one a walk costs less than draws.
  static constexpr uint64_t elements_of_a_draw = 512;

  /// A range of elements, both ends included.
  struct Range {
    std::string first{};
    std::string last{};
    uint64_t rows = 0;  // about
    size_t lower = 0;   // index of its lower half in ranges_, followed by the upper one; 0: none yet
  };

  StepReply &add_member(OpenTable &table, const Find &find, std::string &member);
  Task<> read_rows(OpenTable &table, const Find &find, size_t columns, const std::function<bool(uint64_t)> &wanted,
                   std::vector<Cells> &rows);
  Task<bool> find_ends(OpenTable &table, const Entry &entry);
  Task<> halve(OpenTable &table, const Entry &entry, size_t at);
  Task<> read_range(OpenTable &table, const Entry &entry, size_t at, size_t columns, std::vector<Cells> &rows);
  Task<> draw_once(OpenTable &table, const Entry &entry, size_t columns, bool for_sure, Cells &drawn);

  std::vector<Range> ranges_;
};

/// A text roughly halfway between `first` (excluded) and `last` (included); `last` is greater.
std::string text_between(Bytes first, Bytes last);

/// The wanted elements of SRANDMEMBER, ZRANDMEMBER and HRANDFIELD.
struct RandomChoice {
  /// The maximum count with repetitions.
  static constexpr int64_t repeated_max = 1'000'000;

  bool one = true;         ///< and not in an array
  int64_t count = 1;       ///< negative: so many, with repetitions
  bool with_more = false;  ///< WITHSCORES or WITHVALUES

  /// Chooses places below `length`, in the order of the answer.
  std::vector<uint64_t> places(uint64_t length) const;
  uint64_t wanted() const { return static_cast<uint64_t>(count < 0 ? -count : count); }
  /// Answers rows of elements.
  void tell(Writer &writer, Type type, const std::vector<const Cells *> &rows) const;
  void tell_absent(Writer &writer) const { one ? writer.nil() : writer.array(0); }
};

/// `command key [count [word]]`; without `word` there is no such option. Returns false after answering an error.
bool read_random_choice(Call &call, Bytes word, RandomChoice &choice);

/// Answers them from a set, a sorted set or a hash of the generic keyspace.
class RandomElements final : public RandomWork {
 public:
  RandomElements(Call &call, OpenMap &open, Type type, const RandomChoice &choice)
      : RandomWork(call, open), type_(type), choice_(choice) {}

 private:
  Task<> run() override;
  Task<> walk(const Entry &entry, size_t columns, std::vector<Cells> &rows, std::vector<const Cells *> &chosen);

  const Type type_;
  const RandomChoice choice_;
};

}  // namespace postern::redis
