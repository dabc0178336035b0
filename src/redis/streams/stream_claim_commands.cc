// stream_claim_commands.cc: XCLAIM and XAUTOCLAIM.
#include <string>
#include <utility>

#include "redis/registry/handlers.h"
#include "redis/streams/stream_arguments.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

/// Pending entries that become another consumer's.
struct Claim {
  int64_t idle_ms = 0;
  std::vector<StreamId> ids{};
  std::optional<int64_t> delivered_ms{};
  std::optional<int64_t> times{};
  StreamId last{};
  bool forces = false;
  bool tells_ids = false;
  // XAUTOCLAIM
  StreamId from{};
  int64_t count = 100;
};

class ClaimWork : public StreamWork {
 public:
  ClaimWork(Call &call, OpenMap &open, Claim claim) : StreamWork(call, open), claim_(std::move(claim)) {}

 protected:
  Bytes group_name() const { return arguments_[2]; }
  Bytes consumer() const { return arguments_[3]; }

  /// Locks the stream and finds the group. False: an error was written.
  Task<bool> find_both(Entry &entry, StreamGroup &group) {
    entry = co_await lock(row_key(arguments_[1]));
    if (is_wrong_stream(entry)) co_return false;
    std::optional<StreamGroup> found = co_await find_group(entry, group_name(), Reading::locked);
    if (found) group = std::move(*found);
    else
      writer().error("NOGROUP No such key '" + std::string(told_of(arguments_[1])) + "' or consumer group '" +
                     std::string(told_of(group_name())) + "'");
    co_return found.has_value();
  }

  /// Gives the entry to this consumer.
  void take_over(const Entry &entry, Pending one, int64_t delivered_ms) {
    one.consumer = consumer();
    one.delivered_ms = delivered_ms;
    if (claim_.times) one.times = *claim_.times;
    else if (!claim_.tells_ids) ++one.times;
    add_pending(entry, group_name(), one);
  }
  bool is_idle(const Pending &one) const {
    return claim_.idle_ms == 0 || now_ms() - one.delivered_ms >= claim_.idle_ms;
  }
  void tell(Writer &to, const std::vector<StreamEntry> &taken) const {
    to.array(taken.size());
    for (const StreamEntry &one : taken) {
      if (claim_.tells_ids) to.bulk(one.id.text());
      else write_entry(to, one);
    }
  }

  const Claim claim_;
};

class ClaimEntries final : public ClaimWork {
 public:
  using ClaimWork::ClaimWork;

 private:
  Task<> run() override {
    Entry entry;
    StreamGroup group;
    if (!co_await find_both(entry, group)) co_return;
    if (group.last < claim_.last) {
      group.last = claim_.last;
      add_group(entry, group);
      co_await go();
    }
    int64_t delivered_ms = claim_.delivered_ms.value_or(now_ms());
    if (delivered_ms < 0 || delivered_ms > now_ms()) delivered_ms = now_ms();
    std::vector<StreamEntry> taken;
    for (const StreamId id : claim_.ids) {
      std::optional<Pending> one = co_await find_pending(entry, group_name(), id, Reading::locked);
      std::optional<StreamEntry> there = co_await find(entry, id, Reading::locked);
      if (!there) {
        if (one) erase_pending(entry, group_name(), id);
        co_await go();
        continue;
      }
      if (!one && !claim_.forces) continue;
      if (one && !is_idle(*one)) continue;
      if (!one) one = Pending{.id = id, .times = 1};
      take_over(entry, std::move(*one), delivered_ms);
      co_await go();
      taken.push_back(std::move(*there));
    }
    if (!taken.empty()) add_consumer(entry, group_name(), consumer());
    co_await go();
    Writer to = writer();
    tell(to, taken);
  }
};

class ClaimIdle final : public ClaimWork {
 public:
  using ClaimWork::ClaimWork;

 private:
  Task<> run() override {
    Entry entry;
    StreamGroup group;
    if (!co_await find_both(entry, group)) co_return;
    const auto looked_at_max = static_cast<uint64_t>(claim_.count) * 10;
    // One more is the next cursor.
    const std::vector<Pending> all_pending =
        co_await find_pending(entry, group_name(), claim_.from, last_stream_id, Reading::locked,
                              [looked_at_max](Pending one, std::vector<Pending> &found) {
                                found.push_back(std::move(one));
                                return found.size() <= looked_at_max;
                              });
    std::vector<StreamEntry> taken;
    std::vector<StreamId> deleted;
    size_t at = 0;
    int64_t left = claim_.count;
    for (; at < all_pending.size() && at < looked_at_max && left > 0; ++at) {
      const Pending &one = all_pending[at];
      std::optional<StreamEntry> there = co_await find(entry, one.id, Reading::locked);
      if (!there) {
        erase_pending(entry, group_name(), one.id);
        co_await go();
        deleted.push_back(one.id);
        --left;
        continue;
      }
      if (!is_idle(one)) continue;
      take_over(entry, one, now_ms());
      co_await go();
      taken.push_back(std::move(*there));
      --left;
    }
    if (!taken.empty()) add_consumer(entry, group_name(), consumer());
    co_await go();
    Writer to = writer();
    to.array(3);
    to.bulk(at < all_pending.size() ? all_pending[at].id.text() : StreamId{}.text());
    tell(to, taken);
    to.array(deleted.size());
    for (const StreamId id : deleted) to.bulk(id.text());
  }
};

