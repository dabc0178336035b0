// algebra.h: AlgebraWork, which combines several sets or sorted sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "redis/collections/collections.h"

namespace postern::redis {

struct Scored {
  std::string member{};
  double score = 1;
};
/// Sorted by bytes, without duplicates.
using Members = std::vector<Scored>;

/// The command's parameters besides its keys.
struct Algebra {
  enum class Operation : uint8_t { unite, intersect, subtract };
  enum class Aggregate : uint8_t { sum, min, max };

  Operation operation = Operation::unite;
  Aggregate aggregate = Aggregate::sum;
  Type type = Type::set;  ///< the result's; a sorted set may combine both
  std::vector<Source> sources{};
  std::vector<double> weights{};  ///< none: all are 1
  bool stores = false;
  Bytes target{};  ///< where to
};

/// Adds the keys of a command to the sources, and opens their tables. Sets `open` to the mapping of one of them, or
/// leaves nullptr. Returns false after answering an error.
bool add_sources(Call &call, std::span<const Bytes> keys, std::vector<Source> &sources, OpenMap *&open);

/// `numkeys key [key ...] [LIMIT limit]` of SINTERCARD and ZINTERCARD. Returns false after answering an error.
bool read_counted_keys(Call &call, std::span<const Bytes> &keys, uint64_t &count_max);

class AlgebraWork : public CollectionWork {
 public:
  /// What the answer has: the result, or its number of members, once it is stored or no more than `count_max`.
  enum class Result : uint8_t { members, scores, stored, count };
  AlgebraWork(Call &call, OpenMap &open, Algebra algebra, Result answer, uint64_t count_max = all)
      : CollectionWork(call, open),
        algebra_(std::move(algebra)),
        answer_(answer),
        count_max_(count_max),
        target_open_(open) {}

 protected:
  bool with_scores() const { return answer_ == Result::scores; }
  /// Writes the result.
  virtual void tell(Members &result) = 0;

 private:
  Task<> run() final;
  /// False: a key has another type, which was answered. Locks everything if the result is stored.
  Task<bool> compute(Members &result);
  /// Replaces the target by the result.
  Task<> store_result(const Members &result);
  struct Input {
    OpenMap *open = nullptr;
    Entry entry{};
    double weight = 1;
  };

  Task<bool> read_entries();
  Task<> read_members(const Input &input, Members &members);
  /// The `members` that are also in the input, by lookups or a full read.
  Task<> read_common(const Input &input, const Members &members, Members &common);
  Task<> intersect(Members &result);
  Task<> subtract(Members &result);
  StepReply &add_reading(OpenTable &table, const Find &find) {
    return algebra_.stores ? add_lock(table, find) : add_read(table, find);
  }
  double aggregate(double one, double other) const;

  const Algebra algebra_;
  const Result answer_;
  const uint64_t count_max_;
  OpenMap &target_open_;
  std::vector<Input> inputs_;  // of keys that are there
  Entry target_;
  size_t absent_ = 0;  // keys that are not there
  bool first_absent_ = false;
};

}  // namespace postern::redis
