#include "redis/protocol.h"

#include <time.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.h"
#include "redis/errors.h"
#include "redis/lua/functions.h"
#include "redis/lua/scripts.h"
#include "redis/session.h"
#include "redis/wire/error_counts.h"

namespace postern::redis {
namespace {

std::string make_run_id() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "0123456789abcdef"[random() % 16];
  return text;
}

Totals totals_of(const Figures &figures) {
  const Counters &counters = figures.counters;
  return {.connections = counters.get(Counter::connections_accepted),
          .refused = counters.get(Counter::connections_refused),
          .received = counters.get(Counter::receives),
          .received_bytes = counters.get(Counter::bytes_received),
          .sent = counters.get(Counter::sends),
          .sent_bytes = counters.get(Counter::bytes_sent),
          .swept = figures.swept};
}

}  // namespace

Redis::Redis(Settings settings)
    : settings_(std::move(settings)),
      started_(::time(nullptr)),
      run_id_(make_run_id()),
      scripts_(std::make_unique<Scripts>()),
      functions_(std::make_unique<Functions>()) {
  choose_notices();
}

Redis::~Redis() = default;

/// Unknown letters change nothing.
void Redis::choose_notices() {
  const std::string letters = settings_.notices.text();
  if (!notice_classes_.choose(letters)) log::warning("redis: redis_notify_keyspace_events has unknown letters");
}

void Redis::change(const Settings &settings) {
  if (settings_.notices.text() != settings.notices.text()) {
    settings_.notices = settings.notices;
    choose_notices();
  }
  settings_.default_account = settings.default_account;
  settings_.exec_rolls_back = settings.exec_rolls_back;
  settings_.script_rolls_back = settings.script_rolls_back;
  settings_.script_time_ms = settings.script_time_ms;
  settings_.script_bytes_max = settings.script_bytes_max;
  settings_.value_bytes_max = settings.value_bytes_max;
  settings_.request_bytes_max = settings.request_bytes_max;
  settings_.boxes = settings.boxes;
}

std::unique_ptr<Session> Redis::open_session(Output &output, const Peer &peer) {
  return std::make_unique<RedisSession>(*this, output, peer);
}

void Redis::refuse(Output &output, Failure why) {
  Writer writer(output, Resp::two);
  write_failure(writer, {.failure = why});
}

void Redis::tell_expired(uint8_t database, std::string key) {
  const uint32_t chosen = notice_classes_.chosen();
  if (chosen != 0) publish_notice(subscriptions_, chosen, {NoticeClass::expired, database, "expired", std::move(key)});
}

void Redis::tell(Figures &figures) const {
  if (settings_.figures) settings_.figures(figures);
}

Totals Redis::totals(const Figures &figures) const {
  Totals totals = totals_of(figures);
  const std::lock_guard guard(mutex_);
  totals.connections -= forgotten_.connections;
  totals.refused -= forgotten_.refused;
  totals.received -= forgotten_.received;
  totals.received_bytes -= forgotten_.received_bytes;
  totals.sent -= forgotten_.sent;
  totals.sent_bytes -= forgotten_.sent_bytes;
  totals.swept -= forgotten_.swept;
  return totals;
}

Rates Redis::rates(const Totals &totals, uint64_t commands) const {
  constexpr int64_t apart_us = 1'000'000;
  const Sample now{
      .at_us = clock_us(), .commands = commands, .received = totals.received_bytes, .sent = totals.sent_bytes};
  const std::lock_guard guard(mutex_);
  if (now.at_us - last_sample_.at_us >= apart_us) sample_before_ = std::exchange(last_sample_, now);
  const Sample before = sample_before_;
  const auto took_us = static_cast<uint64_t>(std::max<int64_t>(now.at_us - before.at_us, apart_us));
  const auto each_second = [took_us](uint64_t count, uint64_t earlier) {
    return count < earlier ? 0 : (count - earlier) * 1'000'000 / took_us;  // less: the statistics were reset
  };
  return {.commands = each_second(commands, before.commands),
          .received_bytes = each_second(now.received, before.received),
          .sent_bytes = each_second(now.sent, before.sent)};
}

void Redis::reset_statistics() {
  Figures now;
  tell(now);
  command_stats_.forget();
  error_counts::forget();
  const std::lock_guard guard(mutex_);
  forgotten_ = totals_of(now);
}

}  // namespace postern::redis
