#include "door/connections/slow_log.h"

#include <new>
#include <string>

#include "base/clock.h"

namespace postern::door {
namespace {

/// Lines in a second by one thread.
constexpr uint32_t told_per_second_max = 5;

void add_names(std::string &text, const char *what, std::span<const Bytes> names) {
  const char *before = what;
  for (const Bytes name : names) {
    (text += before) += name;
    before = ",";
  }
}

void add_table(std::string &text, const TableSpec &spec) {
  text.append(" ").append(spec.database).append(".").append(spec.table);
  if (!spec.index.empty()) text.append(" index ").append(spec.index);
  add_names(text, " columns ", spec.columns);
  add_names(text, " filtered by ", spec.filter_columns);
}

/// The log's line for an op that is answered and not yet settled.
const TableSpec *spec_of(const Op &op) {
  if (op.verb == Verb::open) return op.spec;
  if (op.verb == Verb::answer || op.verb == Verb::login || op.verb == Verb::statement || op.slot == nullptr)
    return nullptr;
  const Binding *const binding = op.slot->binding();
  return binding != nullptr ? &binding->spec() : nullptr;
}

}  // namespace

void SlowLog::note(const Connection &connection, std::span<const Op> ops, int64_t began_us) noexcept {
  const int64_t now_us = clock_us();
  if (ops.empty() || now_us - began_us < options_.slow_request_us) return;
  counters_.add(Counter::slow_requests);
  if (const int64_t second = now_us / 1'000'000; second != second_) {
    second_ = second;
    told_ = 0;
  }
  if (told_ == told_per_second_max || options_.tell_slow == nullptr) {
    ++unheard_;
    return;
  }
  ++told_;
  try {
    tell(connection, ops, static_cast<uint64_t>(now_us - began_us));
    unheard_ = 0;
  } catch (const std::bad_alloc &) {
    ++unheard_;
  }
}

void SlowLog::tell(const Connection &connection, std::span<const Op> ops, uint64_t took_us) const {
  SlowRequest request;
  request.client = connection.listed.peer();
  request.account = connection.listed.account();
  request.took_us = took_us;
  for (const Op &op : ops) {
    request.rows_sent += op.rows_sent;
    request.rows_examined += op.rows_examined;
  }
  request.what = "/* " + options_.name + ", connection " + std::to_string(connection.listed.id());
  if (ops.size() > 1) request.what += ", first of " + std::to_string(ops.size()) + " requests answered together";
  if (unheard_ != 0) request.what += ", " + std::to_string(unheard_) + " others not told";
  request.what.append(" */ ").append(words_of(ops.front().verb));
  if (const TableSpec *const spec = spec_of(ops.front())) add_table(request.what, *spec);
  options_.tell_slow(request);
}

}  // namespace postern::door
