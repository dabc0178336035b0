#include <algorithm>
#include <string>

#include "redis/collections/algebra.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

using Operation = Algebra::Operation;

/// ZUNION and variants, those that store, and ZINTERCARD.
class SortedSetAlgebra final : public AlgebraWork {
 public:
  using AlgebraWork::AlgebraWork;

 private:
  void tell(Members &result) override {
    std::stable_sort(result.begin(), result.end(),
                     [](const Scored &one, const Scored &other) { return one.score < other.score; });
    Writer to = writer();
    to.array(with_scores() && !to.three() ? 2 * result.size() : result.size());
    for (const Scored &one : result) {
      if (with_scores() && to.three()) to.array(2);
      to.bulk(one.member);
      if (with_scores()) to.number(one.score);
    }
  }
};

struct Wanted {
  Algebra algebra{};
  OpenMap *open = nullptr;
  bool with_scores = false;
  bool counts = false;
  uint64_t count_max = all_rows;
};

bool wrong(Call &call, Bytes why, Bytes rest = {}) {
  refuse(call, why, rest);
  return false;
}

bool read_weights(Call &call, std::span<const Bytes> words, std::vector<double> &weights) {
  for (const Bytes word : words) {
    double weight = 0;
    if (!parse_double(word, weight)) return wrong(call, "ERR weight value is not a float");
    weights.push_back(weight);
  }
  return true;
}

/// The options after the keys.
bool read_options(Call &call, std::span<const Bytes> rest, Wanted &wanted) {
  Algebra &algebra = wanted.algebra;
  const size_t keys = algebra.sources.size();
  const bool weighs = algebra.operation != Operation::subtract && !wanted.counts;
  while (!rest.empty()) {
    size_t taken = 1;
    if (weighs && rest.size() > keys && is_word(rest[0], "weights")) {
      algebra.weights.clear();
      if (!read_weights(call, rest.subspan(1, keys), algebra.weights)) return false;
      taken = 1 + keys;
    } else if (weighs && rest.size() > 1 && is_word(rest[0], "aggregate")) {
      if (is_word(rest[1], "sum")) algebra.aggregate = Algebra::Aggregate::sum;
      else if (is_word(rest[1], "min")) algebra.aggregate = Algebra::Aggregate::min;
      else if (is_word(rest[1], "max")) algebra.aggregate = Algebra::Aggregate::max;
      else return wrong(call, syntax_error);
      taken = 2;
    } else if (!algebra.stores && !wanted.counts && is_word(rest[0], "withscores")) {
      wanted.with_scores = true;
    } else if (wanted.counts && rest.size() > 1 && is_word(rest[0], "limit")) {
      int64_t limit = 0;
      if (!parse_integer(rest[1], limit) || limit < 0) return wrong(call, "ERR LIMIT can't be negative");
      wanted.count_max = limit == 0 ? all_rows : static_cast<uint64_t>(limit);
      taken = 2;
    } else {
      return wrong(call, syntax_error);
    }
    rest = rest.subspan(taken);
  }
  return true;
}

/// `numkeys key [key ...]` from argument `at` on, and the options. Returns false after answering an error.
bool read_algebra(Call &call, size_t at, Wanted &wanted) {
  wanted.algebra.type = Type::zset;
  int64_t keys = 0;
  if (!parse_integer(call.arguments[at], keys)) return wrong(call, not_an_integer);
  if (keys < 1)
    return wrong(call, "ERR at least 1 input key is needed for '", std::string(call.command.name) + "' command");
  const auto rest = call.arguments.subspan(at + 1);
  if (static_cast<uint64_t>(keys) > rest.size()) return wrong(call, syntax_error);
  const auto count = static_cast<size_t>(keys);
  return add_sources(call, rest.first(count), wanted.algebra.sources, wanted.open) &&
         read_options(call, rest.subspan(count), wanted);
}

Next put_scored_together(Call &call, Operation operation) {
  using Result = SortedSetAlgebra::Result;
  Wanted wanted;
  wanted.algebra.operation = operation;
  if (!read_algebra(call, 1, wanted)) return Next::go_on;
  if (wanted.open == nullptr) {
    answer(call, [](Writer &writer) { writer.array(0); });
    return Next::go_on;
  }
  return begin_reading_work(
      call, tables_of(call).keep<SortedSetAlgebra>(call, *wanted.open, std::move(wanted.algebra),
                                                   wanted.with_scores ? Result::scores : Result::members));
}

Next store_scored_together(Call &call, Operation operation) {
  Wanted wanted;
  wanted.algebra.operation = operation;
  wanted.algebra.stores = true;
  wanted.algebra.target = call.arguments[1];
  if (!read_algebra(call, 2, wanted)) return Next::go_on;
  OpenMap *const target = open_for_work(call, wanted.algebra.target);
  if (target == nullptr) return Next::go_on;
  note_fed(call, wanted.algebra.target);
  return begin_work(call, tables_of(call).keep<SortedSetAlgebra>(call, *target, std::move(wanted.algebra),
                                                                 SortedSetAlgebra::Result::stored));
}

}  // namespace

namespace lower {

Next zunion(Call &call) {
  return put_scored_together(call, Operation::unite);
}

Next zinter(Call &call) {
  return put_scored_together(call, Operation::intersect);
}

Next zdiff(Call &call) {
  return put_scored_together(call, Operation::subtract);
}

Next zunionstore(Call &call) {
  return store_scored_together(call, Operation::unite);
}

Next zinterstore(Call &call) {
  return store_scored_together(call, Operation::intersect);
}

Next zdiffstore(Call &call) {
  return store_scored_together(call, Operation::subtract);
}

Next zintercard(Call &call) {
  Wanted wanted;
  wanted.algebra.operation = Operation::intersect;
  wanted.counts = true;
  if (!read_algebra(call, 1, wanted)) return Next::go_on;
  if (wanted.open == nullptr) return answer_integer(call, 0);
  return begin_reading_work(call,
                            tables_of(call).keep<SortedSetAlgebra>(call, *wanted.open, std::move(wanted.algebra),
                                                                   SortedSetAlgebra::Result::count, wanted.count_max));
}

}  // namespace lower
}  // namespace postern::redis
