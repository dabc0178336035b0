#include "redis/collections/algebra.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "redis/collections/scores.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

constexpr size_t looked_up_at_once = 1'000;

/// Adds rows of `sets` and `zsets` to members, as they come.
std::function<Flow(Row, uint64_t)> into(Members &members, double weight) {
  return [&members, weight, begin = members.size(), bytes = size_t{0}](Row row, uint64_t before) mutable {
    if (before == 0) {
      members.resize(begin);
      bytes = 0;
    }
    double score = row.size() > column::score ? score_in(row[column::score]) * weight : weight;
    if (std::isnan(score)) score = 0;
    members.push_back({std::string(row[column::member].bytes()), score});
    bytes += sizeof(Scored) + members.back().member.size();
    return bytes <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
  };
}

}  // namespace

bool add_sources(Call &call, std::span<const Bytes> keys, std::vector<Source> &sources, OpenMap *&open) {
  for (const Bytes key : keys) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) {
      refuse_place(call, place);
      return false;
    }
    Source &source = sources.emplace_back(Source{nullptr, key});
    if (place.state != Place::State::there) continue;
    if (!place.generic()) {
      refuse(call, wrong_type);
      return false;
    }
    open_elements(call, *place.open);
    source.open = open = place.open;
  }
  return true;
}

bool read_counted_keys(Call &call, std::span<const Bytes> &keys, uint64_t &count_max) {
  int64_t count = 0;
  if (!parse_integer(call.arguments[1], count) || count < 1) {
    refuse(call, "ERR numkeys should be greater than 0");
    return false;
  }
  if (static_cast<uint64_t>(count) > call.arguments.size() - 2) {
    refuse(call, "ERR Number of keys can't be greater than number of args");
    return false;
  }
  keys = call.arguments.subspan(2, static_cast<size_t>(count));
  count_max = all_rows;
  for (auto rest = call.arguments.subspan(2 + keys.size()); !rest.empty(); rest = rest.subspan(2)) {
    int64_t limit = 0;
    if (!is_word(rest[0], "limit") || rest.size() < 2) {
      refuse(call, syntax_error);
      return false;
    }
    if (!parse_integer(rest[1], limit) || limit < 0) {
      refuse(call, "ERR LIMIT can't be negative");
      return false;
    }
    count_max = limit == 0 ? all_rows : static_cast<uint64_t>(limit);
  }
  return true;
}

Task<bool> AlgebraWork::read_entries() {
  inputs_.clear();
  absent_ = 0;
  first_absent_ = false;
  std::vector<Entry> entries(algebra_.sources.size());
  if (algebra_.stores) {
    // In a global order, so that commands on the same keys do not deadlock.
    std::vector<size_t> order(entries.size() + 1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key_at = [this](size_t i) {
      return i == algebra_.sources.size() ? algebra_.target : algebra_.sources[i].key;
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key_at(a) < key_at(b); });
    for (const size_t i : order) {
      if (i == entries.size()) {
        use(target_open_);
        target_ = co_await lock(row_key(algebra_.target));
      } else if (algebra_.sources[i].open != nullptr) {
        use(*algebra_.sources[i].open);
        entries[i] = co_await lock(row_key(algebra_.sources[i].key));
      }
    }
  } else {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (algebra_.sources[i].open == nullptr) continue;
      use(*algebra_.sources[i].open);
      entries[i] = co_await look(row_key(algebra_.sources[i].key));
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].live) {
      ++absent_;
      first_absent_ = first_absent_ || i == 0;
      continue;
    }
    const bool fits = entries[i].type == Type::set || entries[i].type == algebra_.type;
    if (!fits) {
      writer().error(wrong_type);
      co_return false;
    }
    const double weight = algebra_.weights.empty() ? 1 : algebra_.weights[i];
    inputs_.push_back({algebra_.sources[i].open, std::move(entries[i]), weight});
  }
  co_return true;
}

double AlgebraWork::aggregate(double one, double other) const {
  switch (algebra_.aggregate) {
    case Algebra::Aggregate::sum: break;
    case Algebra::Aggregate::min: return std::min(one, other);
    case Algebra::Aggregate::max: return std::max(one, other);
  }
  const double sum = one + other;
  return std::isnan(sum) ? 0 : sum;
}

Task<> AlgebraWork::read_members(const Input &input, Members &members) {
  members.clear();
  use(*input.open);
  StepReply &found = add_reading(*elements_of(input.entry.type), {.key = key_of(input.entry), .limit = all});
  found.hears = into(members, input.weight);
  co_await go();
}

