#include <algorithm>

#include "redis/collections/algebra.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// SINTER and variants, those that store, and SINTERCARD.
class SetAlgebra final : public AlgebraWork {
 public:
  enum class Tells : uint8_t { members, stored, count };
  SetAlgebra(Call &call, OpenMap &open, Algebra algebra, Tells tells, uint64_t count_max = all)
      : AlgebraWork(call, open, std::move(algebra)), tells_(tells), count_max_(count_max) {}

 private:
  Task<> run() override {
    Members result;
    if (!co_await compute(result)) co_return;
    if (tells_ == Tells::stored) co_await store_result(result);
    if (tells_ != Tells::members) {
      writer().integer(static_cast<int64_t>(std::min<uint64_t>(result.size(), count_max_)));
      co_return;
    }
    Writer to = writer();
    to.set(result.size());
    for (const Scored &one : result) to.bulk(one.member);
  }

  const Tells tells_;
  const uint64_t count_max_;
};

Next put_together(Call &call, Algebra::Operation operation) {
  Algebra algebra{.operation = operation};
  OpenMap *open = nullptr;
  if (!add_sources(call, call.arguments.subspan(1), algebra.sources, open)) return Next::go_on;
  if (open == nullptr) {
    answer(call, [](Writer &writer) { writer.set(0); });
    return Next::go_on;
  }
  return begin_reading_work(
      call, tables_of(call).keep<SetAlgebra>(call, *open, std::move(algebra), SetAlgebra::Tells::members));
}

Next store_together(Call &call, Algebra::Operation operation) {
  Algebra algebra{.operation = operation, .stores = true, .target = call.arguments[1]};
  OpenMap *const target = open_for_work(call, algebra.target);
  OpenMap *open = nullptr;
  if (target == nullptr || !add_sources(call, call.arguments.subspan(2), algebra.sources, open)) return Next::go_on;
  return begin_work(call,
                    tables_of(call).keep<SetAlgebra>(call, *target, std::move(algebra), SetAlgebra::Tells::stored));
}

}  // namespace

namespace lower {

Next sinter(Call &call) {
  return put_together(call, Algebra::Operation::intersect);
}

Next sunion(Call &call) {
  return put_together(call, Algebra::Operation::unite);
}

Next sdiff(Call &call) {
  return put_together(call, Algebra::Operation::subtract);
}

Next sinterstore(Call &call) {
  return store_together(call, Algebra::Operation::intersect);
}

Next sunionstore(Call &call) {
  return store_together(call, Algebra::Operation::unite);
}

Next sdiffstore(Call &call) {
  return store_together(call, Algebra::Operation::subtract);
}

Next sintercard(Call &call) {
  std::span<const Bytes> keys;
  uint64_t count_max = 0;
  if (!read_counted_keys(call, keys, count_max)) return Next::go_on;
  Algebra algebra{.operation = Algebra::Operation::intersect};
  OpenMap *open = nullptr;
  if (!add_sources(call, keys, algebra.sources, open)) return Next::go_on;
  if (open == nullptr) return answer_integer(call, 0);
  return begin_reading_work(
      call, tables_of(call).keep<SetAlgebra>(call, *open, std::move(algebra), SetAlgebra::Tells::count, count_max));
}

}  // namespace lower
}  // namespace postern::redis
