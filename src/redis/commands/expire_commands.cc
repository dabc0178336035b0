#include <algorithm>
#include <cstdint>

#include "redis/commands/key_edit.h"
#include "redis/registry/handlers.h"
#include "redis/work/expiry_arguments.h"

namespace postern::redis {
namespace {

/// Answers the key's expiry: `tell(expires_ms, now_ms)`, -1 for a key that never expires, -2 without a key.
template <class Number>
Next tell_expiry(Call &call, Number number) {
  return read_key(call, call.arguments[1], [number, now_ms = call.now_ms](Writer &writer, const KeyState *state, Row) {
    if (state == nullptr) return writer.integer(-2);
    writer.integer(state->expires_ms == 0 ? -1 : number(state->expires_ms, now_ms));
  });
}

struct ExpireOptions {
  bool if_none = false;
  bool if_some = false;
  bool if_later = false;
  bool if_sooner = false;

  bool allow(int64_t now_expires_ms, int64_t expires_ms) const {
    if (if_none && now_expires_ms != 0) return false;
    if (if_some && now_expires_ms == 0) return false;
    // A key without expiry counts as expiring later than any.
    if (if_later && (now_expires_ms == 0 || expires_ms <= now_expires_ms)) return false;
    return !if_sooner || now_expires_ms == 0 || expires_ms < now_expires_ms;
  }
};

class ExpireEdit final : public KeyEdit {
 public:
  ExpireEdit(Call &call, const Place &place, int64_t expires_ms, const ExpireOptions &options)
      : KeyEdit(call, place, false), expires_ms_(expires_ms), options_(options) {}

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    if (!options_.allow(now.expires_ms, expires_ms_)) return Decision::keep;
    next.expire(expires_ms_);
    return Decision::write;
  }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }

  const int64_t expires_ms_;
  const ExpireOptions options_;
};

class PersistEdit final : public KeyEdit {
 public:
  PersistEdit(Call &call, const Place &place) : KeyEdit(call, place, false) {}

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    if (now.expires_ms == 0) return Decision::keep;
    next.expire(0);
    return Decision::write;
  }
  void tell(Writer writer, bool done) override { writer.integer(done ? 1 : 0); }
};

/// Returns false after answering an error.
bool read_expire_options(Call &call, ExpireOptions &options) {
  for (const Bytes word : call.arguments.subspan(3)) {
    if (is_word(word, "nx")) options.if_none = true;
    else if (is_word(word, "xx")) options.if_some = true;
    else if (is_word(word, "gt")) options.if_later = true;
    else if (is_word(word, "lt")) options.if_sooner = true;
    else {
      refuse(call, "ERR Unsupported option ", told_of(word));
      return false;
    }
  }
  const bool compares = options.if_later || options.if_sooner;
  if (options.if_none && (options.if_some || compares)) {
    refuse(call, "ERR NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (options.if_later && options.if_sooner) {
    refuse(call, "ERR GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

/// Whether a command may change the key at `place`; if not, answers an error, or that nothing was changed.
bool may_change(Call &call, const Place &place) {
  if (place.state == Place::State::broken) refuse_place(call, place);
  else if (place.state != Place::State::there) answer_integer(call, 0);
  else if (place.map().read_only()) refuse_read_only(call, place);
  else return true;
  return false;
}

Next expire_key(Call &call, ExpiryUnit unit) {
  int64_t expires_ms = 0;
  ExpireOptions options;
  if (!read_expire_options(call, options)) return Next::go_on;
  if (!read_expiry(call, unit, call.arguments[2], expires_ms, true)) return Next::go_on;
  const Place place = place_of(call, call.arguments[1]);
  if (!may_change(call, place)) return Next::go_on;
  if (!place.map().keeps_expiry()) return refuse_expiry(call, place);
  const bool conditional = options.if_none || options.if_some || options.if_later || options.if_sooner;
  if (expires_ms <= call.now_ms && !conditional) {
    if (!place.map().may_delete()) return refuse_delete(call, place);
    return write_key(call, place, *call.arena().make<DeleteEdit>(call, place));
  }
  // A time in the past must not become 0, which means never.
  expires_ms = std::max<int64_t>(expires_ms, 1);
  return write_key(call, place, *call.arena().make<ExpireEdit>(call, place, expires_ms, options));
}

}  // namespace

namespace lower {

Next ttl(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t now_ms) { return (expires_ms - now_ms + 500) / 1'000; });
}

Next pttl(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t now_ms) { return expires_ms - now_ms; });
}

Next expiretime(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t) { return (expires_ms + 500) / 1'000; });
}

Next pexpiretime(Call &call) {
  return tell_expiry(call, [](int64_t expires_ms, int64_t) { return expires_ms; });
}

Next expire(Call &call) {
  return expire_key(call, ExpiryUnit::seconds);
}

Next pexpire(Call &call) {
  return expire_key(call, ExpiryUnit::milliseconds);
}

Next expireat(Call &call) {
  return expire_key(call, ExpiryUnit::unix_seconds);
}

Next pexpireat(Call &call) {
  return expire_key(call, ExpiryUnit::unix_milliseconds);
}

Next persist(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_change(call, place)) return Next::go_on;
  if (!place.map().keeps_expiry()) return answer_integer(call, 0);
  return write_key(call, place, *call.arena().make<PersistEdit>(call, place));
}

}  // namespace lower
}  // namespace postern::redis
