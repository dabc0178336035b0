#include "redis/collections/algebra.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// SINTER and variants, those that store, and SINTERCARD.
class SetAlgebra final : public AlgebraWork {
 public:
  using AlgebraWork::AlgebraWork;

 private:
  void tell(Members &result) override {
    Writer to = writer();
    to.set(result.size());
    for (const Scored &one : result) to.bulk(one.member);
  }
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
      call, tables_of(call).keep<SetAlgebra>(call, *open, std::move(algebra), SetAlgebra::Result::members));
}

Next store_together(Call &call, Algebra::Operation operation) {
  Algebra algebra{.operation = operation, .stores = true, .target = call.arguments[1]};
  OpenMap *const target = open_for_work(call, algebra.target);
  OpenMap *open = nullptr;
  if (target == nullptr || !add_sources(call, call.arguments.subspan(2), algebra.sources, open)) return Next::go_on;
  return begin_work(call,
                    tables_of(call).keep<SetAlgebra>(call, *target, std::move(algebra), SetAlgebra::Result::stored));
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
      call, tables_of(call).keep<SetAlgebra>(call, *open, std::move(algebra), SetAlgebra::Result::count, count_max));
}

}  // namespace lower
}  // namespace postern::redis
