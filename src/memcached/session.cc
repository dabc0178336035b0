#include "memcached/session.h"

#include <time.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "items/lower.h"
#include "memcached/expiry.h"

namespace postern::memcached {
namespace {

using items::Policy;

/// The largest value of a client that is not logged in: user and password.
constexpr size_t login_bytes_max = 2 * limits::password_bytes_max;
constexpr size_t line_bytes_max = 2'048;
constexpr Bytes container_mark = "@@";
/// What every request of the binary dialect begins with, and no other.
constexpr char binary_magic = static_cast<char>(0x80);

/// Reads the `set` of a client that is not logged in as a login, if it can be one. It may also be an item from an
/// application that is unaware of its client's reconnect.
void read_login(Request &request) {
  const Bytes value = request.item.value;
  const size_t blank = value.find(' ');
  const bool is_text =
      std::none_of(value.begin(), value.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x20; });
  const bool plain = request.item.flags == 0 && request.expiry == 0 && !request.item.compares && !request.quiet;
  if (!plain || !is_text || blank == 0 || blank == Bytes::npos || blank > limits::name_bytes_max) return;
  if (value.size() - blank - 1 > limits::password_bytes_max) return;
  request.action = Action::login;
  request.user = value.substr(0, blank);
  request.password = value.substr(blank + 1);
}

Policy policy_for(ItemAction action, const items::Policies &policies) {
  switch (action) {
    case ItemAction::get: return policies.get;
    case ItemAction::erase: return policies.erase;
    case ItemAction::flush: return policies.flush;
    default: return policies.set;
  }
}

}  // namespace

MemcachedSession::MemcachedSession(Memcached &protocol, Output &output, const Peer &peer)
    : protocol_(protocol), output_(output), identity_(protocol.settings().accounts ? new Identity{peer} : nullptr) {}

Collected MemcachedSession::collect(Input &input, Batch &batch, uint32_t ops_max) {
  const size_t first = batch.size();
  if (!refresh_mappings(batch, ops_max)) return Collected::more;
  use_newest_mappings();
  batch.act_for(identity_.get());
  const ReplyContext with{
      .batch = batch, .output = output_, .statistics = protocol_.statistics(), .now = ::time(nullptr)};
  erase_expired(with);
  const auto own = static_cast<uint32_t>(batch.size() - first);
  return take_all(input, ops_max > own ? ops_max - own : 1, with);
}

/// False: the mapping has to be read before parsing.
bool MemcachedSession::refresh_mappings(Batch &batch, uint32_t ops_max) {
  Mappings &mappings = protocol_.mappings();
  const int64_t now_ms = clock_ms();
  const bool none = mappings.generation() == 0;
  const bool claimed = (none || ops_max > 2 * mappings.refresh_ops()) && mappings.claim_refresh(now_ms);
  if (!none && !claimed) return true;
  refresh_ = std::make_unique<Refresh>(mappings, claimed);
  batch.act_for(nullptr);
  refresh_->add_to(batch);
  return !none && !mappings.stale(now_ms);
}

void MemcachedSession::use_newest_mappings() {
  const Mappings &mappings = protocol_.mappings();
  if (generation_ == mappings.generation()) return;
  generation_ = mappings.generation();
  snapshot_ = mappings.snapshot();
  if (open_ == nullptr && !lost_) return;
  if (!chosen_) {
    if (open_->container != snapshot_->standard) open_.reset();
    return;
  }
  const std::shared_ptr<const Container> now = snapshot_->find(open_->container->name());
  lost_ = now == nullptr;
  if (!lost_ && now != open_->container) open_ = std::make_unique<OpenContainer>(now, nullptr);
}

void MemcachedSession::erase_expired(const ReplyContext &with) {
  if (open_ == nullptr || open_->expired.empty()) return;
  for (const std::string &key : open_->expired) lower_erase_expired(key, *open_, with);
  open_->expired.clear();
}

Collected MemcachedSession::take_all(Input &input, uint32_t ops_max, const ReplyContext &with) {
  Arena &arena = with.batch.arena();
  const size_t first = with.batch.size();
  Request *request = arena.make<Request>();
  for (;;) {
    const size_t ops = with.batch.size() - first;
    // A request may come with the opening of its table.
    if (ops != 0 && (ops + 2 > ops_max || arena.bytes() > limits::arena_bytes_per_batch_max)) return Collected::more;
    switch (take(input, *request)) {
      case Parsed::need_more: return Collected::need_more;
      case Parsed::nothing: break;
      case Parsed::close: act(*request, with); return Collected::close;
      case Parsed::request:
        const bool quits = request->action == Action::quit;
        const bool goes_on = act(*request, with);
        if (quits) return Collected::close;
        if (!goes_on) return Collected::more;
        request = arena.make<Request>();
    }
  }
}