bool read_idle(Call &call, Bytes text, Bytes error, int64_t &idle_ms) {
  if (!parse_integer(text, idle_ms)) return refused(call, error);
  idle_ms = std::max<int64_t>(idle_ms, 0);
  return true;
}

/// An option of XCLAIM that has a value. False: refused.
bool read_claim_option(Call &call, Bytes word, Bytes value, Claim &claim) {
  int64_t number = 0;
  if (is_word(word, "lastid")) {
    StreamId id;
    if (!read_id(call, value, id)) return false;
    claim.last = id;
    return true;
  }
  const bool is_number = parse_integer(value, number);
  if (is_word(word, "idle")) {
    if (!is_number) return refused(call, "ERR Invalid IDLE option argument for XCLAIM");
    claim.delivered_ms = call.now_ms - std::max<int64_t>(number, 0);
  } else if (is_word(word, "time")) {
    if (!is_number) return refused(call, "ERR Invalid TIME option argument for XCLAIM");
    claim.delivered_ms = number;
  } else {
    if (!is_number) return refused(call, "ERR Invalid RETRYCOUNT option argument for XCLAIM");
    claim.times = number < 0 ? std::nullopt : std::optional(number);
  }
  return true;
}

bool read_claim(Call &call, Claim &claim) {
  const std::span<const Bytes> arguments = call.arguments;
  if (!read_idle(call, arguments[4], "ERR Invalid min-idle-time argument for XCLAIM", claim.idle_ms)) return false;
  size_t at = 5;
  StreamId id;
  for (; at < arguments.size() && parse_stream_id(arguments[at], 0, id); ++at) claim.ids.push_back(id);
  for (; at < arguments.size(); ++at) {
    const Bytes word = arguments[at];
    const bool has_value = at + 1 < arguments.size();
    if (is_word(word, "force")) {
      claim.forces = true;
    } else if (is_word(word, "justid")) {
      claim.tells_ids = true;
    } else if (has_value && (is_word(word, "idle") || is_word(word, "time") || is_word(word, "retrycount") ||
                             is_word(word, "lastid"))) {
      if (!read_claim_option(call, word, arguments[++at], claim)) return false;
    } else {
      std::string text = "ERR Unrecognized XCLAIM option '";
      text.append(told_of(word)).append("'");
      return refused(call, text);
    }
  }
  return true;
}

bool read_autoclaim(Call &call, Claim &claim) {
  const std::span<const Bytes> arguments = call.arguments;
  if (!read_idle(call, arguments[4], "ERR Invalid min-idle-time argument for XAUTOCLAIM", claim.idle_ms)) return false;
  if (!read_interval_begin(call, arguments[5], claim.from)) return false;
  constexpr int64_t count_max = 100'000;
  constexpr int64_t redis_count_max = INT64_MAX / 16;
  for (size_t at = 6; at < arguments.size(); ++at) {
    if (is_word(arguments[at], "count") && at + 1 < arguments.size()) {
      if (!parse_integer(arguments[++at], claim.count) || claim.count < 1 || claim.count > redis_count_max)
        return refused(call, "ERR COUNT must be > 0");
      claim.count = std::min(claim.count, count_max);
    } else if (is_word(arguments[at], "justid")) {
      claim.tells_ids = true;
    } else {
      return refused(call, syntax_error);
    }
  }
  return true;
}

}  // namespace

namespace lower {

Next xclaim(Call &call) {
  Claim claim;
  if (call.arguments[3].size() > group_name_bytes_max)
    return refuse(call, "ERR the name of a group or consumer can have 512 bytes");
  if (!read_claim(call, claim)) return Next::go_on;
  return begin_on<ClaimEntries>(call, call.arguments[1], std::move(claim));
}

Next xautoclaim(Call &call) {
  Claim claim;
  if (call.arguments[3].size() > group_name_bytes_max)
    return refuse(call, "ERR the name of a group or consumer can have 512 bytes");
  if (!read_autoclaim(call, claim)) return Next::go_on;
  return begin_on<ClaimIdle>(call, call.arguments[1], std::move(claim));
}

}  // namespace lower
}  // namespace postern::redis
