#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/verification.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/planned/kept_plans.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"

namespace postern::mariadb {
namespace {

std::atomic<uint64_t> one_in{0};
std::atomic<uint64_t> asked{0};
std::atomic<uint64_t> same{0};
std::atomic<uint64_t> different{0};
std::atomic<uint64_t> overtaken{0};

void add_one(std::atomic<uint64_t> &count) {
  count.fetch_add(1, std::memory_order_relaxed);
}

/// Whether only the server's flags for missing or bad indexes differ: with few rows, or a range of nearly all, it may
/// scan the whole table, with the same result.
bool differs_by_remark(Bytes first, Bytes server) {
  constexpr unsigned remarks = SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED;
  constexpr Bytes before_status("\xfe\0\0", 3);  // in both forms of the packet that ends columns, or rows
  if (first.size() != server.size()) return false;
  for (size_t i = 0; i < first.size(); ++i) {
    const unsigned bits = static_cast<unsigned char>(first[i]) ^ static_cast<unsigned char>(server[i]);
    if (bits != 0 && ((bits & ~remarks) != 0 || i < 3 || server.substr(i - 3, 3) != before_status)) return false;
  }
  return true;
}

/// The number of the error that ends an answer of the server; 0: it ends otherwise.
unsigned error_at_end(Bytes answer) {
  constexpr size_t header = 4;
  const auto byte = [&](size_t at) { return unsigned{static_cast<unsigned char>(answer[at])}; };
  while (answer.size() > header) {
    const size_t packet = header + (byte(0) | byte(1) << 8 | byte(2) << 16);
    if (packet < answer.size()) {
      answer.remove_prefix(packet);
    } else {
      return answer.size() >= header + 3 && byte(header) == 0xff ? byte(header + 1) | byte(header + 2) << 8 : 0;
    }
  }
  return 0;
}

/// Whether the server's statement was ended from outside, which says nothing about the fast answer: KILL, a time limit,
/// a shutdown, a lock. The session may have cleared the reason before a second answer is made.
bool was_ended(Bytes server) {
  switch (error_at_end(server)) {
    case ER_QUERY_INTERRUPTED:
    case ER_CONNECTION_KILLED:
    case ER_SERVER_SHUTDOWN:
    case ER_STATEMENT_TIMEOUT:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_LOCK_DEADLOCK: return true;
    default: return false;
  }
}

/// The packets in order, without their numbers, without the server's flags about indexes, and without column
/// definitions, which depend on the server's current plan.
std::vector<std::string> rows_of(Bytes answer) {
  constexpr size_t header = 4;
  constexpr unsigned remarks = SERVER_QUERY_NO_INDEX_USED | SERVER_QUERY_NO_GOOD_INDEX_USED;
  constexpr Bytes column("\3def", 4);
  std::vector<std::string> packets;
  while (answer.size() >= header) {
    const auto byte = [&](size_t at) { return size_t{static_cast<unsigned char>(answer[at])}; };
    const size_t packet = std::min(header + (byte(0) | byte(1) << 8U | byte(2) << 16U), answer.size());
    std::string one(answer.substr(header, packet - header));
    if (one.size() >= 5 && one.size() < 9 && one[0] == '\xfe')
      one[3] = static_cast<char>(static_cast<unsigned char>(one[3]) & ~remarks);
    if (!one.starts_with(column)) packets.push_back(std::move(one));
    answer.remove_prefix(packet);
  }
  return packets;
}

bool has_the_same_rows(Bytes one, Bytes other) {
  std::vector<std::string> ours = rows_of(one);
  std::vector<std::string> theirs = rows_of(other);
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  return ours == theirs;
}

}  // namespace

void verify_one_in(uint64_t answers) {
  one_in.store(answers, std::memory_order_relaxed);
}

bool is_to_be_verified() {
  const uint64_t every = one_in.load(std::memory_order_relaxed);
  return every != 0 && asked.fetch_add(1, std::memory_order_relaxed) % every == 0;
}

Verified verified() {
  return {same.load(std::memory_order_relaxed), different.load(std::memory_order_relaxed),
          overtaken.load(std::memory_order_relaxed)};
}

Verification::Verification(const Asked &asked, std::unique_ptr<Output> first)
    : asked_(asked), plan_(*plan_of(asked.statement)), first_(std::move(first)) {
  if (first_ != nullptr || plan_.needs_plans()) return;
  first_ = std::make_unique<Output>();
  if (!answer(*first_)) first_.reset();
}

bool answer_uncounted(const Asked &asked, KeptPlans *plans, Output &output) {
  THD *const thd = asked.thd;
  // A setting for the next transaction only would apply to the fast answer, and not to the server's.
  if (thd->tx_isolation != thd->variables.tx_isolation || thd->tx_read_only != thd->variables.tx_read_only)
    return false;
  constexpr size_t counted_bytes = offsetof(STATUS_VAR, max_local_memory_used);
  STATUS_VAR counted;
  std::memcpy(static_cast<void *>(&counted), &thd->status_var, counted_bytes);
  ClientMetadata metadata = asked.columns != nullptr ? *asked.columns : ClientMetadata{};
  Asked again = asked;
  if (asked.columns != nullptr) again.columns = &metadata;
  const bool answered =
      !session_allows(thd) && !plan_of(asked.statement)->answer(again, {.plans = plans}, output) && !output.broken();
  std::memcpy(static_cast<void *>(&thd->status_var), &counted, counted_bytes);
  return answered;
}

/// This thread keeps no plans.
bool Verification::answer(Output &output) {
  HomeThd home;
  KeptPlans plans(home);
  if (plan_.needs_plans() && !home.ready()) return false;
  return answer_uncounted(asked_, &plans, output);
}

/// Rows without a defined order may come in any.
bool Verification::is_same(Bytes first, Bytes server) const {
  return first == server || (plan_.leaves_order_open() && has_the_same_rows(first, server));
}

void Verification::compare(Bytes server) {
  if (first_ == nullptr || server.empty()) return;
  const Bytes first = first_->written_since(0);
  if (is_same(first, server)) return add_one(same);
  if (differs_by_remark(first, server)) {
    // A plan that reads the whole table gains nothing.
    plan_.switch_off("the server reads the whole table");
    return add_one(same);
  }
  if (was_ended(server)) return add_one(overtaken);
  Output second;
  if (!answer(second) || !is_same(second.written_since(0), first)) return add_one(overtaken);
  add_one(different);
  plan_.switch_off("it was not answered as the server does (postern_verify)");
  static log::Limited limited;
  if (uint64_t missed; !limited.pass(missed)) return;
  const StatementPlan::Table table = plan_.table();
  const auto [at, other] = std::ranges::mismatch(first, server);
  log::error(
      "a read of %s.%s, %zu bytes, was not answered as the server does, %zu bytes, from byte %td on; the like of it "
      "is left to the server from now on",
      table.database.c_str(), table.name.c_str(), first.size(), server.size(), at - first.begin());
}

}  // namespace postern::mariadb