Parsed MemcachedSession::take(Input &input, Request &request) {
  const Bounds bounds{.value_bytes_max = knows_who() ? size_t{protocol_.settings().value_bytes_max} : login_bytes_max,
                      .line_bytes_max = line_bytes_max};
  const std::span<char> bytes = input.unparsed();
  if (bytes.empty()) return Parsed::need_more;
  if (framing_ == Framing::unknown) framing_ = bytes.front() == binary_magic ? Framing::binary : Framing::text;
  size_t consumed = 0;
  const Parsed parsed = framing_ == Framing::binary ? binary_.take(bytes, bounds, consumed, request)
                                                    : text_.take(bytes, bounds, consumed, request);
  if (consumed != 0) input.consume(consumed);
  return parsed;
}

void MemcachedSession::settled() {
  if (refresh_ != nullptr) {
    try {
      refresh_->publish(clock_ms());
    } catch (const std::bad_alloc &) {
      // The earlier snapshot stays, until the next look.
    }
    refresh_.reset();
  }
  if (open_ != nullptr) open_->retired.reset();
  opening_ = false;
  if (multi_get_ != nullptr) multi_get_failed_ = std::exchange(multi_get_, nullptr)->failed;
}

bool MemcachedSession::act(Request &request, const ReplyContext &with) {
  if (!knows_who()) return act_as_stranger(request, with);
  switch (request.action) {
    case Action::item: act_on_item(request, with); return true;
    case Action::version: lower_plain(request, protocol_.settings().version, nullptr, with); return true;
    case Action::statistics: lower_statistics(request, protocol_, with); return true;
    case Action::end: lower_plain(request, {}, multi_get_of(request, with.batch.arena()), with); return true;
    case Action::noop:
    case Action::verbosity:
    case Action::quit:
    case Action::refused:
      if (request.refusal == Refusal::value_too_large) drop_old_item(request, with);
      refuse(request, with);
      return true;
    case Action::login:
    case Action::mechanisms: break;
  }
  if (identity_ == nullptr) {
    request.action = Action::refused;
    request.refusal = Refusal::unknown_command;
    refuse(request, with);
    return true;
  }
  return act_as_stranger(request, with);
}

/// A client sees nothing of the database before it has logged in.
bool MemcachedSession::act_as_stranger(Request &request, const ReplyContext &with) {
  if (request.asks(ItemAction::set) && request.dialect == Dialect::text) read_login(request);
  if (request.action == Action::login) {
    // The outcome is known when it is settled; until then the rights of the next request are unknown.
    lower_login(request, with);
    return false;
  }
  with.batch.act_for(nullptr);
  switch (request.action) {
    case Action::version: lower_plain(request, protocol_.settings().version, nullptr, with); break;
    case Action::mechanisms: lower_plain(request, "PLAIN", nullptr, with); break;
    case Action::quit: lower_plain(request, {}, nullptr, with); break;
    case Action::refused: refuse(request, with); break;
    default: lower_failed(request, Failure::unauthorized, {}, multi_get_of(request, with.batch.arena()), with); break;
  }
  with.batch.act_for(identity_.get());
  return true;
}

/// A `set` that is too large deletes an older item, as in memcached: a reader would take it for the new one.
void MemcachedSession::drop_old_item(const Request &request, const ReplyContext &with) {
  if (request.item.action != ItemAction::set || request.item.compares || request.key.empty()) return;
  Request &erasing = *with.batch.arena().make<Request>();
  erasing.key = request.key;
  erasing.quiet = true;
  erasing.ask(ItemAction::erase);
  act_on_item(erasing, with);
}

void MemcachedSession::refuse(const Request &request, const ReplyContext &with) {
  if (request.refusal == Refusal::value_too_large) protocol_.statistics().add(Statistic::store_too_large);
  lower_plain(request, {}, multi_get_of(request, with.batch.arena()), with);
}