Task<> AlgebraWork::read_common(const Input &input, const Members &members, Members &common) {
  common.clear();
  const auto less = [](const Scored &one, const Scored &other) { return one.member < other.member; };
  if (static_cast<int64_t>(members.size()) > input.entry.len / 4) {
    Members others;
    co_await read_members(input, others);
    std::set_intersection(others.begin(), others.end(), members.begin(), members.end(), std::back_inserter(common),
                          less);
    co_return;
  }
  use(*input.open);
  for (size_t at = 0; at < members.size(); at += looked_up_at_once) {
    const size_t count = std::min(looked_up_at_once, members.size() - at);
    const std::span<Value> list = values(count);
    for (size_t i = 0; i < count; ++i) list[i] = Value::of(members[at + i].member);
    const std::span<const Value> key = element_of(input.entry, members[at].member);
    StepReply &found =
        add_reading(*elements_of(input.entry.type), {.in_part = 1, .key = key, .in_list = list, .limit = all});
    found.hears = into(common, input.weight);
    co_await go();
  }
}

Task<> AlgebraWork::intersect(Members &result) {
  if (absent_ != 0) co_return;
  co_await read_members(inputs_.front(), result);
  for (size_t i = 1; i < inputs_.size() && !result.empty(); ++i) {
    Members common;
    co_await read_common(inputs_[i], result, common);
    auto other = common.begin();
    std::erase_if(result, [&](Scored &one) {
      if (other == common.end() || other->member != one.member) return true;
      one.score = aggregate(one.score, other++->score);
      return false;
    });
  }
}

Task<> AlgebraWork::subtract(Members &result) {
  if (first_absent_ || inputs_.empty()) co_return;
  co_await read_members(inputs_.front(), result);
  for (size_t i = 1; i < inputs_.size() && !result.empty(); ++i) {
    Members common;
    co_await read_common(inputs_[i], result, common);
    auto other = common.begin();
    std::erase_if(result, [&](const Scored &one) {
      if (other == common.end() || other->member != one.member) return false;
      ++other;
      return true;
    });
  }
}

Task<> AlgebraWork::run() {
  Members result;
  if (!co_await compute(result)) co_return;
  if (answer_ == Result::stored) co_await store_result(result);
  if (answer_ == Result::stored || answer_ == Result::count)
    writer().integer(static_cast<int64_t>(std::min<uint64_t>(result.size(), count_max_)));
  else tell(result);
}

Task<bool> AlgebraWork::compute(Members &result) {
  if (!co_await read_entries()) co_return false;
  if (algebra_.operation == Algebra::Operation::subtract) {
    co_await subtract(result);
    co_return true;
  }
  // In Redis's order, because sums of floats depend on it.
  std::stable_sort(inputs_.begin(), inputs_.end(),
                   [](const Input &one, const Input &other) { return one.entry.len < other.entry.len; });
  if (algebra_.operation == Algebra::Operation::intersect) {
    co_await intersect(result);
    co_return true;
  }
  for (const Input &input : inputs_) {
    Members members;
    co_await read_members(input, members);
    Members both;
    both.reserve(result.size() + members.size());
    auto one = result.begin();
    auto other = members.begin();
    while (one != result.end() || other != members.end()) {
      if (other == members.end() || (one != result.end() && one->member < other->member)) {
        both.push_back(std::move(*one++));
      } else if (one == result.end() || other->member < one->member) {
        both.push_back(std::move(*other++));
      } else {
        one->score = aggregate(one->score, other++->score);
        both.push_back(std::move(*one++));
      }
    }
    result = std::move(both);
  }
  co_return true;
}

Task<> AlgebraWork::store_result(const Members &result) {
  use(target_open_);
  if (target_.live) co_await clear(target_);
  if (result.empty()) co_return;
  Entry entry = co_await make(row_key(algebra_.target), algebra_.type);
  for (size_t at = 0; at < result.size(); at += looked_up_at_once) {
    for (const Scored &one : std::span(result).subspan(at, std::min(looked_up_at_once, result.size() - at))) {
      if (algebra_.type == Type::zset)
        add_insert(elements(Elements::zsets),
                   {Value::of(entry.key), Value::of(one.member), Value::of(keep_text(stored_score(one.score)))},
                   OnDuplicate::update);
      else add_insert(elements(Elements::sets), element_of(entry, one.member), OnDuplicate::ignore);
    }
    co_await go();
  }
  entry.len = static_cast<int64_t>(result.size());
  co_await store(entry);
}

}  // namespace postern::redis