/// The keys of a `get` that come one by one fail as one.
MultiGet *MemcachedSession::multi_get_of(const Request &request, Arena &arena) {
  const bool key = request.dialect == Dialect::text &&
                   (request.asks(ItemAction::get) || (request.action == Action::refused && request.ends));
  if (!key && request.action != Action::end) return nullptr;
  const bool last = request.ends || request.action == Action::end;
  if (last && multi_get_ == nullptr && !multi_get_failed_) return nullptr;
  if (multi_get_ == nullptr) multi_get_ = arena.make<MultiGet>(multi_get_failed_);
  MultiGet *const multi_get = multi_get_;
  if (last) {
    multi_get_ = nullptr;
    multi_get_failed_ = false;
  }
  return multi_get;
}

/// The container in use. nullptr: there is none, and the client got the reason.
OpenContainer *MemcachedSession::use(const Request &request, MultiGet *multi_get, const ReplyContext &with) {
  if (open_ != nullptr && !lost_ && open_->container->problem().empty()) return open_.get();
  return begin_use(request, multi_get, with);
}

OpenContainer *MemcachedSession::begin_use(const Request &request, MultiGet *multi_get, const ReplyContext &with) {
  const auto refuse = [&](Bytes why) {
    lower_failed(request, Failure::cannot_open, why, multi_get, with);
    return nullptr;
  };
  if (lost_) return refuse("The container in use is no longer in innodb_memcache.containers");
  if (open_ == nullptr) {
    if (snapshot_->standard == nullptr) return refuse(snapshot_->trouble);
    open_ = std::make_unique<OpenContainer>(snapshot_->standard, nullptr);
  }
  if (const std::string &problem = open_->container->problem(); !problem.empty()) return refuse(problem);
  return open_.get();
}

/// Opens the table of the container in use for the following ops.
void MemcachedSession::open_container(OpenContainer &target, const ReplyContext &with) {
  if (opening_ || target.slot.filled()) return;
  items::add_open(target, container_tables.protocol, with.batch);
  opening_ = true;
}

/// False: no such container; nothing changes.
bool MemcachedSession::switch_container(Bytes name) {
  std::shared_ptr<const Container> wanted = snapshot_->find(name);
  if (wanted == nullptr) return false;
  chosen_ = true;
  lost_ = false;
  if (open_ != nullptr && open_->container == wanted) return true;
  open_ = std::make_unique<OpenContainer>(std::move(wanted), std::move(open_));
  opening_ = false;
  return true;
}

void MemcachedSession::act_on_item(Request &request, const ReplyContext &with) {
  MultiGet *const multi_get = multi_get_of(request, with.batch.arena());
  Bytes key = request.key;
  bool place_wanted = false;
  if (key.starts_with(container_mark)) {
    key.remove_prefix(container_mark.size());
    const Bytes delimiter = snapshot_->delimiter;
    const size_t end = delimiter.empty() ? Bytes::npos : key.find(delimiter);
    const bool gets = request.item.action == ItemAction::get;
    if (!switch_container(key.substr(0, end))) {
      if (gets) return lower_disabled(request, multi_get, with);
      return lower_failed(request, Failure::bad_key_value, "There is no container of that name", multi_get, with);
    }
    place_wanted = end == Bytes::npos;
    if (place_wanted && !gets)
      return lower_failed(request, Failure::bad_key_value, "There is no key behind the container's name", multi_get,
                          with);
    if (!place_wanted) key.remove_prefix(end + delimiter.size());
  }
  OpenContainer *const target = use(request, multi_get, with);
  if (target == nullptr) return;
  request.item.key = key;
  if (request.expiry != 0) request.item.expires_at = expires_at(request.expiry, with.now);
  const Policy policy = policy_for(request.item.action, target->container->policies());
  if (policy == Policy::table) open_container(*target, with);
  if (place_wanted) return lower_place(request, *target, policy == Policy::table, multi_get, with);
  switch (policy) {
    case Policy::table: return lower_item(request, *target, multi_get, with);
    case Policy::memory: return act_in_memory(request, *target, multi_get, with);
    case Policy::disabled: return lower_disabled(request, multi_get, with);
  }
}

void MemcachedSession::act_in_memory(const Request &request, OpenContainer &target, MultiGet *multi_get,
                                     const ReplyContext &with) {
  items::Cache *const cache = protocol_.cache();
  if (cache == nullptr) return lower_failed(request, Failure::out_of_memory, {}, multi_get, with);
  if (target.space == nullptr) target.space = &cache->space(target.container->name());
  lower_item(request, target, *cache, multi_get, with);
}

}  // namespace postern::memcached
